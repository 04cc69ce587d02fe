"""Queries to copy: Spark SQL that reads what a run has published, at the versions of its publication."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.pipeline.published_tables import LATE_EVENTS, PAIRS, WINDOW_RESULTS, Table
from spark_jobs.report.data import ReportData


@dataclass(frozen=True)
class Query:
    """A query: its rows in words, and its SQL."""

    title: str
    sql: str


def queries(data: ReportData) -> tuple[Query, ...]:
    """Return the queries of a published run; none if the run is not published."""
    first = "event_time" if data.join is not None and not data.join.by_window else "window_start"
    results = _query(data, "The results", WINDOW_RESULTS if data.join is None else PAIRS, first)
    late_rows = _query(data, "The rows that came too late", LATE_EVENTS, "late_by_ms DESC")
    return tuple(query for query in (results, late_rows) if query is not None)


def _query(data: ReportData, title: str, table: Table, order: str) -> Query | None:
    version = data.run.versions.get(table.name)
    if version is None:
        return None
    path = f"{data.run.lake}/{table.name}".replace("`", "``")
    lines = ["SELECT *", f"FROM delta.`{path}` VERSION AS OF {version}", f"ORDER BY {order}", "LIMIT 100"]
    return Query(title, "\n".join(lines))
