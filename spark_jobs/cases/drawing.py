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

from spark_jobs.cases.drawn_lines import COLUMNS, DrawingError, Row, Step, read_instant, read_lines
from spark_jobs.cases.happenings import UNITS, instant_text
from spark_jobs.cases.yaml_text import YamlTextError, read_document, values_of

__all__ = [
    "COLUMNS",
    "Drawing",
    "DrawingError",
    "Row",
    "Step",
    "differences",
    "load",
    "of_text",
    "pipeline_text",
    "read",
    "table",
    "write",
]

_REQUIRED = ("title", "concept", "answer", "unit", "pipeline", "drawing")
_OPTIONAL = ("rules", "note", "until", "fails_with")
_ANSWERS = ("flink", "product")


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
        return _drawing(values_of(read_document(text), "the drawing"), name)
    except (YamlTextError, ValueError) as wrong:
        raise DrawingError(f"{name}: {wrong}") from wrong


def _drawing(values: Any, name: str) -> Drawing:
    if not isinstance(values, dict):
        raise DrawingError("found no mapping; write title, unit, pipeline, drawing, ...")
    if unknown := sorted(values.keys() - {*_REQUIRED, *_OPTIONAL}):
        raise DrawingError(f"unknown keys: {', '.join(unknown)}; known: {', '.join((*_REQUIRED, *_OPTIONAL))}")
    if missing := [key for key in _REQUIRED if key not in values]:
        raise DrawingError(f"missing keys: {', '.join(missing)}")
    unit, answer, pipeline = str(values["unit"]), str(values["answer"]), values["pipeline"]
    if unit not in UNITS or answer not in _ANSWERS:
        raise DrawingError(f"found unit {unit!r} and answer {answer!r}, expected ms or s, and flink or product")
    if not isinstance(pipeline, dict):
        raise DrawingError(f"pipeline: found {pipeline!r}, expected a mapping with the parts of a pipeline file")
    if wrong := [key for key in ("rules", "fails_with") if not isinstance(values.get(key, []), list)]:
        raise DrawingError(f"{wrong[0]}: found {values[wrong[0]]!r}, expected a list")
    rows, steps = read_lines(str(values["drawing"]), unit, {})
    until = values.get("until")
    return Drawing(
        str(values["title"]), str(values["concept"]), answer, unit, pipeline, rows, steps,
        tuple(values.get("rules", ())), str(values.get("note", "")).strip(),
        None if until is None else read_instant("until", str(until), unit),
        tuple(values.get("fails_with", ())), {}, name,
    )  # fmt: skip


def of_text(
    name: str,
    text: str,
    unit: str,
    pipeline: Mapping[str, Any],
    settings: Mapping[str, str],
    until: str | None = None,
    sides: Mapping[str, str] | None = None,
) -> Drawing:
    """Return the drawing of a text, for a part of a pipeline; `sides` are the inputs that its rows can name.

    Without `sides`, rows can have any side. Raises DrawingError.
    """
    if unit not in UNITS:
        raise DrawingError(f"found the unit {unit!r}, expected {' or '.join(UNITS)}")
    try:
        rows, steps = read_lines(text, unit, sides or {})
        end = None if until is None else read_instant("until", until, unit)
    except ValueError as wrong:
        raise DrawingError(str(wrong)) from wrong
    return Drawing(name, "", "product", unit, pipeline, rows, steps, until=end, settings=settings, name=name)


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
