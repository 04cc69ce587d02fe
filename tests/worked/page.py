"""Write the page of worked examples from the drawings.

    python -m tests.worked.page            write docs/explanation/worked_examples.md

`text` gives the page; a test holds the file to it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from spark_jobs.cases.drawing import Drawing, load, pipeline_text, table

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "worked_examples.md"
DRAWINGS = Path(__file__).parent / "drawings"
# The settings of a drawing are part of a pipeline file; the test of the drawing reads them.
_SHOWN = "<!-- test: shown the test of the drawing reads these settings -->"

#: The groups of the page, in order, each with its first sentence.
CONCEPTS = {
    "Watermarks": "A watermark is the promise that no older row follows; the strategy sets how it follows the rows.",
    "Source partitions": "Each source partition has its watermark. The stream has the minimum over all partitions.",
    "Idleness": "A partition without rows for longer than its timeout does not hold the others back.",
    "Window assignment": "The event time of a row decides in which windows it lies.",
    "Lateness": "A row is late by the window that it would fill, not by its time.",
    "Firing": "A window fires when the watermark reaches its last instant, and once more for each late row.",
    "Triggers": "A trigger changes when a window fires, not what it contains.",
    "Sessions": "Rows of one key that are no further apart than the gap are one session.",
    "Interval joins": "Rows of two inputs are a pair when their times are near each other.",
    "As-of joins": "A row of the first input joins the version of the second one that is valid at its time.",
    "Window joins": "Rows of two inputs are a pair when they share a window.",
    "Replay settings": "Settings of the replay, and results that Flink does not have.",
}

_HEAD = """\
# Worked examples

<!-- Written by `python -m tests.worked.page` from tests/worked/drawings. Edit the drawings, then write the page. -->

Each example is a stream drawn row by row, with the part of the pipeline file that it needs. The tests replay every
example with the reference and with Spark. The results are those of Flink 2.3.0, recorded, except in examples that are
marked as a feature of Tidemark alone.

Read a drawing from top to bottom:

- Left of the first bar stands a row: its number, then its columns. Rows arrive in the order drawn: row n at n ms, or
  at its `arrival`. A `tick` is an emission between two rows that advances the watermark. The last line
  is the `end` of the input.
- Next is the watermark right after that line: `-` before the first watermark, `max` at the end.
- The last column lists the effects: panes that fire with the numbers of their rows, late rows, pairs. `too late` means
  that the row goes to the late output. `late` is a late row of an as-of join, which counts all the same. `no window`
  means that no table contains the row.

Windows `[a, b)` contain a and not b. Times are in milliseconds unless the example names seconds.
"""


def text(drawings: Iterable[Drawing]) -> str:
    """Give the page. Raises ValueError for a drawing of an unknown group."""
    listed = list(drawings)
    if unknown := {drawing.concept for drawing in listed} - CONCEPTS.keys():
        raise ValueError(f"unknown groups: {', '.join(sorted(unknown))}; known: {', '.join(CONCEPTS)}")
    groups = {concept: [drawing for drawing in listed if drawing.concept == concept] for concept in CONCEPTS}
    contents = "".join(f"- [{name}](#{_anchor(name)}): {len(of)} examples\n" for name, of in groups.items())
    return "\n".join([_HEAD, contents, *(_group(name, of) for name, of in groups.items())])


def _group(name: str, drawings: Iterable[Drawing]) -> str:
    ordered = sorted(drawings, key=lambda drawing: (drawing.rules, drawing.name))
    return "\n".join([f"## {name}\n\n{CONCEPTS[name]}\n", *map(_example, ordered)])


def _example(drawing: Drawing) -> str:
    parts = [f"### {drawing.title}\n", _paragraph(_rules(drawing))]
    if drawing.note:
        parts.append(_paragraph(drawing.note))
    parts += [f"{_SHOWN}\n\n```yaml\n{pipeline_text(drawing)}```\n", f"```text\n{table(drawing)}```\n"]
    return "\n".join(parts)


def _rules(drawing: Drawing) -> str:
    links = ", ".join(f"[rule {rule}](semantics.md#rule-{rule})" for rule in drawing.rules)
    marks = ["times in seconds"] if drawing.unit == "s" else []
    marks += [f"the arrival clock goes on to {drawing.until} ms"] if drawing.until is not None else []
    marks += ["a feature of Tidemark alone"] if drawing.answer == "product" else []
    return "; ".join([f"Shows {links}", *marks]) + "."


def _paragraph(words: str) -> str:
    return textwrap.fill(words, 120, break_on_hyphens=False, break_long_words=False) + "\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text(load(DRAWINGS)))
