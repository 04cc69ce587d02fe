"""Values as cells of a text table, and tables of cells as rows.

    null, or nothing            null
    true, false                 a boolean
    12, -3.5, 1e9               a number
    2024-05-01 10:12            a time, UTC unless it has an offset; seconds and parts of a second are optional
    10:12                       a time of the case's day
    [1, 2], {"a": 1}            JSON: a list or a struct
    'any text'                  a text, whatever it looks like
    anything else               a text

The first line has the names of the columns. A bar separates cells. A line of dashes below the names is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from spark_jobs.semantics.rows.instants import END_OF_INPUT

Row = dict[str, Any]
#: The text of the watermark at the end of the input.
END = "end of input"

_CELL = re.compile(r"(\s*'(?:[^']|'')*'\s*|[^|]*)\|")
_RULE = re.compile(r"[-:| ]+")
_WORDS = {"": None, "null": None, "true": True, "false": False, END: END_OF_INPUT}


class TableError(ValueError):
    """A text table that cannot be read."""


def read_table(text: str, day: date | None = None) -> tuple[list[str], list[Row]]:
    """Return the columns and the rows of a text table. Raises TableError."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines:
        raise TableError("found an empty table, expected a line with the names of the columns")
    names = _cells(lines[0])
    if len(set(names)) < len(names) or not all(names):
        raise TableError(f"found the names {', '.join(names)}, expected different names")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if number == 2 and _RULE.fullmatch(line):
            continue
        cells = _cells(line)
        if len(cells) != len(names):
            raise TableError(f"line {number} has {len(cells)} cells, expected {len(names)}: {line}")
        rows.append({name: read_cell(cell, day) for name, cell in zip(names, cells, strict=True)})
    return names, rows


def read_cell(text: str, day: date | None = None) -> Any:
    """Return the value of a cell. Raises TableError for a time that does not exist."""
    if text in _WORDS:
        return _WORDS[text]
    convert = next((convert for pattern, convert in _FORMS if pattern.fullmatch(text)), None)
    try:
        return text if convert is None else convert(text, day)
    except ValueError as problem:
        raise TableError(f"found '{text}', which cannot be read: {problem}") from problem


def _text(text: str, _: date | None) -> str:
    return text[1:-1].replace("''", "'")


def _json(text: str, _: date | None) -> Any:
    with suppress(ValueError):
        return json.loads(text)
    return text


def _time(text: str, _: date | None) -> datetime:
    return in_utc(datetime.fromisoformat(text))


def _clock(text: str, day: date | None) -> Any:
    if day is None:
        return text
    hour, rest = text.split(":", 1)
    return datetime.combine(day, time.fromisoformat(f"{int(hour):02d}:{rest}"), UTC)


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; without an offset it is in UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def cell(value: Any, day: date | None = None) -> str:
    """Return the text of a value, which `read_cell` reads again."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _moment(in_utc(value), day)
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_plain(value), ensure_ascii=False)
    if isinstance(value, str):
        return value if read_cell(value, day) == value and value == value.strip() and "|" not in value else f"'{value}'"
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


_Convert = Callable[[str, date | None], Any]
_FORMS: tuple[tuple[re.Pattern[str], _Convert], ...] = (
    (re.compile(r"'.*'", re.DOTALL), _text),
    (re.compile(r"[+-]?\d+"), lambda text, _: int(text)),
    (re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"), lambda text, _: float(text)),
    (re.compile(r"[\[{].*[\]}]"), _json),
    (re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?"), _time),
    (re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?"), _clock),
)


def write_table(names: Sequence[str], rows: Iterable[Mapping[str, Any]], day: date | None = None) -> list[str]:
    """Return the lines of a text table, in columns."""
    lines = [list(names), *([cell(row.get(name), day) for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    return [" | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _cells(line: str) -> list[str]:
    """Return the cells of a line; a bar inside quotes is a part of its cell."""
    return [part.strip() for part in _CELL.findall(line.strip().removeprefix("|").removesuffix("|") + "|")]


def _moment(moment: datetime, day: date | None) -> str:
    if moment == END_OF_INPUT:
        return END
    if not (moment.second or moment.microsecond):
        spec = "minutes"
    else:
        spec = "milliseconds" if moment.microsecond and moment.microsecond % 1000 == 0 else "auto"
    text = moment.replace(tzinfo=None).isoformat(sep=" ", timespec=spec)
    return text.partition(" ")[2] if moment.date() == day else text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return cell(value) if isinstance(value, datetime) else value
