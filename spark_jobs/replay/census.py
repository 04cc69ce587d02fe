"""The census: rows counted by source partition, epoch and window, with the highest event time of each group.

One pass over the three or four columns that time depends on; all that follows about watermarks reads this small table.
Per-event emission has an epoch a row, which would be no summary: there the groups are stretches of the clock, and the
first position at which a group's candidate passes a window (semantics page, B4) is kept beside them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind, Pipeline, Placement
from spark_jobs.replay import columns as c
from spark_jobs.replay import watermark, windows
from spark_jobs.replay.arrival_order import bucket
from spark_jobs.replay.events import moves_watermark

_ONE_PIECE = 500_000

FIRE_CELL, CLOSE_CELL = "fire_cell_ms", "close_cell_ms"


def census(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Groups of `rows` (prepared, with epoch).

    A row is a group: `reason` (null: valid), `kept`, `partition`, `bucket` (epoch, or stretch of the clock; null: no
    place in the arrival order), `window_ms` (null: invalid, or sessions), `fire_cell_ms` and `close_cell_ms` (not of
    sessions; start of the latest window that the group's candidate fires and closes), `first_epoch` (the group's
    first), `max_ts_ms`, `last_clock_us`, `row_count`.
    """
    keys = {
        "reason": F.col(c.REASON),
        "kept": F.col(c.KEPT),
        "partition": F.col(c.PARTITION),
        "bucket": F.when(moves_watermark(pipeline), bucket(F.col(c.EPOCH), pipeline)),
        "window_ms": F.when(F.col(c.VALID), F.col(c.WINDOW_MS)),
    }
    if pipeline.windows.kind == windows.SESSION:
        # A session is its key's own: time has no windows to count by.
        keys["window_ms"] = F.lit(None).cast("long")
    highest = {"max_ts_ms": F.max(c.TS_MS), "last_clock_us": F.max(c.CLOCK_US), "row_count": F.count("*")}
    if pipeline.watermark.emit.kind is EmitKind.PER_EVENT:
        keys |= _cells(F.col(c.TS_MS), pipeline)
        grouped = rows.groupBy(*(k.alias(n) for n, k in keys.items()))
        return grouped.agg(F.min(c.EPOCH).alias("first_epoch"), *(v.alias(n) for n, v in highest.items()))
    summed = rows.groupBy(*(k.alias(n) for n, k in keys.items())).agg(*(v.alias(n) for n, v in highest.items()))
    return summed.withColumns({"first_epoch": F.col("bucket"), **_cells(F.col("max_ts_ms"), pipeline)})


def gathered(groups: DataFrame) -> DataFrame:
    """The stored census in one piece while it is small: what follows then needs no shuffle."""
    return groups.coalesce(1) if is_small(groups) else groups


def is_small(groups: DataFrame) -> bool:
    """Whether one task can work through the stored census as fast as several."""
    return groups.count() <= _ONE_PIECE


def cell_after(delay_ms: int, pipeline: Pipeline) -> Column:
    """Start of the latest window of the group that lies `delay_ms` behind its highest event time.

    With a delay of bound + 1 that is what the group fires, with the lateness more what it closes: under any other
    settings too. Not for per-event emission, whose groups hold rows on both sides.
    """
    return windows.latest_with_last_ms(F.col("max_ts_ms") - F.lit(delay_ms), pipeline.windows)


def moving(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The groups whose rows move the watermark."""
    valid = F.col("reason").isNull()
    after_where = pipeline.watermark.placement is Placement.AFTER_WHERE
    return groups.where(valid & F.col("kept") if after_where else valid)


def _cells(ts_ms: Column, pipeline: Pipeline) -> dict[str, Column]:
    spec = pipeline.windows
    if spec.kind == windows.SESSION:
        return {}
    candidate = watermark.candidate_ms(ts_ms, pipeline)
    return {
        FIRE_CELL: windows.latest_with_last_ms(candidate, spec),
        CLOSE_CELL: windows.latest_with_cleanup_ms(candidate, spec),
    }
