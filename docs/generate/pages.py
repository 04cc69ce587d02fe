"""Pages: each generated page with the function that renders it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate import commands, errors, pipeline_file, settings, tables

COMMAND = "python -m docs.generate"
FOLDER = Path(__file__).resolve().parents[1] / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "pipeline_file.md": pipeline_file.page,
    "commands.md": commands.page,
    "tables.md": tables.page,
    "errors.md": errors.page,
    "settings.md": settings.page,
}


def render(name: str) -> str:
    """Return the content of a page."""
    return f"<!-- Generated from the code by `{COMMAND}`. Do not edit: change the code, and run it again. -->\n\n" + (
        PAGES[name]().rstrip() + "\n"
    )
