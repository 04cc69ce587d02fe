"""Names and values as texts of a query for the engine of delta-rs."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a column's name for a query."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text for a query."""
    return "'" + text.replace("'", "''") + "'"


def instant(us: int) -> str:
    """Return an instant in microseconds for a query: a time of the type of the tables, so that files are skipped."""
    return f"arrow_cast({us}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
