"""The scripts that the pages run; their names contain a hash of the content, so that a browser may keep them."""

from __future__ import annotations

import hashlib
from functools import cache

from spark_jobs.report.templating import bokeh_script, template_text

_PACKAGE = __package__ or ""


def of_charts() -> list[str]:
    """Return the names of the scripts that draw charts, in the order in which they run."""
    return [_named("bokeh", bokeh_script()), _named("charts", template_text("charts.js"))]


def of_frames() -> list[str]:
    """Return the names of the scripts of every page."""
    return [_named("frame", template_text("frame.js", _PACKAGE))]


@cache
def by_name() -> dict[str, bytes]:
    """Return each script by its name."""
    texts = (bokeh_script(), template_text("charts.js"), template_text("frame.js", _PACKAGE))
    return {name: text.encode() for name, text in zip([*of_charts(), *of_frames()], texts, strict=True)}


def _named(name: str, text: str) -> str:
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.js"
