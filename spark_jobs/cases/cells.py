"""Values as cells of a text table, and tables of cells as rows.

    null, or nothing            null
    true, false                 a boolean
    12, -3.5, 1e9               a number, without leading zeros
    NaN, Infinity, -Infinity    a double that is no number, or beyond all numbers; also `.nan`, `.inf`, `-.inf`
    2024-05-01 10:12            a time, UTC unless it has an offset; seconds and parts of a second are optional
    10:12                       a time of the case's day
    [1, 2], {"a": 1}            JSON: a list or a struct
    'any text'                  a text, whatever it looks like
    anything else               a text, such as 010

The first line has the names of the columns. A bar separates cells. A line of dashes below the names is ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

from spark_jobs.semantics.rows.instants import END_OF_INPUT

Row = dict[str, Any]
#: The text of the watermark at the end of the input.
END = "end of input"

_CELL = re.compile(r"(\s*'(?:[^']|'')*'\s*|[^|]*)\|")
_RULE = re.compile(r"[-:| ]+")
_WORDS = {
    "": None,
    "null": None,
    "true": True,
    "false": False,
    END: END_OF_INPUT,
    **dict.fromkeys(("NaN", ".nan", ".NaN", ".NAN"), math.nan),
    **{sign + name: float(f"{sign}inf") for sign in ("", "+", "-") for name in ("Infinity", ".inf", ".Inf", ".INF")},
}
# Decimals beyond this many digits before or behind the point have an exponent.
_LONG = 40


class TableError(ValueError):
    """A text table that cannot be read."""


class WrittenDouble(float):
    """A double of an expected table, with the decimal number that was in the text."""

    decimal: Decimal

    @classmethod
    def of(cls, text: str) -> WrittenDouble:
        """Return the double of a text; `decimal` has all of its digits."""
        number = cls(text)
        number.decimal = Decimal(text)
        return number


def read_table(text: str, day: date | None = None, *, exact: bool = False) -> tuple[list[str], list[Row]]:
    """Return the columns and the rows of a text table. Raises TableError.

    `exact`: doubles are of the type WrittenDouble, for a comparison with decimals.
    """
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
        rows.append({name: read_cell(cell, day, exact=exact) for name, cell in zip(names, cells, strict=True)})
    return names, rows


def read_cell(text: str, day: date | None = None, *, exact: bool = False) -> Any:
    """Return the value of a cell. Raises TableError for a time that does not exist."""
    if text in _WORDS:
        return _WORDS[text]
    convert = next((convert for pattern, convert in _FORMS if pattern.fullmatch(text)), None)
    try:
        return text if convert is None else convert(text, day, double_of(exact=exact))
    except (ValueError, RecursionError) as problem:
        raise TableError(f"found '{text}', which cannot be read: {problem}") from problem


def double_of(*, exact: bool) -> _Double:
    """Return what makes a double of a text."""
    return WrittenDouble.of if exact else float


def _text(text: str, *_: Any) -> str:
    return text[1:-1].replace("''", "'")


def _json(text: str, _: date | None, double: _Double) -> Any:
    with suppress(ValueError):
        return json.loads(text, parse_float=double)
    return text


def _time(text: str, *_: Any) -> datetime:
    return in_utc(datetime.fromisoformat(text))


def _clock(text: str, day: date | None, _: _Double) -> Any:
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
    if isinstance(value, (list, tuple, Mapping)):
        return _json_text(value)
    if isinstance(value, str):
        return value if _read_again(value, day) == value and not _breaks(value) else _quoted(value)
    return number_text(value) if isinstance(value, (int, float, Decimal)) else str(value)


def _read_again(text: str, day: date | None) -> Any:
    with suppress(TableError):
        return read_cell(text, day)
    return None


def _breaks(text: str) -> bool:
    return text != text.strip() or "|" in text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def number_text(number: float | Decimal) -> str:
    """Return the digits of a number, a decimal without zeros at its end."""
    if isinstance(number, WrittenDouble):
        number = number.decimal
    if isinstance(number, Decimal) and number.is_finite():
        plain = number.normalize()
        return f"{plain:f}" if abs(plain.adjusted()) < _LONG else str(plain)
    if isinstance(number, int) or math.isfinite(number):
        return str(number)
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


_Double = Callable[[str], float]
_Convert = Callable[[str, date | None, _Double], Any]
_WHOLE = r"(0|[1-9]\d*)"
_FORMS: tuple[tuple[re.Pattern[str], _Convert], ...] = (
    (re.compile(r"'.*'", re.DOTALL), _text),
    (re.compile(rf"[+-]?{_WHOLE}", re.ASCII), lambda text, *_: int(text)),
    (
        re.compile(rf"[+-]?({_WHOLE}(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII),
        lambda text, _, double: double(text),
    ),
    (re.compile(r"[\[{].*[\]}]", re.DOTALL), _json),
    (
        re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII),
        _time,
    ),
    (re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII), _clock),
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


def _json_text(value: Any) -> str:
    """Return JSON: a text for a time, and all digits of a decimal, which the standard library cannot write."""
    if isinstance(value, Mapping):
        text = partial(json.dumps, ensure_ascii=False)
        return "{" + ", ".join(f"{text(str(name))}: {_json_text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return number_text(value)
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(cell(value), ensure_ascii=False)
