"""A run drawn by hand: staged tables that are right, and ways to spoil them.

Seconds; windows of 10 s, allowed lateness 5 s; keys are AA, BB and a null:

    event time   0         10        20        30
                 |-- w0 --|-- w1 --|-- w2 --|
    fires                  12        22        40, the end of the input
    closes                      17        30   40
    AA in w0     pane 0 of 3 rows at 12, late panes 1 and 2 at 13 and 14
    null in w0   pane 0 is a late one, at 13; a row at 20 is too late
    BB in w0     only a row at 21, too late
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from expectations.measure import measuring
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.local_rows import local_rows, no_rows
from spark_jobs.pipeline.model import Aggregate, Pipeline, Quality, Source, TimeField, Windows

END = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
Rows = dict[str, list[dict[str, Any]]]
Fault = Callable[[Rows], Any]

SCHEMAS = {
    "watermarks": "window_start timestamp, window_end timestamp, fires_at timestamp, watermark_at_fire timestamp, "
    "closes_at timestamp, partition_watermarks array<struct<source_partition string, watermark timestamp>>, "
    "run_id string",
    "panes": "carrier string, window_start timestamp, window_end timestamp, pane_index int, timing string, "
    "fired_at timestamp, watermark timestamp, flights bigint, row_count bigint, run_id string",
    "window_results": "carrier string, window_start timestamp, window_end timestamp, flights bigint, pane_count int, "
    "row_count bigint, too_late_count bigint, last_fired_at timestamp, run_id string",
    "late_events": "carrier string, passenger string, event_time timestamp, arrival_time timestamp, "
    "watermark timestamp, late_by_ms bigint, window_start timestamp, window_end timestamp, run_id string",
    "invalid_events": "carrier string, passenger string, reason string, run_id string",
}

PIPELINE = Pipeline(
    name="departures",
    source=Source("flights", TimeField("departed_at"), TimeField("landed_at")),
    windows=Windows(
        size_ms=10_000, key=("carrier",), allowed_lateness_ms=5_000, aggregates=(Aggregate("flights", "count(*)"),)
    ),
    quality=Quality(max_too_late_ratio=0.2),
)
COUNTS = {"rows_read": 18, "filtered": 1}


def at(seconds: float) -> datetime:
    return datetime(2013, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def window(start: float) -> dict[str, Any]:
    return {"window_start": at(start), "window_end": at(start + 10), "run_id": "r1"}


def firing(
    start: float, fires: datetime, watermark: datetime, closes: datetime, partitions: list[datetime]
) -> dict[str, Any]:
    reached = [{"source_partition": str(i), "watermark": w} for i, w in enumerate(partitions)]
    times = {"fires_at": fires, "watermark_at_fire": watermark, "closes_at": closes}
    return {**window(start), **times, "partition_watermarks": reached or None}


def pane(
    carrier: str | None, start: float, index: int, timing: str, fired: datetime, watermark: datetime, count: int
) -> dict[str, Any]:
    columns = {"carrier": carrier, "pane_index": index, "timing": timing, "fired_at": fired, "watermark": watermark}
    return {**window(start), **columns, "flights": count, "row_count": count}


def result(
    carrier: str | None, start: float, panes: int, count: int, fired: datetime, too_late: int = 0
) -> dict[str, Any]:
    columns = {"carrier": carrier, "pane_count": panes, "last_fired_at": fired, "too_late_count": too_late}
    return {**window(start), **columns, "flights": count, "row_count": count}


def late_event(carrier: str | None, event: float, arrival: float, watermark: float) -> dict[str, Any]:
    times = {"event_time": at(event), "arrival_time": at(arrival), "watermark": at(watermark)}
    late_by = {"late_by_ms": round((watermark - event) * 1000)}
    return {**window(0), "carrier": carrier, "passenger": "Ada Lovelace", **times, **late_by}


def invalid(reason: str) -> dict[str, Any]:
    return {"carrier": "AA", "passenger": "Ada Lovelace", "reason": reason, "run_id": "r1"}


CORRECT: Rows = {
    "watermarks": [
        firing(0, at(12), at(10.999), at(17), [at(10.999), at(11.5)]),
        firing(10, at(22), at(20.5), at(30), [at(21), at(20.5)]),
        firing(20, at(40), END, at(40), []),
    ],
    "panes": [
        pane("AA", 0, 0, "on_time", at(12), at(10.999), 3),
        pane("AA", 0, 1, "late", at(13), at(10.999), 4),
        pane("AA", 0, 2, "late", at(14), at(12), 5),
        pane(None, 0, 0, "late", at(13), at(10.999), 1),
        pane("AA", 10, 0, "on_time", at(22), at(20.5), 2),
        pane(None, 20, 0, "on_time", at(40), END, 4),
    ],
    "window_results": [
        result("AA", 0, 3, 5, at(14)),
        result(None, 0, 1, 1, at(13), too_late=1),
        result("AA", 10, 1, 2, at(22)),
        result(None, 20, 1, 4, at(40)),
    ],
    "late_events": [late_event(None, 5, 20, 16), late_event("BB", 6, 21, 19)],
    "invalid_events": [
        invalid("event_time_missing"),
        invalid("event_time_after_range"),
        invalid("event_time_in_future"),
    ],
}


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Plans interpreted and not compiled, which takes longer than to run them on a few rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, former in before.items():
        spark.conf.unset(name) if former is None else spark.conf.set(name, former)


def frames(
    spark: SparkSession, rows: Rows, *, key: str = "carrier string", aggregates: str = "flights bigint"
) -> dict[str, DataFrame]:
    """Staged tables; of the rows' fields those that the schemas name."""
    schemas = {
        table: schema.replace("carrier string", key).replace("flights bigint", aggregates)
        for table, schema in SCHEMAS.items()
    }
    return {table: frame(spark, schemas[table], table_rows) for table, table_rows in rows.items()}


def frame(spark: SparkSession, schema: str, rows: list[dict[str, Any]]) -> DataFrame:
    names = no_rows(spark, schema).columns
    return local_rows(spark, [tuple(row.get(name) for name in names) for row in rows], schema)


def change(table: str, row: int, **values: Any) -> Fault:
    if "row_count" in values:
        values = {"flights": values["row_count"], **values}
    return lambda rows: rows[table][row].update(values)


def remove(table: str, row: int) -> Fault:
    return lambda rows: rows[table].pop(row)


def repeat(table: str, row: int) -> Fault:
    return lambda rows: rows[table].append(dict(rows[table][row]))


def add(table: str, row: dict[str, Any]) -> Fault:
    return lambda rows: rows[table].append(dict(row))


def all_of(*faults: Fault) -> Fault:
    return lambda rows: [fault(rows) for fault in faults]


def failed_of(staged: Staged | StagedJoin) -> set[str]:
    """The invariants that the staged tables of a run, or of a join, violate."""
    counting = measuring(JOIN_SUITES, staged) if isinstance(staged, StagedJoin) else measuring(SUITES, staged)
    try:
        with counting as measured:
            return {f"{m.suite.name}.{m.invariant.name}" for m in measured.result() if m.violations}
    finally:
        staged.release()
