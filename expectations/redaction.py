"""Disclosure: what a check may show of the rows it found.

Results of checks are stored, printed in logs and put into reports. They show the key, the aggregates and the times of
windows and firings. They never show a column of the source: `late_events`, `invalid_events` and the `pairs` of a join
carry all of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from spark_jobs.pipeline import published_tables

_CARRY_THE_SOURCE: Mapping[str, frozenset[str]] = {
    table.name: frozenset(column.name for column in table.own_columns if column.name != "source")
    for table in published_tables.ALL
    if table.holds_source_columns
}
_LONGEST = 300
_HIDDEN = "not shown: it may hold columns of the source"


def may_show(table: str, columns: Iterable[str]) -> bool:
    """Whether values of all of `columns` of a staged table may be shown."""
    allowed = _CARRY_THE_SOURCE.get(table)
    return allowed is None or all(name.lower() in allowed for name in columns)


def value(found: Any, *, shown: bool) -> str:
    """A value as text. Where values may not be shown a number still may: it is a sum, a share or a count."""
    if not shown and (isinstance(found, bool) or not isinstance(found, int | float)):
        return _HIDDEN
    return cut(_text(found))


def examples(found: Iterable[Any], *, shown: bool) -> str:
    """Some values, one a line."""
    return "\n".join(cut(_text(v)) for v in found) if shown else f"values {_HIDDEN}"


def row(found: Mapping[str, Any], table: str) -> str:
    """A row of a user's query, without what may not be shown."""
    told = ", ".join(f"{name}={_text(v)}" for name, v in found.items() if may_show(table, (name,)))
    return cut(told or f"row {_HIDDEN}")


def first_line(message: str) -> str:
    """The first line that says anything: Spark's messages go on with plans and places."""
    return cut(message.strip().partition("\n")[0])


def cut(text: str) -> str:
    """`text` in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _text(found: Any) -> str:
    if isinstance(found, float):
        return f"{found:g}" if abs(found) < 1e15 else repr(found)
    if isinstance(found, date):
        return found.isoformat()
    return str(found) if isinstance(found, str | int | Decimal) else repr(found)
