"""Sentences: how a text divides into paragraphs, sentences and words.

- A paragraph of a docstring ends at an empty line, and at a list item.
- Lines that are indented deeper than the docstring are no prose: formulas, tables, drawings. List items and the items
  of a section such as `Args:` are prose. Lines that align columns, with two blanks inside, are not.
- A sentence ends with a period, question mark or exclamation mark before a blank and a capital, digit or code span.
- A word has a letter or digit. A code span is one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.house.texts import Text

_SECTIONS = frozenset({"Args", "Arguments", "Attributes", "Columns", "Note", "Raises", "Returns", "Yields"})
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|approx|No|Fig)\.")
_COLUMNS = re.compile(r"\S {2,}\S")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_HAS_LETTER = re.compile(r"[^\W_]")


class Passage(NamedTuple):
    """A paragraph or sentence, and its position in the text."""

    position: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has."""
        return sum(1 for word in self.text.split() if _HAS_LETTER.search(word))


class _Line(NamedTuple):
    """A line of a docstring: `text` is empty if the line is no prose."""

    position: int
    text: str
    begins_item: bool


def paragraphs(text: Text) -> Iterator[Passage]:
    """Yield the paragraphs of a docstring, or the one that a text of a document is."""
    if text.kind != "docstring":
        yield Passage(0, text.text)
        return
    begin, lines = 0, list[str]()
    for line in _prose_lines(text.text):
        if lines and (line.begins_item or not line.text.strip()):
            yield Passage(begin, "\n".join(lines))
            lines = []
        if line.text.strip():
            begin = begin if lines else line.position
            lines.append(line.text)
    if lines:
        yield Passage(begin, "\n".join(lines))


def _prose_lines(text: str) -> Iterator[_Line]:
    lines = text.split("\n")
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    position, section, is_in_item = 0, _Section(), False
    for number, line in enumerate(lines):
        depth = 0 if number == 0 else _indent(line) - margin
        if line.strip():
            section.enter(line.strip(), depth)
            is_in_item = bool(_ITEM.match(line)) or (is_in_item and depth > 0)
        is_prose = (depth <= 0 or is_in_item or section.is_open) and not _COLUMNS.search(line.strip())
        begins_item = bool(_ITEM.match(line)) or (section.is_open and depth in {0, section.item_depth})
        yield _Line(position, line if is_prose else "", begins_item)
        is_in_item = is_in_item and bool(line.strip())
        position += len(line) + 1


class _Section:
    """Whether a line is in a section such as `Args:`, and how deep the section's items are indented."""

    def __init__(self) -> None:
        self.is_open = False
        self.item_depth = 0

    def enter(self, line: str, depth: int) -> None:
        """Read the next line that is not empty."""
        if depth <= 0:
            self.is_open, self.item_depth = line.endswith(":") and line.rstrip(":") in _SECTIONS, 0
        elif self.is_open and not self.item_depth:
            self.item_depth = depth


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def sentences(paragraph: Passage) -> Iterator[Passage]:
    """Yield the sentences of a paragraph."""
    text = _ABBREVIATION.sub(lambda match: match.group().replace(".", "_"), paragraph.text)
    begin = 0
    for match in _SENTENCE_END.finditer(text):
        yield Passage(paragraph.position + begin, paragraph.text[begin : match.start()])
        begin = match.end()
    if text[begin:].strip():
        yield Passage(paragraph.position + begin, paragraph.text[begin:])
