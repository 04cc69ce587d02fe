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


def paragraphs(text: Text) -> Iterator[Passage]:
    """Yield the paragraphs of a docstring, or the one that a text of a document is."""
    if text.kind != "docstring":
        yield Passage(0, text.text)
        return
    begin, lines = 0, list[str]()
    for position, line in _prose_lines(text.text):
        if lines and (not line.strip() or _ITEM.match(line)):
            yield Passage(begin, "\n".join(lines))
            lines = []
        if line.strip():
            begin = begin if lines else position
            lines.append(line)
    if lines:
        yield Passage(begin, "\n".join(lines))


def _prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its position; a line that is no prose is empty."""
    lines = text.split("\n")
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    position, section_indent, previous_is_item = 0, None, False
    for number, line in enumerate(lines):
        depth = 0 if number == 0 else _indent(line) - margin
        is_item = bool(_ITEM.match(line)) or (previous_is_item and depth > 0)
        if line.strip() and depth <= 0:
            section_indent = margin if line.strip().rstrip(":") in _SECTIONS and line.rstrip().endswith(":") else None
        is_prose = (depth <= 0 or is_item or section_indent is not None) and not _COLUMNS.search(line.strip())
        yield position, line if is_prose else ""
        previous_is_item = is_item and bool(line.strip())
        position += len(line) + 1


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
