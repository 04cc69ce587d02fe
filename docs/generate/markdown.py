"""Markdown: tables, anchors and slugs of the generated pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

#: Columns that fit beside the navigation of the site.
_WIDTH = 80


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Raises ValueError for a cell with a pipe, which Markdown dialects escape differently."""
    lines = [header, ["---"] * len(header), *rows]
    for cell in (cell for line in lines for cell in line):
        if "|" in cell:
            raise ValueError(f"a table's cell contains a pipe: {cell!r}; write 'or'")
    return "".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |\n" for line in lines)


def code(text: object) -> str:
    """Return a code span."""
    return f"`{text}`"


def anchor(name: str) -> str:
    """Return the target of a link `#name`."""
    return f'<a id="{name}"></a>'


def slug(heading: str) -> str:
    """Return the anchor that Markdown makes of a heading."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()))


def link(text: str, target: str) -> str:
    """Return a link."""
    return f"[{text}]({target})"


def block(text: str, language: str = "text", *, not_run: str = "") -> str:
    """Return a code block; `not_run` is the reason why the tests of the pages do not run it."""
    directive = f"<!-- test: shown {not_run} -->\n\n" if not_run else ""
    return f"{directive}```{language}\n{text.rstrip()}\n```\n"


def wrapped(text: str, begin: str = "", further: str = "    ") -> str:
    """Return the text with each line broken before `_WIDTH`; `begin` and `further` indent the parts of a line."""
    lines = (
        textwrap.wrap(
            line,
            _WIDTH,
            initial_indent=begin,
            subsequent_indent=further,
            drop_whitespace=True,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.splitlines()
    )
    return "\n".join(part for parts in lines for part in parts)


def sentence(text: str) -> str:
    """Return the text with a capital at its beginning and a period at its end."""
    begins = text[:1].upper() + text[1:]
    return begins if begins.endswith((".", "?", "!")) else f"{begins}."
