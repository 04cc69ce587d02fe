"""Whether the pages may read and show the columns of source rows: the setting TIDEMARK_PAGES_SHOW_SOURCE.

Law: unless the setting is `yes`, a page opens no table of a source. From a published table it then selects no column of
the source but those of the key and of the source partition. Another value than `yes` and `no` shows no page at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

SHOW_SOURCE = "TIDEMARK_PAGES_SHOW_SOURCE"

_ALLOWED = {"yes": True, "no": False}


class ShowSourceError(ValueError):
    """A value of the setting that is neither `yes` nor `no`."""


def shows_source(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether pages may show the columns of source rows; by default not. Raises ShowSourceError."""
    text = environ.get(SHOW_SOURCE) or "no"
    if text not in _ALLOWED:
        raise ShowSourceError(f"{SHOW_SOURCE} is '{text}'. Write yes or no, and start Airflow's API server again")
    return _ALLOWED[text]
