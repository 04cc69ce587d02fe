"""The addresses of the pages with their filters and choices, and what an address chooses.

    kind=invalid, by=key, page=2          which rows, their groups, and which page of them
    key.<column>=, partition.<column>=    the text of a value, as in `spark_jobs.inspection.value_texts`
    window=, lateness=, reason=           further filters of rows; a time is ISO 8601
    event=, arrival=                      the times of a row, in microseconds since 1970
    column=, value=                       a column of the source and the text of its value

Law: what an address of `row` or `window` chooses is what the address was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

from spark_jobs.inspection.inspections import RowChoice
from spark_jobs.inspection.missed_page import PAGES, Grouping, MissedRow
from spark_jobs.inspection.row_filter import RowFilter, RowKind
from spark_jobs.semantics.rows.instants import micros
from tidemark_airflow.jobs.links import late_rows_page

#: The longest text of a value, and the most values.
LONGEST, MOST = 2_000, 40
_KEY, _PARTITION = "key.", "partition."
# The years that a table can hold.
_LAST_US = 253_402_300_799_999_999


class AddressError(ValueError):
    """An address with a value that cannot be read."""


@dataclass(frozen=True)
class RowsRequest:
    """Which rows a page lists: the filter, the groups, and the page from 1."""

    chosen: RowFilter = field(default_factory=RowFilter)
    by: Grouping | None = None
    page: int = 1


@dataclass(frozen=True)
class WindowRequest:
    """Which window a page explains: its start, or an instant in a session, and the texts of its key by column."""

    start: datetime
    key: Mapping[str, str]


def rows_request(items: Iterable[tuple[str, str]], key: Iterable[str], partition: Iterable[str]) -> RowsRequest:
    """Return which rows an address lists; `key` and `partition` are columns of the run. Raises AddressError."""
    fields = _fields(items)
    named = [*((_KEY, name) for name in key), *((_PARTITION, name) for name in partition)]
    values = {name: text for prefix, name in named if (text := fields.get(f"{prefix}{name}", ""))}
    start = fields.get("window", "")
    chosen = RowFilter(
        RowKind.INVALID if fields.get("kind") == RowKind.INVALID.value else RowKind.LATE,
        values,
        _time("window", start) if start else None,
        fields.get("lateness", ""),
        fields.get("reason", ""),
    )
    by = fields.get("by", "")
    page = _number("page", fields.get("page") or "1", 1, PAGES)
    return RowsRequest(chosen, Grouping(by) if by in set(Grouping) else None, page)


def row_choice(items: Iterable[tuple[str, str]]) -> RowChoice:
    """Return the rows that an address explains. Raises AddressError."""
    fields = _fields(items)
    start = fields.get("window", "")
    arrival = fields.get("arrival", "")
    return RowChoice(
        _number("event", fields.get("event", ""), -_LAST_US, _LAST_US),
        _number("arrival", arrival, -_LAST_US, _LAST_US) if arrival else None,
        {**_values(fields, _KEY), **_values(fields, _PARTITION)},
        _time("window", start) if start else None,
    )


def window_request(items: Iterable[tuple[str, str]]) -> WindowRequest:
    """Return the window that an address explains. Raises AddressError."""
    fields = _fields(items)
    return WindowRequest(_time("window", fields.get("window", "")), _values(fields, _KEY))


def late_rows(pipeline: str, run_id: str, request: RowsRequest, columns: Mapping[str, str]) -> str:
    """Return the address of a page of rows; `columns` contains `key.` or `partition.` by column."""
    chosen, fields = request.chosen, {}
    if chosen.kind is RowKind.INVALID:
        fields["kind"] = chosen.kind.value
    fields |= {f"{columns[name]}{name}": text for name, text in chosen.values.items()}
    if chosen.window_start is not None:
        fields["window"] = _iso(chosen.window_start)
    fields |= {name: text for name, text in (("lateness", chosen.lateness), ("reason", chosen.reason)) if text}
    if request.by is not None:
        fields["by"] = request.by.value
    if request.page > 1:
        fields["page"] = str(request.page)
    return _with(late_rows_page(pipeline, run_id), fields)


def prefixes(key: Iterable[str], partition: Iterable[str]) -> dict[str, str]:
    """Return the prefix of each column in an address; a column of the key and the partition is one of the key."""
    return {**dict.fromkeys(partition, _PARTITION), **dict.fromkeys(key, _KEY)}


def row(pipeline: str, run_id: str, late_row: MissedRow) -> str:
    """Return the address of the explanation of a late row; empty for a row without an event time."""
    if late_row.event_time is None:
        return ""
    fields = {"event": str(micros(late_row.event_time))}
    if late_row.arrival_time is not None:
        fields["arrival"] = str(micros(late_row.arrival_time))
    if late_row.window_start is not None:
        fields["window"] = _iso(late_row.window_start)
    fields |= {f"{_KEY}{name}": text for name, text in late_row.key.items()}
    fields |= {f"{_PARTITION}{name}": text for name, text in late_row.partition.items()}
    return _with(f"{late_rows_page(pipeline, run_id)}/row", fields)


def rows_with(pipeline: str, run_id: str) -> str:
    """Return the address to which a form sends a column and a value."""
    return f"{late_rows_page(pipeline, run_id)}/row"


def window(pipeline: str, run_id: str, start: datetime, key: Mapping[str, str]) -> str:
    """Return the address of the explanation of a window."""
    fields = {"window": _iso(start), **{f"{_KEY}{name}": text for name, text in key.items()}}
    return _with(f"{late_rows_page(pipeline, run_id)}/window", fields)


def _fields(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    fields = dict(items)
    if len(fields) > MOST or any(len(text) > LONGEST for text in fields.values()):
        raise AddressError(f"the address has more than {MOST} values, or one of more than {LONGEST:,} characters")
    return fields


def _values(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in fields.items() if name.startswith(prefix)}


def _number(name: str, text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = most + 1
    if not least <= number <= most:
        raise AddressError(f"{name}: found '{text}', expected a whole number from {least} to {most}")
    return number


def _time(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise AddressError(f"{name}: found '{text}', expected a time such as 2024-05-01T10:00:00") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _with(page: str, fields: Mapping[str, str]) -> str:
    return f"{page}?{urlencode(fields)}" if fields else page
