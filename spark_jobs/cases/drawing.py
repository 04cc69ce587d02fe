"""A drawing is a worked example as text: a stream row by row, the watermark after each row, and what happens then.

A file holds one drawing, a YAML mapping:

    rules      the rules of the semantics page that it shows
    title      its one-line name
    concept    the group that it belongs to
    answer     `flink` (the answer is Flink's own) or `product` (Flink has no such feature)
    note       one or two sentences: what to look at
    unit       `ms` or `s`: the unit of all times in the drawing
    pipeline   the part of a pipeline file that the example needs; tables, time columns and key are the harness's
    until      how far the arrival clock goes on behind the last row; optional
    drawing    the text

Read the text from top to bottom. Left of the first bar is a row: its number, event time, and further columns of
`COLUMNS` where they matter. Rows arrive in the order drawn, row n at n ms, unless a column `arrival` has other times.

A line `tick` is an emission between two rows that advances the watermark. The last step is the `end` of the input. Then
comes the watermark right after the step (`-`: none yet), then what happens at the step (see `happenings`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from spark_jobs.cases.happenings import UNITS, instant_text, is_happening, read_time

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

_REQUIRED = ("title", "concept", "answer", "unit", "pipeline", "drawing")
_OPTIONAL = ("rules", "note", "until", "fails_with")
_ANSWERS = ("flink", "product")


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


@dataclass(frozen=True)
class Drawing:
    """A drawing; `steps` have one `row` step a row, in order. `settings` replace those of its part of a pipeline."""

    title: str
    concept: str
    answer: str
    unit: str
    pipeline: Mapping[str, Any]
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    rules: tuple[int, ...] = ()
    note: str = ""
    until: int | None = None
    fails_with: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = field(default="", compare=False)


def load(folder: Path) -> list[Drawing]:
    """Read every drawing of a folder, by name."""
    return [read(path.read_text(), path.stem) for path in sorted(folder.glob("*.yaml"))]


def read(text: str, name: str = "") -> Drawing:
    """Read a drawing. Raises DrawingError for unknown keys, columns and entries, and for lines out of order."""
    try:
        values = yaml.safe_load(text)
        return _drawing(values, name)
    except (yaml.YAMLError, ValueError, KeyError) as wrong:
        raise DrawingError(f"{name}: {wrong}") from wrong


def _drawing(values: Any, name: str) -> Drawing:
    if not isinstance(values, dict):
        raise DrawingError("found no mapping; write title, unit, pipeline, drawing, ...")
    if unknown := sorted(values.keys() - {*_REQUIRED, *_OPTIONAL}):
        raise DrawingError(f"unknown keys: {', '.join(unknown)}; known: {', '.join((*_REQUIRED, *_OPTIONAL))}")
    if missing := [key for key in _REQUIRED if key not in values]:
        raise DrawingError(f"missing keys: {', '.join(missing)}")
    unit, answer = values["unit"], values["answer"]
    if unit not in UNITS or answer not in _ANSWERS:
        raise DrawingError(f"found unit {unit!r} and answer {answer!r}, expected ms or s, and flink or product")
    rows, steps = _parsed(values["drawing"], unit)
    until = values.get("until")
    return Drawing(
        values["title"], values["concept"], answer, unit, values["pipeline"], rows, steps,
        tuple(values.get("rules", ())), str(values.get("note", "")).strip(),
        None if until is None else read_time(str(until), unit), tuple(values.get("fails_with", ())), {}, name,
    )  # fmt: skip


def of_text(
    name: str, text: str, unit: str, pipeline: Mapping[str, Any], settings: Mapping[str, str], until: str | None = None
) -> Drawing:
    """Return the drawing of a text, for a part of a pipeline. Raises DrawingError."""
    if unit not in UNITS:
        raise DrawingError(f"found the unit {unit!r}, expected {' or '.join(UNITS)}")
    try:
        rows, steps = _parsed(text, unit)
        end = None if until is None else read_time(until, unit)
    except (ValueError, KeyError) as wrong:
        raise DrawingError(str(wrong)) from wrong
    return Drawing(name, "", "product", unit, pipeline, rows, steps, until=end, settings=settings, name=name)


def _parsed(text: str, unit: str) -> tuple[tuple[Row, ...], tuple[Step, ...]]:
    header, *lines = (_cells(line) for line in text.strip().splitlines())
    names = header[0].split()
    if header[1:] != ["watermark", "what happens"] or names[:1] != ["row"] or not {*names[1:]} <= {*COLUMNS}:
        raise DrawingError(f"found the header {header}; write 'row COLUMNS | watermark | what happens'")
    rows: list[Row] = []
    steps: list[tuple[str, int, list[str]]] = []
    for left, watermark, happens in lines:
        if happens and not is_happening(happens):
            raise DrawingError(f"unknown entry '{happens}'; `happenings` lists what a drawing can hold")
        if not left:
            steps[-1][2].append(happens)
            continue
        kind = left if left in ("tick", "end") else "row"
        if kind == "row":
            rows.append(_row(dict(zip(names, left.split(), strict=True)), len(rows), unit))
        steps.append((kind, read_time(watermark, unit), [happens] if happens else []))
    if [kind for kind, *_ in steps].index("end") != len(steps) - 1:
        raise DrawingError("lines stand behind the end of the input")
    return tuple(rows), tuple(Step(kind, watermark, tuple(happens)) for kind, watermark, happens in steps)


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 3:
        raise DrawingError(f"found {len(cells)} cells in '{line.strip()}', expected 3")
    return cells


def _row(drawn: dict[str, str], number: int, unit: str) -> Row:
    if drawn.pop("row") != str(number):
        raise DrawingError(f"rows are numbered 0, 1, 2, ...; row {number} is missing")
    values: dict[str, Any] = {"arrival": number, "ts": read_time(drawn.pop("time"), unit)}
    for column, text in drawn.items():
        values[column] = _value(column, text, unit)
    return Row(**values)


def _value(column: str, text: str, unit: str) -> Any:
    if column == "arrival":
        return read_time(text, unit)
    if isinstance(COLUMNS[column], bool):
        return {"yes": True, "no": False}[text]
    return type(COLUMNS[column])(text)


def write(drawing: Drawing) -> str:
    """Write a drawing as its file; `read` reads it back."""
    text = _line_of("rules", list(drawing.rules)) if drawing.rules else ""
    text += "".join(_line_of(name, getattr(drawing, name)) for name in ("title", "concept", "answer"))
    if drawing.note:
        text += "note: >-\n" + _indented(textwrap.fill(drawing.note, 114, break_on_hyphens=False))
    text += _line_of("unit", drawing.unit) + "pipeline:\n"
    text += _indented(pipeline_text(drawing))
    if drawing.until is not None:
        text += f"until: {instant_text(drawing.until, drawing.unit)}\n"
    text += "fails_with:\n" + _indented(_list_of(drawing.fails_with)) if drawing.fails_with else ""
    return text + "drawing: |\n" + _indented(table(drawing))


def pipeline_text(drawing: Drawing) -> str:
    """Write the part of a pipeline file that a drawing needs, a key a line, and each of several sources in one."""
    text = ""
    for name, value in drawing.pipeline.items():
        is_block = isinstance(value, list)
        text += f"{name}:\n" + _indented(_list_of(value)) if is_block else _line_of(name, value)
    return text


def _line_of(name: str, value: Any) -> str:
    """Write a key and its value in one line."""
    text: str = yaml.dump({name: value}, Dumper=_Plain, sort_keys=False, width=10**6, default_flow_style=True)
    return text[1:-2] + "\n"


class _Plain(yaml.SafeDumper):
    """A writer without anchors: equal parts of a pipeline are written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _list_of(values: Sequence[Any]) -> str:
    return "".join(f"- {_line_of('x', value).removeprefix('x: ')}" for value in values)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def table(drawing: Drawing) -> str:
    """Write the drawing's text, in columns."""
    names = _columns(drawing)
    lines: list[list[str]] = [["row", *names, "watermark", "what happens"]]
    rows = iter(enumerate(drawing.rows))
    for step in drawing.steps:
        left = [step.kind, *([""] * len(names))]
        if step.kind == "row":
            number, row = next(rows)
            left = [str(number), *(_text(row, name, drawing.unit) for name in names)]
        first, *further = step.happens or ("",)
        lines.append([*left, instant_text(step.watermark, drawing.unit), first])
        lines += [[*([""] * len(left)), "", other] for other in further]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "".join(_line(line, widths) for line in lines)


def _line(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *further = (cell.rjust(width) for cell, width in zip(line[1:-2], widths[1:-1], strict=True))
    left = "  ".join([line[0].ljust(widths[0]), first, *further])
    return f"{left} | {line[-2].rjust(widths[-1])} | {line[-1]}".rstrip() + "\n"


def _columns(drawing: Drawing) -> list[str]:
    """The columns that differ from what is left out; the event time always."""
    used = {name for row in drawing.rows for name, left_out in COLUMNS.items() if _of(row, name) != left_out}
    if all(row.arrival == number for number, row in enumerate(drawing.rows)):
        used.discard("arrival")
    return [name for name in COLUMNS if name in used or name == "time"]


def _of(row: Row, name: str) -> Any:
    return getattr(row, {"time": "ts"}.get(name, name))


def _text(row: Row, name: str, unit: str) -> str:
    value = _of(row, name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return instant_text(value, unit) if name in ("time", "arrival") else str(value)


def differences(drawn: Sequence[Step], happened: Sequence[Step], unit: str) -> list[str]:
    """List where what happened is not what is drawn, a line each; an empty list if all is as drawn."""
    drawn_lines, lines = dict(_labelled(drawn)), dict(_labelled(happened))
    lines_apart: list[str] = []
    for label in dict.fromkeys([*drawn_lines, *lines]):
        expected, actual = drawn_lines.get(label), lines.get(label)
        if expected is None or actual is None:
            lines_apart.append(f"{label}: {'missing in' if expected is None else 'stands only in'} the drawing")
        if expected and actual and expected.watermark != actual.watermark:
            drawn_at, at = instant_text(expected.watermark, unit), instant_text(actual.watermark, unit)
            lines_apart.append(f"{label}: drawn watermark {drawn_at}, replayed {at}")
        lines_apart += _entries(label, expected.happens if expected else (), actual.happens if actual else ())
    return lines_apart


def _entries(label: str, drawn: tuple[str, ...], happened: tuple[str, ...]) -> list[str]:
    missing = [f"{label}: drawn '{text}', not replayed" for text in drawn if text not in happened]
    surplus = [f"{label}: replayed '{text}', not drawn" for text in happened if text not in drawn]
    if not missing and not surplus and drawn != happened:
        return [f"{label}: drawn {list(drawn)}, replayed {list(happened)}"]
    return missing + surplus


def _labelled(steps: Sequence[Step]) -> list[tuple[str, Step]]:
    """Each step with its name: row 3, tick 2 behind row 3, end."""
    labelled: list[tuple[str, Step]] = []
    row, tick = -1, 0
    for step in steps:
        row, tick = (row + 1, 0) if step.kind == "row" else (row, tick + 1)
        labels = {"row": f"row {row}", "tick": f"tick {tick} behind row {row}", "end": "end"}
        labelled.append((labels[step.kind], step))
    return labelled
