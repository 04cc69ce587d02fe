"""The lines of a drawing, read as rows and steps: the text that `drawing` describes.

A line with a row, a tick or the end begins a step, with the watermark after it. A line without them is a further entry
of the step. The last step is the end of the input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.cases.happenings import is_happening, read_time

#: Columns of rows, in the order in which they are written, with the value that is left out.
COLUMNS: Mapping[str, Any] = {
    "key": "",
    "partition": "p0",
    "side": "left",
    "task": 0,
    "marker": False,
    "kept": True,
    "time": None,
    "arrival": None,
}

_FLAGS = {"yes": True, "no": False}


class DrawingError(ValueError):
    """A drawing that cannot be read."""


@dataclass(frozen=True)
class Row:
    """A row of the stream; times are in milliseconds."""

    ts: int
    arrival: int
    key: str = ""
    partition: str = "p0"
    side: str = "left"
    task: int = 0
    marker: bool = False
    kept: bool = True


@dataclass(frozen=True)
class Step:
    """A line group of a drawing: `row`, `tick` or `end`, with the watermark after it (ms) and what happens at it."""

    kind: str
    watermark: int
    happens: tuple[str, ...] = ()


def read_lines(text: str, unit: str, sides: Mapping[str, str]) -> tuple[tuple[Row, ...], tuple[Step, ...]]:
    """Return the rows and steps of a text; `sides` are the inputs that rows can name, none for any.

    Raises ValueError.
    """
    header, *lines = [_cells(line) for line in text.strip().splitlines()] or [[""]]
    names = header[0].split()
    is_header = header[1:] == ["watermark", "what happens"] and names[:1] == ["row"] and "time" in names
    if not is_header or not {*names[1:]} <= {*COLUMNS} or len({*names}) < len(names):
        raise DrawingError(f"found the header {header}; write 'row time COLUMNS | watermark | what happens'")
    rows: list[Row] = []
    steps: list[tuple[str, int, list[str]]] = []
    for left, watermark, happens in lines:
        if happens and not is_happening(happens):
            raise DrawingError(f"unknown entry '{happens}'; `happenings` lists what a drawing can hold")
        if not left:
            _continue(steps, watermark, happens)
            continue
        kind = left if left in ("tick", "end") else "row"
        if kind == "row":
            rows.append(_row(names, left.split(), len(rows), unit, sides))
        steps.append((kind, read_time(watermark, unit), [happens] if happens else []))
    ends = [place for place, (kind, *_) in enumerate(steps) if kind == "end"]
    if not ends:
        raise DrawingError("found no line 'end'; the last step of a drawing is the end of the input")
    if ends[0] != len(steps) - 1:
        raise DrawingError("lines stand behind the end of the input")
    return tuple(rows), tuple(Step(kind, watermark, tuple(happens)) for kind, watermark, happens in steps)


def _continue(steps: Sequence[tuple[str, int, list[str]]], watermark: str, happens: str) -> None:
    """Add an entry to the last step. Raises DrawingError for a line that continues none."""
    if not steps:
        raise DrawingError(f"the line '| {watermark} | {happens}' continues no step; begin with a row, tick or end")
    if watermark or not happens:
        raise DrawingError(
            f"the line '| {watermark} | {happens}' is no row, tick or end; a further entry of a step stands alone"
        )
    steps[-1][2].append(happens)


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 3:
        raise DrawingError(f"found {len(cells)} cells in '{line.strip()}', expected 3")
    return cells


def _row(names: Sequence[str], texts: Sequence[str], number: int, unit: str, sides: Mapping[str, str]) -> Row:
    if len(texts) != len(names):
        raise DrawingError(
            f"found {len(texts)} values in '{' '.join(texts)}', expected {len(names)}: {' '.join(names)}"
        )
    drawn = dict(zip(names, texts, strict=True))
    if drawn.pop("row") != str(number):
        raise DrawingError(f"rows are numbered 0, 1, 2, ...; row {number} is missing")
    values: dict[str, Any] = {"arrival": number, "ts": read_instant(f"row {number}", drawn.pop("time"), unit)}
    for column, text in drawn.items():
        values[column] = _value(f"row {number}", column, text, unit)
    if sides:
        values["side"] = _side(number, values.get("side", next(iter(sides))), sides)
    return Row(**values)


def _side(number: int, name: str, sides: Mapping[str, str]) -> str:
    if name not in sides:
        raise DrawingError(f"row {number}: found the side '{name}', expected {' or '.join(sides)}")
    return sides[name]


def _value(row: str, column: str, text: str, unit: str) -> Any:
    if column == "arrival":
        return read_instant(row, text, unit)
    if isinstance(COLUMNS[column], bool):
        if text not in _FLAGS:
            raise DrawingError(f"{row}: found {column} '{text}', expected yes or no")
        return _FLAGS[text]
    if isinstance(COLUMNS[column], int) and not text.isdecimal():
        raise DrawingError(f"{row}: found {column} '{text}', expected a number")
    return type(COLUMNS[column])(text)


def read_instant(name: str, text: str, unit: str) -> int:
    """Return an instant that is a number. Raises DrawingError."""
    if text in ("-", "max"):
        raise DrawingError(f"{name}: found '{text}', which a watermark alone can be; write the time in {unit}")
    return read_time(text, unit)
