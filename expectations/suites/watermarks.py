"""Watermarks: the window calendar, one row a window: when it fires, at which watermark, and when it closes.

Along the firing times, the watermark never falls (rules 4, 21).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations import lateness, windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import WATERMARKS


def rows(staged: Staged) -> DataFrame:
    """Return the calendar, with values of each window's neighbours in time.

    - `same_window`: the number of rows for this window;
    - `highest_before`: the highest watermark of all earlier firings, null for the first;
    - `slowest`: the lowest watermark of a source partition;
    - `is_of_partition`: whether the watermark equals the watermark of a source partition.
    """
    # One Spark partition for this window is enough: one row a window, not one an event.
    clock = Window.partitionBy(F.lit(0)).orderBy(F.unix_micros("fires_at"))
    earlier = clock.rangeBetween(Window.unboundedPreceding, -1)
    return staged.watermarks.withColumns(
        {
            "same_window": F.count("*").over(Window.partitionBy("window_start")),
            "highest_before": F.max("watermark_at_fire").over(earlier),
            "slowest": F.array_min(F.col("partition_watermarks.watermark")),
            "is_of_partition": F.exists(
                "partition_watermarks", lambda p: p["watermark"].eqNullSafe(F.col("watermark_at_fire"))
            ),
        }
    ).drop("partition_watermarks")


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the calendar."""
    always = (
        *windows.invariants(pipeline),
        Invariant(
            "every_window_is_listed_once",
            "The calendar has one row a window.",
            "same_window = 1",
        ),
        Invariant(
            "windows_fire_once_the_watermark_is_past_them",
            "A window fires at a watermark that has reached its last millisecond. A window that does not fire has "
            "neither a firing time nor a watermark.",
            "CASE WHEN fires_at IS NULL THEN watermark_at_fire IS NULL "
            f"ELSE {lateness.is_complete('watermark_at_fire')} END",
        ),
        Invariant(
            "windows_close_after_they_fire",
            "A window closes when it fires or later, and never without a firing.",
            "closes_at IS NULL OR closes_at >= fires_at",
        ),
        Invariant(
            "watermarks_never_fall",
            "No window fires at a lower watermark than a window that fired earlier.",
            "highest_before IS NULL OR watermark_at_fire >= highest_before",
        ),
        *_of_partitions(pipeline),
    )
    if not pipeline.replay.closes:
        return always
    closed = Invariant(
        "the_end_of_input_closes_every_window",
        "The input has ended: every window has fired and is closed.",
        "fires_at IS NOT NULL AND closes_at IS NOT NULL",
    )
    return (*always, closed)


def _of_partitions(pipeline: Pipeline) -> tuple[Invariant, ...]:
    if pipeline.sources:
        return _of_sources(pipeline)
    if pipeline.watermark.idle_timeout_ms is None:
        return (
            Invariant(
                "the_watermark_is_that_of_the_slowest_partition",
                "The watermark at which a window fires is the lowest watermark of the source partitions.",
                "slowest IS NULL OR watermark_at_fire = slowest",
            ),
        )
    # The table does not contain which partitions are idle. The watermark is the lowest of the active partitions.
    return (
        Invariant(
            "the_watermark_is_that_of_a_partition",
            "The watermark at which a window fires is the watermark of a source partition.",
            "coalesce(is_of_partition, true)",
        ),
    )


def _of_sources(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants for several sources.

    Sources emit in turn, and a window may fire before the last source has emitted. The table has the watermarks of the
    partitions after all sources have emitted.
    """
    marks = [united.watermark for united in pipeline.sources]
    if not all(mark.idle_timeout_ms is None and mark.follows_rows for mark in marks):
        # An idle source does not count, and a source without a partition may already have a watermark.
        return ()
    return (
        Invariant(
            "the_watermark_is_not_beyond_the_slowest_partition",
            "The watermark at which a window fires is at most the lowest watermark of the source partitions.",
            "slowest IS NULL OR watermark_at_fire <= slowest",
        ),
    )


SUITE = Suite(
    "watermarks",
    WATERMARKS,
    rows,
    invariants,
    shows=("window_start", "window_end", "fires_at", "watermark_at_fire", "closes_at"),
)
