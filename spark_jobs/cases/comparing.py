"""What a case expects beside what a replay has, as a diff of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import SequenceMatcher
from math import isclose, isnan
from typing import Any

from spark_jobs.cases.case_file import COUNTS, Case, ExpectedTable
from spark_jobs.cases.cells import Row, in_utc, write_table

Tables = Mapping[str, Sequence[Row]]
_CLOSE = 1e-9


class UnknownTableError(ValueError):
    """A case expects a table or a column that the replay does not have."""


def differences(case: Case, tables: Tables, counts: Mapping[str, int]) -> list[str]:
    """Return the lines of a diff, expected rows with `-` and replayed rows with `+`; none if all is as expected.

    Raises UnknownTableError.
    """
    lines = []
    for name, expected in case.tables.items():
        if name not in tables:
            raise UnknownTableError(f"expect.{name}: a replay of this pipeline has {', '.join(tables)}")
        lines += _of_table(name, expected, only(tables[name], case.only), case.day)
    wrong = {name: (number, counts.get(name)) for name, number in case.counts.items() if counts.get(name) != number}
    if unknown := [name for name in wrong if name not in counts]:
        raise UnknownTableError(f"expect.{COUNTS}: found {', '.join(unknown)}, expected {', '.join(counts)}")
    if wrong:
        lines.append(COUNTS)
        for name, (expected_count, count) in wrong.items():
            lines += [f"- {name}: {expected_count}", f"+ {name}: {count}"]
    return lines


def only(rows: Sequence[Row], values: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Return the rows that have one of the `values` in each column of that name; other columns are not looked at."""
    return [
        row
        for row in rows
        if all(any(_same(value, row[name]) for value in several) for name, several in values.items() if name in row)
    ]


def _of_table(name: str, expected: ExpectedTable, replayed: Sequence[Row], day: date | None) -> list[str]:
    names = expected.names or (list(replayed[0]) if replayed else [])
    every = list(replayed[0]) if replayed else names
    if unknown := [column for column in names if column not in every]:
        raise UnknownTableError(f"expect.{name}: found the columns {', '.join(unknown)}, expected {', '.join(every)}")
    rows, surplus = [{column: row[column] for column in names} for row in replayed], []
    missing = list(expected.rows)
    for row in rows:
        equal = next((place for place, other in enumerate(missing) if _is_equal(other, row, names)), None)
        if equal is None:
            surplus.append(row)
        else:
            missing.pop(equal)
    if not missing and not surplus:
        return []
    shared = [row for row in rows if not any(row is other for other in surplus)]
    return [name, *_diff(names, shared, missing, surplus, day)]


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


def _is_equal(expected: Row, replayed: Row, names: Iterable[str]) -> bool:
    return all(_same(expected.get(name), replayed[name]) for name in names)


def _same(expected: Any, value: Any) -> bool:
    if isinstance(value, datetime):
        is_same = isinstance(expected, datetime) and in_utc(expected) == in_utc(value)
    elif isinstance(value, bool) or isinstance(expected, bool):
        is_same = value is expected
    elif isinstance(value, (int, float, Decimal)) and isinstance(expected, (int, float, Decimal)):
        is_same = _is_same_number(expected, value)
    elif isinstance(value, (list, tuple)) and isinstance(expected, (list, tuple)):
        is_same = len(value) == len(expected) and all(map(_same, expected, value))
    elif isinstance(value, Mapping) and isinstance(expected, Mapping):
        is_same = value.keys() == expected.keys() and all(_same(expected[name], value[name]) for name in value)
    elif isinstance(value, date) and isinstance(expected, str):
        is_same = value.isoformat() == expected
    else:
        is_same = bool(expected == value)
    return is_same


def _is_same_number(expected: float | Decimal, value: float | Decimal) -> bool:
    """Return whether two numbers are equal, where doubles may differ in the digits that nobody writes into a file."""
    if isinstance(value, int) and isinstance(expected, int):
        return value == expected
    return isclose(value, expected, rel_tol=_CLOSE) or (isnan(value) and isnan(expected))
