"""What a case expects beside what a replay has, as a diff of tables.

whole numbers, decimals   equal as numbers, to the last digit
doubles                   equal if at most `ULPS` doubles lie between the number as written and the result
NaN, Infinity             equal to themselves
times, dates              equal as instants and days; inside a list or struct also as a text of JSON
lists, structs            equal part by part
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any

from spark_jobs.cases.case_file import COUNTS, Case, ExpectedTable
from spark_jobs.cases.cells import Row, TableError, WrittenDouble, in_utc, read_cell, write_table

Tables = Mapping[str, Sequence[Row]]
#: How many units in the last place a double may differ from the number as written: sums differ by their order.
ULPS = 4


class UnknownTableError(ValueError):
    """A case expects a table or a column that the replay does not have."""


@dataclass(frozen=True)
class Unread:
    """The value of an aggregate that an engine does not compute, and why."""

    reason: str


def differences(
    case: Case, tables: Tables, counts: Mapping[str, int], columns: Mapping[str, Sequence[str] | None]
) -> list[str]:
    """Return the lines of a diff, expected rows with `-` and replayed rows with `+`; none if all is as expected.

    `columns` are the names that a table without rows can have, None for any. Raises UnknownTableError.
    """
    names = {name: _names(name, tables, columns) for name in case.tables}
    columns_of_case = [name for every in names.values() for name in every or ()]
    if unknown := [name for name in case.only if name not in columns_of_case and None not in names.values()]:
        raise UnknownTableError(f"only: found {', '.join(unknown)}, expected columns of {', '.join(case.tables)}")
    lines = []
    for name, expected in case.tables.items():
        lines += _of_table(name, expected, only(tables[name], case.only), names[name], case.day)
    wrong = {name: (number, counts.get(name)) for name, number in case.counts.items() if counts.get(name) != number}
    if unknown := [name for name in wrong if name not in counts]:
        raise UnknownTableError(f"expect.{COUNTS}: found {', '.join(unknown)}, expected {', '.join(counts)}")
    if wrong:
        lines.append(COUNTS)
        for name, (expected_count, count) in wrong.items():
            lines += [f"- {name}: {expected_count}", f"+ {name}: {count}"]
    return lines


def _names(table: str, tables: Tables, columns: Mapping[str, Sequence[str] | None]) -> Sequence[str] | None:
    """Return the columns of a table; None if they are not known."""
    if table not in tables:
        raise UnknownTableError(f"expect.{table}: a replay of this pipeline has {', '.join(tables)}")
    return list(tables[table][0]) if tables[table] else columns.get(table)


def only(rows: Sequence[Row], values: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Return the rows that have one of the `values` in each column of that name; other columns are not looked at."""
    return [
        row
        for row in rows
        if all(any(_same(value, row[name]) for value in several) for name, several in values.items() if name in row)
    ]


def _of_table(
    name: str, expected: ExpectedTable, replayed: Sequence[Row], every: Sequence[str] | None, day: date | None
) -> list[str]:
    read = [column for column in every or () if not any(isinstance(row[column], Unread) for row in replayed)]
    names = expected.names or read
    if every is not None and (unknown := [column for column in names if column not in every]):
        raise UnknownTableError(f"expect.{name}: found the columns {', '.join(unknown)}, expected {', '.join(every)}")
    rows, surplus = [{column: row[column] for column in names} for row in replayed], []
    _require_read(name, rows)
    missing = list(expected.rows)
    for row in rows:
        equal = next((place for place, other in enumerate(missing) if _is_equal(other, row, names, day)), None)
        if equal is None:
            surplus.append(row)
        else:
            missing.pop(equal)
    if not missing and not surplus:
        return []
    shared = [row for row in rows if not any(row is other for other in surplus)]
    return [name, *_diff(names, shared, missing, surplus, day)]


def _require_read(table: str, rows: Sequence[Row]) -> None:
    """Raise UnknownTableError for a value that was not computed."""
    for row in rows:
        for column, value in row.items():
            if reason := next(_unread(value), None):
                raise UnknownTableError(f"expect.{table}: column {column}: {reason}")


def _unread(value: Any) -> Iterator[str]:
    """Yield the reason of each part of a value that was not computed."""
    if isinstance(value, Unread):
        yield value.reason
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    for part in parts:
        yield from _unread(part)


def _diff(
    names: Sequence[str], shared: Iterable[Row], missing: Sequence[Row], surplus: Sequence[Row], day: date | None
) -> list[str]:
    """Return the tables as lines, those of rows that differ side by side: the most similar rows together."""
    equal = list(shared)
    header, *lines = write_table(names, [*equal, *missing, *surplus], day)
    same, rest = lines[: len(equal)], lines[len(equal) :]
    expected, replayed = rest[: len(missing)], rest[len(missing) :]
    ordered = sorted([(line, " ") for line in same] + [(line, "-") for line in expected])
    for line in replayed:
        near = max(
            (place for place, (_, mark) in enumerate(ordered) if mark == "-"),
            key=lambda place: SequenceMatcher(None, ordered[place][0], line).ratio(),
            default=None,
        )
        place = len(ordered) if near is None else near + 1
        ordered.insert(place, (line, "+"))
    return [f"  {header}", *(f"{mark} {line}" for line, mark in ordered)]


def _is_equal(expected: Row, replayed: Row, names: Iterable[str], day: date | None) -> bool:
    return all(_same(expected.get(name), replayed[name], day) for name in names)


def _same(expected: Any, value: Any, day: date | None = None, *, is_inside: bool = False) -> bool:
    if is_inside and isinstance(expected, str) and isinstance(value, date):
        expected = _read_inside(expected, day)
    if isinstance(value, datetime) or isinstance(expected, datetime):
        is_same = isinstance(expected, datetime) and isinstance(value, datetime) and in_utc(expected) == in_utc(value)
    elif isinstance(value, date) or isinstance(expected, date):
        is_same = _day_text(value) == _day_text(expected)
    elif isinstance(value, bool) or isinstance(expected, bool):
        is_same = value is expected
    elif isinstance(value, (int, float, Decimal)) and isinstance(expected, (int, float, Decimal)):
        is_same = _is_same_number(expected, value)
    elif isinstance(value, (list, tuple)) and isinstance(expected, (list, tuple)):
        pairs = zip(expected, value, strict=False)
        is_same = len(value) == len(expected) and all(_same(*pair, day, is_inside=True) for pair in pairs)
    elif isinstance(value, Mapping) and isinstance(expected, Mapping):
        names = value.keys()
        is_same = names == expected.keys() and all(_same(expected[n], value[n], day, is_inside=True) for n in names)
    else:
        is_same = bool(expected == value)
    return is_same


def _read_inside(text: str, day: date | None) -> Any:
    """Return the time of a text of JSON, which has no type for times; the text itself if it is none."""
    try:
        read = read_cell(text, day)
    except TableError:
        return text
    return read if isinstance(read, datetime) else text


def _day_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _is_same_number(expected: float | Decimal, value: float | Decimal) -> bool:
    if not (math.isfinite(expected) and math.isfinite(value)):
        return bool(expected == value) or (math.isnan(expected) and math.isnan(value))
    distance = abs(_exact(expected) - _exact(value))
    return distance <= (ULPS * Fraction(math.ulp(value)) if isinstance(value, float) else 0)


def _exact(number: float | Decimal) -> Fraction:
    """Return a number without a loss of digits: an expected one as it is in the text."""
    return Fraction(number.decimal if isinstance(number, WrittenDouble) else number)
