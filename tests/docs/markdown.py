"""A page as a list of steps: its fenced blocks, and the tables and comments that a test reads.

A comment `<!-- test: WORD VALUE; WORD VALUE -->` belongs to the block or table that follows it. Words:

    file NAME        the block is the text of this file of the scenario
    exit N           the last command of the block ends with this code (0 by default)
    parse REASON     commands are parsed and not run: they need what REASON names, one of `NEEDS`
    base NAME        the YAML block is a fragment, merged into this pipeline of `tests/docs/pipelines.py`
    shown REASON     the block is a picture of something and no input
    lands PATH       the table holds the rows of a new Delta table
    computed NAME    the table holds the rows of NAME that the page's pipeline computes for its source, in any order
    published NAME   the table holds the rows of NAME that the page's pipeline has published, in any order
    after PAGE       (alone) begin where this page of docs ends
    start TABLES     (alone) make these example tables
    append TABLES    (alone) let another day of these example tables arrive
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: What a command may need that a test does not have.
NEEDS = ("airflow", "browser", "cluster", "docker", "flink", "network", "shell", "store")
#: Words that are steps without a block.
ALONE = ("after", "start", "append")
WORDS = ("file", "exit", "parse", "base", "shown", "lands", "computed", "published", *ALONE)

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
_COMMENT = re.compile(r"^ *<!-- test: (?P<words>.*) -->$")


@dataclass(frozen=True)
class Step:
    """A block of a page: its kind (`console`, `yaml`, ..., `table`, `example`), text, and the words that rule it."""

    page: Path
    line: int
    kind: str
    text: str
    words: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def steps(page: Path) -> list[Step]:
    """Return the steps of a page in their order. Raises ValueError for a comment or fence that is not understood."""
    return list(_steps(page, page.read_text(encoding="utf-8").splitlines()))


def _steps(page: Path, lines: list[str]) -> Iterator[Step]:
    words: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line, start = lines[at], at + 1
        at += 1
        if fence := _FENCE.match(line):
            body, at = _fenced(page, lines, at, fence)
            yield Step(page, start, fence["info"].strip(), body, words)
            words = {}
        elif comment := _COMMENT.match(line):
            words = _words(page, start, comment["words"])
            if words.keys() & set(ALONE):
                yield Step(page, start, "example", "", words)
                words = {}
        elif "<!-- test" in line:
            raise ValueError(f"{page}:{start}: this comment is not of the form <!-- test: WORD VALUE -->")
        elif line.startswith("|") and words.keys() & {"lands", "computed", "published"}:
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
            yield Step(page, start, "table", "\n".join(lines[at - 1 : end]), words)
            words, at = {}, end
        elif line.strip() and words:
            raise ValueError(f"{page}:{start}: no block follows the comment {words}")
    if words:
        raise ValueError(f"{page}: no block follows the comment {words}")


def _fenced(page: Path, lines: list[str], at: int, fence: re.Match[str]) -> tuple[str, int]:
    indent, mark = len(fence["indent"]), fence["fence"]
    for end in range(at, len(lines)):
        if lines[end].strip() == mark:
            return "\n".join(line[indent:] for line in lines[at:end]) + "\n", end + 1
    raise ValueError(f"{page}:{at}: this block has no end")


def _words(page: Path, line: int, text: str) -> dict[str, str]:
    words = dict(part.strip().partition(" ")[::2] for part in text.split(";"))
    for word, value in words.items():
        if word not in WORDS or not value:
            raise ValueError(f"{page}:{line}: found '{word} {value}', expected one of {', '.join(WORDS)} and a value")
    if "parse" in words and words["parse"] not in NEEDS:
        raise ValueError(f"{page}:{line}: parse {words['parse']}: expected one of {', '.join(NEEDS)}")
    return words


def rows(table: str) -> list[dict[str, str]]:
    """Return the rows of a Markdown table by the names in its heading, backticks and stars removed."""
    heading, _, *body = (
        [cell.strip().strip("`*") for cell in line.strip().strip("|").split("|")] for line in table.splitlines()
    )
    return [dict(zip(heading, cells, strict=True)) for cells in body]
