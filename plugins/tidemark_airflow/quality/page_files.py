"""The files of pages about runs, in the lake."""

from __future__ import annotations

from pathlib import Path


def page_exists(page: Path) -> bool:
    """Return whether a page about a run exists; a folder that cannot be read has none."""
    try:
        return page.is_file()
    except OSError:
        return False
