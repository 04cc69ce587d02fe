"""References to the semantics page: their written forms, the anchors that they name, and links for the built site.

    rule 53           #rule-53              a rule of Flink
    rules 20-28       #rule-20, #rule-28    a range; also a list: rules 60, 69 and 70
    semantics B4      #b4                   a section of the replay model
    semantics V3      #v3                   a behaviour that differs between versions of Flink

A sentence may begin with a reference. There is no other form: `other_forms` finds what only resembles one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

PAGE = "explanation/semantics.md"

_NUMBER = r"\d+\b(?!\.\d)"
_RULES = re.compile(rf"\b[Rr]ules?\s+{_NUMBER}(?:(?:\s*[-,]\s*|,?\s+(?:and|or)\s+){_NUMBER})*")
_SECTION = re.compile(r"\b[Ss]emantics\s+[BV]\d+(?:(?:,\s*|,?\s+(?:and|or)\s+)[BV]\d+)*(?!\.\d)")
_OTHER = (
    # A part of a rule or section, a range with another dash, and a range of one rule.
    re.compile(r"\b[Rr]ules?\s+(?:\d+\s*(?:[-,]|,?\s+(?:and|or)\s)\s*)*\d+(?:[a-z]\b|\.\d+|\s?[\u2010-\u2015]\s?\d+)"),
    re.compile(r"\b[Rr]ule\s+\d+-\d+"),
    # A section without the word before it. A name or a path is no section.
    re.compile(r"(?<![\w`./#-])[BV][1-9](?:\.\d+)?(?![\w`-])"),
)
_ONE = re.compile(r"(?P<first>\d+)(?:\s*-\s*(?P<last>\d+))?|(?P<section>[BV]\d+)")
_ANCHOR = re.compile(r"\{\s*#(?P<anchor>rule-\d+|[bv]\d+)\b")
_TAG = re.compile(r"(<!--.*?-->|<[^>]+>)", re.DOTALL)
_NO_LINKS = frozenset(("a", "code", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "script", "style", "svg"))


@dataclass(frozen=True)
class Reference:
    """One rule or section that a text names: its place in the text, in characters, and its anchor."""

    start: int
    end: int
    anchor: str


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of rules and sections that the Markdown file `page` defines."""
    return frozenset(match["anchor"] for match in _ANCHOR.finditer(page.read_text(encoding="utf-8")))


def references(text: str) -> Iterator[Reference]:
    """Yield the references of a text; a range yields its first and its last rule."""
    for form in (_RULES, _SECTION):
        for match in form.finditer(text):
            yield from _numbers(match)


def other_forms(text: str) -> Iterator[re.Match[str]]:
    """Yield the places of a text that name a rule or section in another form."""
    sections = [match.span() for match in _SECTION.finditer(text)]
    for form in _OTHER:
        for match in form.finditer(text):
            if not any(start <= match.start() < end for start, end in sections):
                yield match


def _numbers(match: re.Match[str]) -> Iterator[Reference]:
    for number in _ONE.finditer(match[0]):
        for name, value in number.groupdict().items():
            if value is not None:
                anchor = value.lower() if name == "section" else f"rule-{value}"
                yield Reference(match.start() + number.start(name), match.start() + number.end(name), anchor)


def linked(html: str, url: str, page_anchors: frozenset[str]) -> str:
    """Return the HTML with a link to `url` around each reference in its text. Raises ValueError for an unknown one."""
    parts, closed_by = _TAG.split(html), ""
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = part if closed_by else _linked_text(part, url, page_anchors)
        elif closed_by:
            closed_by = "" if part == f"</{closed_by}>" else closed_by
        elif (name := _tag_name(part)) in _NO_LINKS:
            closed_by = name
    return "".join(parts)


def _tag_name(tag: str) -> str:
    match = re.match(r"<([a-zA-Z0-9]+)", tag)
    return match[1].lower() if match and not tag.endswith("/>") else ""


def _linked_text(text: str, url: str, page_anchors: frozenset[str]) -> str:
    for reference in sorted(references(text), key=lambda reference: reference.start, reverse=True):
        if reference.anchor not in page_anchors:
            raise ValueError(f"{text.strip()[:80]!r}: the semantics page has no #{reference.anchor}")
        label = text[reference.start : reference.end]
        link = f'<a class="tm-rule" href="{url}#{reference.anchor}">{label}</a>'
        text = text[: reference.start] + link + text[reference.end :]
    return text


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link the references of a page when the site is built."""
    target = files.get_file_from_path(PAGE)
    if target is None:
        return html
    url = "" if page.file.src_uri == PAGE else get_relative_url(target.url, page.url)
    return linked(html, url, anchors(Path(config.docs_dir) / PAGE))
