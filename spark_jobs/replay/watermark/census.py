"""The census: rows counted by source partition, epoch and window slice, with the highest event time of each group.

One pass over the three or four columns that time depends on; all that follows about watermarks reads this small table.
Where rows are epochs (`epochs`), an epoch would be no summary: there the groups are stretches of the clock, or lie
between two ticks, and the first epoch at which a candidate passes a window (semantics page, B4) is kept beside them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import candidates, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import bucket
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import moves_watermark

_ONE_PIECE = 500_000

FIRE_CELL, CLOSE_CELL = "fire_cell_ms", "close_cell_ms"


def census(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Groups of `rows` (prepared, with epoch).

    A row is a group: `reason` (null: valid), `kept`, `SOURCE` (only of several), `partition`, `bucket` (epoch, or
    stretch of the clock; null: no place in the arrival order), `slice_ms` and `window_ms` (start of the window slice
    and of its newest window; null: invalid, or sessions), `fire_cell_ms` and `close_cell_ms` (start of the latest
    window that the group's candidate fires and closes; null: it has none; absent for sessions, which have `is_marked`
    instead where rows emit among ticks: whether the group's rows have a candidate), `first_epoch` (the
    group's first), `max_ts_ms`, `candidate_ms` (only where rows carry candidates), `last_clock_us`, `row_count`.
    """
    keys = {
        "reason": F.col(c.REASON),
        "kept": F.col(c.KEPT),
        **({c.SOURCE: F.col(c.SOURCE)} if pipeline.sources else {}),
        "partition": F.col(c.PARTITION),
        "bucket": F.when(moves_watermark(pipeline), bucket(F.col(c.EPOCH), pipeline)),
        "slice_ms": F.when(F.col(c.VALID), window_assigners.slice_ms(F.col(c.TS_MS), pipeline.windows)),
    }
    newest = window_assigners.start_ms(F.col("slice_ms"), pipeline.windows)
    highest = {"max_ts_ms": F.max(c.TS_MS), "last_clock_us": F.max(c.CLOCK_US), "row_count": F.count("*")}
    if candidates.carries(pipeline):
        highest["candidate_ms"] = F.max(c.CANDIDATE_MS)
    if axis(pipeline) is not Axis.TICKS:
        keys |= _cells(candidates.of_row(pipeline), pipeline)
        grouped = rows.groupBy(*(k.alias(n) for n, k in keys.items()))
        counted = grouped.agg(F.min(c.EPOCH).alias("first_epoch"), *(v.alias(n) for n, v in highest.items()))
        return counted.withColumn("window_ms", newest)
    summed = rows.groupBy(*(k.alias(n) for n, k in keys.items())).agg(*(v.alias(n) for n, v in highest.items()))
    return with_cells(summed.withColumns({"window_ms": newest, "first_epoch": F.col("bucket")}), pipeline)


def with_cells(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Groups of ticks with the cells of their candidates."""
    return groups.withColumns(_cells(candidates.of_group(pipeline), pipeline))


def gathered(groups: DataFrame) -> DataFrame:
    """The stored census in one piece while it is small: what follows then needs no shuffle."""
    return groups.coalesce(1) if is_small(groups) else groups


def is_small(rows: DataFrame) -> bool:
    """Whether one task can work through stored rows as fast as several."""
    return rows.count() <= _ONE_PIECE


def cell_after(delay_ms: int, pipeline: Pipeline) -> Column:
    """Start of the latest window of the group that lies `delay_ms` behind its highest event time.

    With a delay of bound + 1 that is what the group fires, with the lateness more what it closes: under any other
    settings too. Only of ticks: where rows are epochs, a group holds rows on both sides.
    """
    return window_assigners.latest_with_last_ms(F.col("max_ts_ms") - F.lit(delay_ms), pipeline.windows)


def moving(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The groups whose rows move the watermark."""
    valid = F.col("reason").isNull()
    return groups.where(valid if pipeline.filtered_rows_move_watermark else valid & F.col("kept"))


def _cells(candidate: Column, pipeline: Pipeline) -> dict[str, Column]:
    spec = pipeline.windows
    if spec.is_session:
        # Idleness asks when a partition's first marked row came, which may not be the first row of its group.
        return {"is_marked": candidate.isNotNull()} if axis(pipeline) is Axis.MARKS else {}
    return {
        FIRE_CELL: window_assigners.latest_with_last_ms(candidate, spec),
        CLOSE_CELL: window_assigners.latest_with_cleanup_ms(candidate, spec),
    }
