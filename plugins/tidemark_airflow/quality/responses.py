"""Responses with a page: it runs only scripts that Airflow serves for it, and loads nothing from elsewhere.

Nobody keeps a page, and no other site can frame it. A page with a form sends it to this Airflow alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from fastapi.responses import HTMLResponse


def html(render: Callable[[str], str], *, has_form: bool = False, status: int = 200) -> HTMLResponse:
    """Return the page that `render` makes of the nonce of its scripts."""
    nonce, form = secrets.token_urlsafe(18), "'self'" if has_form else "'none'"
    policy = (
        # Bokeh sets styles inline, and its icons are data.
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"base-uri 'none'; form-action {form}; frame-ancestors 'self'"
    )
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": policy,
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }
    return HTMLResponse(render(nonce), status, headers)
