"""Redaction: which values a check may show.

Results of checks are stored, logged and put into reports. They may show the key, the aggregates, and the times of
windows and panes. They never show another source column. The tables `late_events`, `invalid_events` and `pairs` contain
all source columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from spark_jobs.pipeline import published_tables

_SHOWN_COLUMNS: Mapping[str, frozenset[str]] = {
    table.name: frozenset(column.name for column in table.own_columns if column.name != "source")
    for table in published_tables.ALL
    if table.holds_source_columns
}
_LONGEST = 300
_HIDDEN = "not shown: it may hold columns of the source"


def may_show(table: str, columns: Iterable[str]) -> bool:
    """Return whether a check may show values of all `columns` of a staged table."""
    allowed = _SHOWN_COLUMNS.get(table)
    return allowed is None or all(name.lower() in allowed for name in columns)


def value(observed: Any, *, visible: bool) -> str:
    """Return a value as text. Without `visible`, only a number is shown: it is a sum, a share or a count."""
    if not visible and (isinstance(observed, bool) or not isinstance(observed, int | float)):
        return _HIDDEN
    return cut(_text(observed))


def examples(values: Iterable[Any], *, visible: bool) -> str:
    """Return some values, one a line."""
    return "\n".join(cut(_text(v)) for v in values) if visible else f"values {_HIDDEN}"


def row(values: Mapping[str, Any], table: str) -> str:
    """Return a row of a user's query as text, without the columns that a check may not show."""
    shown_values = ", ".join(f"{name}={_text(v)}" for name, v in values.items() if may_show(table, (name,)))
    return cut(shown_values or f"row {_HIDDEN}")


def first_line(message: str) -> str:
    """Return the first line of a message that is not empty. The further lines of Spark's messages are plans."""
    return cut(message.strip().partition("\n")[0])


def cut(text: str) -> str:
    """Return `text` as one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _text(observed: Any) -> str:
    if isinstance(observed, float):
        return f"{observed:g}" if abs(observed) < 1e15 else repr(observed)
    if isinstance(observed, date):
        return observed.isoformat()
    return str(observed) if isinstance(observed, str | int | Decimal) else repr(observed)
