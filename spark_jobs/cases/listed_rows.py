"""Rows as a list of mappings in YAML: the other way to write a text table.

    without quotes   a cell as in a text table; `null` and `true` in any case of YAML, and 2024-05-01 is a date
    in quotes        a text; a time if it is written as one, so that '10:12' is a time of the case's day
    a list           a list
    a mapping        a struct

A column has one kind of values, since a table has one type for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from spark_jobs.cases.cells import Row, TableError, cell, read_cell
from spark_jobs.pipeline.document import Block, Broken, Items, Node, Scalar

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_Place = tuple[str, ...]


def value_of(node: Node, day: date | None = None, *, exact: bool = False) -> Any:
    """Return the value of a part of a row; `exact` as in `read_cell`. Raises TableError."""
    if isinstance(node, Items):
        return [value_of(item, day, exact=exact) for item in node.nodes]
    if isinstance(node, Block):
        return {name: value_of(entry.node, day, exact=exact) for name, entry in node.entries.items()}
    if isinstance(node, Broken) or node.value is None:
        return None
    return _plain(node, day, exact=exact) if node.plain else _quoted(node.text, day)


def readings_of(node: Node, day: date | None = None) -> list[Any]:
    """Return what a value of `only` can be: in quotes, a text or the cell with the same letters. Raises TableError."""
    if isinstance(node, Items):
        return [value for item in node.nodes for value in readings_of(item, day)]
    value = value_of(node, day, exact=True)
    if not isinstance(node, Scalar) or node.plain:
        return [value]
    read = read_cell(node.text, day, exact=True)
    return [value] if type(read) is type(value) and read == value else [value, read]


def day_of(text: str) -> date:
    """Return the day of a text. Raises TableError."""
    try:
        return date.fromisoformat(text)
    except ValueError as problem:
        raise TableError(f"found '{text}', which cannot be read: {problem}") from problem


def _plain(node: Scalar, day: date | None, *, exact: bool) -> Any:
    if isinstance(node.value, bool):
        return node.value
    return day_of(node.text) if _DATE.fullmatch(node.text) else read_cell(node.text, day, exact=exact)


def _quoted(text: str, day: date | None) -> Any:
    is_quoted_again = len(text) > 1 and text[0] == text[-1] == "'"
    value = read_cell(text, day)
    return value if is_quoted_again or isinstance(value, datetime) else text


def of_one_table(rows: Sequence[Row]) -> list[Row]:
    """Return rows with the columns of all of them, null where a row lacks one. Raises TableError for mixed kinds."""
    kinds: dict[_Place, tuple[str, Any]] = {}
    for row in rows:
        for name, value in row.items():
            for place, kind, part in _kinds((name,), value):
                first_kind, first = kinds.setdefault(place, (kind, part))
                if first_kind != kind:
                    raise TableError(
                        f"column '{'.'.join(place)}' has {first_kind} ({cell(first)}) and {kind} ({cell(part)}), and a "
                        "column of a table has one type; for texts, write '12' with quotes"
                    )
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]


def _kinds(place: _Place, value: Any) -> Iterator[tuple[_Place, str, Any]]:
    """Yield the kind of a value and of its parts, each with its place."""
    if value is None:
        return
    yield place, _kind(value), value
    parts: Iterable[tuple[_Place, Any]] = ()
    if isinstance(value, Mapping):
        parts = (((*place, name), part) for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        parts = (((*place, "[]"), part) for part in value)
    for inner, part in parts:
        yield from _kinds(inner, part)


def _kind(value: Any) -> str:
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    return type(value).__name__


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    ((int, float, Decimal), "a number"),
    (str, "a text"),
    (datetime, "a time"),
    (date, "a date"),
    ((list, tuple), "a list"),
    (Mapping, "a struct"),
)
