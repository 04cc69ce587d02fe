"""A page of late or invalid rows of a published run: how many, in which groups, and some of the rows.

Law: a page costs three queries of one table. Of a table with more than `MOST_ROWS` rows, only the files of one window
are read. At most `ROWS` rows and `GROUPS` groups are returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from spark_jobs.inspection import lateness_ranges, value_texts
from spark_jobs.inspection.publication import Publication, PublishedTable, Span, columns_of
from spark_jobs.inspection.row_filter import RowFilter, RowKind
from spark_jobs.inspection.sql_texts import quoted

#: Rows on a page, pages that can be opened, and groups of a page.
ROWS, PAGES, GROUPS = 50, 200, 20
#: The most rows of a table that a page reads.
MOST_ROWS = 5_000_000
_KEY = "__tm_key_"
_PARTITION = "__tm_partition_"


class Grouping(StrEnum):
    """What rows of a group have in common."""

    PARTITION = "partition"
    KEY = "key"
    WINDOW = "window"
    LATENESS = "lateness"
    HOUR = "hour"
    DAY = "day"
    REASON = "reason"


class TooManyRowsError(ValueError):
    """A table that is too large for a page."""


@dataclass(frozen=True)
class MissedGroup:
    """Rows with the same `values`, as texts by column. Durations are milliseconds, None for invalid rows.

    `windows` is the number of windows that the rows missed. `lateness_for_all_ms` is the allowed lateness with which
    all of them would have counted; None without windows.
    """

    values: Mapping[str, str]
    rows: int
    windows: int | None = None
    late_by_median_ms: int | None = None
    late_by_max_ms: int | None = None
    lateness_for_all_ms: int | None = None


@dataclass(frozen=True)
class MissedRow:
    """A row: its `values` by shown column, the texts of its key and of its source partition by column of the source."""

    values: Mapping[str, Any]
    key: Mapping[str, str]
    partition: Mapping[str, str]

    @property
    def event_time(self) -> datetime | None:
        """Its event time."""
        return self._time("event_time")

    @property
    def arrival_time(self) -> datetime | None:
        """Its arrival time; None where arrivals have no time."""
        return self._time("arrival_time")

    @property
    def window_start(self) -> datetime | None:
        """The start of the newest window that it missed; None without a window."""
        return self._time("window_start")

    def _time(self, name: str) -> datetime | None:
        value = self.values.get(name)
        return value if isinstance(value, datetime) else None


@dataclass(frozen=True)
class MissedPage:
    """A page of rows: `rows_in_all` and `groups_in_all` count what the filter chooses.

    `columns` are the shown columns in order. `hidden` is the number of columns of the source that are not shown.
    """

    kind: RowKind
    rows_in_all: int = 0
    groups_in_all: int = 0
    total: MissedGroup | None = None
    groups: Sequence[MissedGroup] = ()
    rows: Sequence[MissedRow] = ()
    columns: Sequence[str] = ()
    hidden: int = 0
    groupings: Sequence[Grouping] = field(default_factory=tuple)


def missed_page(
    publication: Publication, chosen: RowFilter, by: Grouping | None, page: int, *, shows_source: bool
) -> MissedPage:
    """Return page `page` (from 1) of the rows that a filter chooses, and all of them in groups.

    Raises NoPublicationError, TooManyRowsError and LakeError.
    """
    table = publication.table(chosen.kind.table)
    require_few(table, None if chosen.window_start is None else Span.of_window(chosen.window_start))
    columns = publication.visible(table, chosen.kind.table, shows_source=shows_source)
    condition = chosen.condition(table)
    measures = _measures(table)
    (total,) = table.select(f"SELECT {', '.join(measures)} FROM t WHERE {condition}")  # noqa: S608  made of checked names
    groupings = groupings_of(publication, table)
    labels = _labels(publication, table, by) if by in groupings and by is not None else {}
    groups, groups_in_all = _groups(table, labels, measures, condition)
    return MissedPage(
        chosen.kind,
        int(total["rows"]),
        groups_in_all,
        _group(total, {}),
        groups,
        _rows(publication, table, columns, condition, page),
        columns,
        len(table.columns) - len(columns),
        groupings,
    )


def require_few(table: PublishedTable, span: Span | None = None) -> None:
    """Raise TooManyRowsError if a query of the rows of a span, or of all rows (None), reads too many."""
    rows = table.file_rows(span)
    if rows is None or rows > MOST_ROWS:
        size = "an unknown number of rows" if rows is None else f"{rows:,} rows"
        raise TooManyRowsError(
            f"{table.path} has {size} to read, and a page reads at most {MOST_ROWS:,}. "
            "Name a window, or use `tidemark late`"
        )


def groupings_of(publication: Publication, table: PublishedTable) -> tuple[Grouping, ...]:
    """Return the groupings that a table allows."""
    return tuple(each for each in Grouping if _labels(publication, table, each))


def _labels(publication: Publication, table: PublishedTable, by: Grouping) -> dict[str, str]:
    """Return the texts of a group, each with its SQL; none if the table lacks a column."""
    if by in (Grouping.PARTITION, Grouping.KEY):
        names = publication.partition if by is Grouping.PARTITION else publication.key
        return {name: value_texts.sql_of(column) for name, column in columns_of(table, names).items()}
    of_arrival = f"CAST(date_trunc('{by.value}', arrival_time) AS VARCHAR)"
    labels = {
        Grouping.WINDOW: {name: value_texts.sql_of(name) for name in ("window_start", "window_end")},
        Grouping.LATENESS: {"lateness": lateness_ranges.label_sql()},
        Grouping.REASON: {"reason": value_texts.sql_of("reason")},
    }
    required = {Grouping.WINDOW: "window_end", Grouping.LATENESS: "late_by_ms", Grouping.REASON: "reason"}
    if required.get(by, "arrival_time") not in table.columns:
        return {}
    return labels.get(by, {f"{by.value} of arrival": of_arrival})


def _measures(table: PublishedTable) -> list[str]:
    measures = ["count(*) AS rows"]
    if "late_by_ms" in table.columns:
        measures += ["median(late_by_ms) AS late_by_median_ms", "max(late_by_ms) AS late_by_max_ms"]
        if "window_end" in table.columns:
            measures.append("count(DISTINCT window_start) AS windows")
            measures.append(f"max({lateness_ranges.NEEDED}) AS lateness_for_all_ms")
    return measures


def _groups(
    table: PublishedTable, labels: Mapping[str, str], measures: Sequence[str], condition: str
) -> tuple[list[MissedGroup], int]:
    """Return the largest groups, and the number of all groups."""
    if not labels:
        return [], 0
    selected = ", ".join(f"{sql} AS {quoted(label)}" for label, sql in labels.items())
    numbers = ", ".join(str(place + 1) for place in range(len(labels)))
    grouped = f"SELECT {selected}, {', '.join(measures)} FROM t WHERE {condition} GROUP BY {numbers}"  # noqa: S608
    names = ", ".join(quoted(label) for label in labels)
    rows = table.select(
        f"SELECT *, count(*) OVER () AS __tm_groups FROM ({grouped}) ORDER BY rows DESC, {names} LIMIT {GROUPS}"  # noqa: S608
    )
    return [_group(row, labels) for row in rows], int(rows[0]["__tm_groups"]) if rows else 0


def _group(row: Mapping[str, Any], labels: Mapping[str, str]) -> MissedGroup:
    names = ("windows", "late_by_median_ms", "late_by_max_ms", "lateness_for_all_ms")
    measured = {name: None if row.get(name) is None else int(row[name]) for name in names}
    return MissedGroup({label: str(row[label]) for label in labels}, int(row["rows"]), **measured)


def _rows(
    publication: Publication, table: PublishedTable, columns: Sequence[str], condition: str, page: int
) -> list[MissedRow]:
    key, partition = columns_of(table, publication.key), columns_of(table, publication.partition)
    texts = {f"{_KEY}{place}": column for place, column in enumerate(key.values())}
    texts |= {f"{_PARTITION}{place}": column for place, column in enumerate(partition.values())}
    selected = [*map(quoted, columns), *(f"{value_texts.sql_of(column)} AS {name}" for name, column in texts.items())]
    # The rest of the columns decides between rows of one time, so that pages do not overlap.
    order = [name for name in ("event_time", "arrival_time", "reason") if name in table.columns]
    by_lateness = ["late_by_ms DESC"] if "late_by_ms" in table.columns else []
    ordered = ", ".join([*by_lateness, *map(quoted, order), *texts]) or "1"
    rows = table.select(
        f"SELECT {', '.join(selected)} FROM t WHERE {condition} ORDER BY {ordered} "  # noqa: S608
        f"LIMIT {ROWS} OFFSET {ROWS * (page - 1)}"
    )
    return [
        MissedRow(
            {name: row[name] for name in columns},
            {name: row[f"{_KEY}{place}"] for place, name in enumerate(key)},
            {name: row[f"{_PARTITION}{place}"] for place, name in enumerate(partition)},
        )
        for row in rows
    ]
