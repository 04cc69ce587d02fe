"""Touched windows: the windows of a reader that change when windows of a published table that it reads are replaced.

It is foreseen from the rows that are published now. Rows that the replacement adds have times about the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.replay.continuation.affected_windows import windows_of_rows
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.rows.event_time import TimeFieldError
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.semantics.windows.grid import grid, next_start
from spark_jobs.tables import source
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds


@dataclass(frozen=True)
class TouchedWindows:
    """The number of windows, and the interval from the first to the last; without windows the interval is None."""

    count: int
    interval: Interval | None


def touched_windows(spark: SparkSession, reader: Pipeline, replaced: dict[str, Interval]) -> TouchedWindows | None:
    """Return the windows of `reader` with a row of a window that is replaced.

    `replaced` are the replaced windows by the name of the reader's source. Returns None if any result may change: for a
    reader without windows on a grid, such as of sessions or of a join. So it does for a reader that takes times from
    the commits of its source.
    """
    if reader.join is not None or reader.windows.is_session or not reader.windows.kind.has_grid:
        return None
    versions = source.newest_versions(spark, reader)

    def read_replaced(name: str, table: str) -> DataFrame:
        rows = source.read(spark, table, versions[name])
        if name not in replaced:
            return rows.limit(0)
        # Rows of a table without windows may all be replaced.
        has_windows = "window_start" in rows.columns
        return rows.where(holds(replaced[name], "window_start")) if has_windows else rows

    # Rows have the same windows in each order, and this order needs no commits.
    timed = replace(reader, replay=replace(reader.replay, order=Order.EVENT_TIME))
    try:
        rows = prepare(source.events_by(timed, read_replaced), timed)
    except (AnalysisException, TimeFieldError):
        if not reader.replay.by_commit:
            raise
        return None
    windows = windows_of_rows(rows, timed).distinct()
    row = windows.agg(F.count("*").alias("n"), F.min("window_ms").alias("first"), F.max("window_ms").alias("last"))
    extent = row.collect()[0]
    if not extent["n"]:
        return TouchedWindows(0, None)
    end_ms = next_start(extent["last"], grid(reader.windows))
    interval = Interval(timestamps.moment(extent["first"]), timestamps.moment(end_ms))
    return TouchedWindows(int(extent["n"]), interval)
