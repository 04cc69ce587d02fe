"""Files: each generated page and picture with the function that renders it, by its path under `docs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from docs.generate import commands, error_pages, errors, figures, pipeline_file, settings, tables
from docs.generate.examples import pages as example_pages
from spark_jobs.error_codes import ErrorCode

COMMAND = "python -m docs.generate"
FOLDER = Path(__file__).resolve().parents[1]
PAGES: Mapping[str, Callable[[], str]] = {
    "reference/pipeline_file.md": pipeline_file.page,
    "reference/commands.md": commands.page,
    "reference/tables.md": tables.page,
    "reference/figures.md": figures.page,
    "reference/errors.md": errors.page,
    **{f"reference/errors/{code}.md": partial(error_pages.page, code) for code in ErrorCode},
    "reference/settings.md": settings.page,
    "examples/index.md": example_pages.index,
    **{f"examples/{name}.md": partial(example_pages.page, name) for name in example_pages.GROUPS},
}
#: The pictures of examples; `docs/pictures.py` writes those of other pages.
PICTURES: Mapping[str, Callable[[], str]] = {
    f"images/{name}.svg": draw for name, draw in example_pages.pictures().items()
}
FILES: Mapping[str, Callable[[], str]] = {**PAGES, **PICTURES}


def render(name: str) -> str:
    """Return the content of a file; a page begins with how it is generated."""
    if name in PICTURES:
        return PICTURES[name]()
    return f"<!-- Generated from the code by `{COMMAND}`. Do not edit: change the code, and run it again. -->\n\n" + (
        PAGES[name]().rstrip() + "\n"
    )


def stale(folder: Path) -> list[Path]:
    """Return the pages of error codes in the folder that the code does not make."""
    pages = sorted((folder / "reference/errors").glob("*.md"))
    return [page for page in pages if page.relative_to(folder).as_posix() not in PAGES]
