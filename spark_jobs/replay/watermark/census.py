"""The census: rows counted by source partition, epoch and window slice, with the highest event time of each group.

One pass over the three or four columns that time depends on; all that follows about watermarks reads this small table.
Where rows are epochs (`epochs`), a group by epoch would not reduce the rows. Groups are then stretches of the clock, or
lie between two ticks. `first_epoch` is the first epoch at which their candidate passes a window (semantics B4).

A position is a struct, and the least struct of each group would need a sort of all rows. So rows are first grouped by
the least clock, and only the rows at the few clocks that matter are compared by position.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import candidates, left_out, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import bucket_of_row
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import moves_watermark

_ONE_PIECE = 500_000
_AT = c.PREFIX + "at_us"

FIRE_CELL, CLOSE_CELL = "fire_cell_ms", "close_cell_ms"


def census(rows: DataFrame, pipeline: Pipeline, measures: Mapping[str, Column] | None = None) -> DataFrame:
    """Return the groups of `rows` (prepared, with epoch), a row a group.

    Columns:

    - `reason`: null for valid rows
    - `kept`
    - `left_out`: why a valid row is not kept, null if `where` drops it; only with rules or names of rows
    - `SOURCE`: only with several sources
    - `partition`
    - `bucket`: the epoch, or a stretch of the clock; null without a position in the arrival order
    - `slice_ms`, `window_ms`: start of the window slice and of its newest window; null for invalid rows and sessions
    - `fire_cell_ms`, `close_cell_ms`: start of the latest window that the group's candidate fires and closes; null
      without one; absent for sessions
    - `is_marked`: whether the group's rows have a candidate; only for sessions where rows emit among ticks
    - `first_epoch`: the first epoch of the group. Where only rows are epochs, only some groups have it: the first
      group of each partition, and the first that passes each cell.
    - `max_ts_ms`, `last_clock_us`, `row_count`
    - `candidate_ms`: only where rows carry candidates
    - `measures`, aggregates of the rows by name (`floats.measured`)
    """
    keys = {
        "reason": F.col(c.REASON),
        "kept": F.col(c.KEPT),
        **left_out.grouping(rows),
        **({c.SOURCE: F.col(c.SOURCE)} if pipeline.sources else {}),
        "partition": F.col(c.PARTITION),
        "bucket": F.when(moves_watermark(pipeline), bucket_of_row(pipeline)),
        "slice_ms": F.when(F.col(c.VALID), window_assigners.slice_ms(F.col(c.TS_MS), pipeline.windows)),
    }
    newest = window_assigners.start_ms(F.col("slice_ms"), pipeline.windows)
    highest = {"max_ts_ms": F.max(c.TS_MS), "last_clock_us": F.max(c.CLOCK_US), "row_count": F.count("*")}
    highest |= measures or {}
    if candidates.carries(pipeline):
        highest["candidate_ms"] = F.max(c.CANDIDATE_MS)
    if axis(pipeline) is Axis.ROWS:
        return _of_rows(rows, keys | _cells(candidates.of_row(pipeline), pipeline), highest, pipeline).withColumn(
            "window_ms", newest
        )
    if axis(pipeline) is not Axis.TICKS:
        keys |= _cells(candidates.of_row(pipeline), pipeline)
        grouped = rows.groupBy(*(k.alias(n) for n, k in keys.items()))
        counted = grouped.agg(F.min(c.EPOCH).alias("first_epoch"), *(v.alias(n) for n, v in highest.items()))
        return counted.withColumn("window_ms", newest)
    summed = rows.groupBy(*(k.alias(n) for n, k in keys.items())).agg(*(v.alias(n) for n, v in highest.items()))
    return with_cells(summed.withColumns({"window_ms": newest, "first_epoch": F.col("bucket")}), pipeline)


def group_names(pipeline: Pipeline, rows: DataFrame) -> list[str]:
    """Return the columns by which prepared `rows` are grouped where epochs are ticks; `census` describes them."""
    of_sources = [c.SOURCE] if pipeline.sources else []
    return ["reason", "kept", *left_out.grouping(rows), *of_sources, "partition", "bucket", "slice_ms"]


def _of_rows(
    rows: DataFrame, keys: Mapping[str, Column], highest: Mapping[str, Column], pipeline: Pipeline
) -> DataFrame:
    """Return the groups where rows are epochs, without `window_ms`."""
    by = [column.alias(name) for name, column in keys.items()]
    named = [column.alias(name) for name, column in highest.items()]
    groups = rows.groupBy(*by).agg(F.min(c.CLOCK_US).alias("first_us"), *named).localCheckpoint()
    placed = groups.where("bucket is not null")
    partition = [*([c.SOURCE] if pipeline.sources else []), "partition"]
    looked_up: list[list[str]] = [[], *([cell] for cell in (FIRE_CELL, CLOSE_CELL) if cell in keys)]
    least = [placed.groupBy(*partition, *cell).agg(F.min("first_us").alias(_AT)).select(_AT) for cell in looked_up]
    clocks = reduce(DataFrame.union, least).distinct().localCheckpoint()
    # A broadcast avoids a shuffle of all rows.
    few = F.broadcast(clocks) if is_small(clocks) else clocks
    at_clocks = rows.where(moves_watermark(pipeline)).join(few, F.col(c.CLOCK_US) == F.col(_AT), "left_semi")
    firsts = at_clocks.groupBy(*by).agg(F.min(c.EPOCH).alias("first_epoch"))
    same = reduce(Column.__and__, (groups[name].eqNullSafe(firsts[name]) for name in keys))
    return groups.join(F.broadcast(firsts) if few is not clocks else firsts, same, "left").select(
        *(groups[name] for name in keys), "first_epoch", *highest
    )


def with_cells(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return groups of ticks with the cells of their candidates."""
    return groups.withColumns(_cells(candidates.of_group(pipeline), pipeline))


def gathered(groups: DataFrame) -> DataFrame:
    """Return the stored census, coalesced to one partition while it is small: later steps then need no shuffle."""
    return groups.coalesce(1) if is_small(groups) else groups


def is_small(rows: DataFrame) -> bool:
    """Return whether one task processes stored rows as fast as several tasks."""
    return rows.count() <= _ONE_PIECE


def cell_after(delay_ms: int, pipeline: Pipeline) -> Column:
    """Start of the latest window of the group that lies `delay_ms` behind its highest event time.

    With a delay of bound + 1 the group fires this window; with bound + 1 + lateness it closes it. Bound and lateness
    may be other settings than the pipeline's. Only for ticks: where rows are epochs, a group has rows on both sides of
    a firing.
    """
    return window_assigners.latest_with_last_ms(F.col("max_ts_ms") - F.lit(delay_ms), pipeline.windows)


def moving(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the groups whose rows move the watermark."""
    valid = F.col("reason").isNull()
    return groups.where(valid if pipeline.filtered_rows_move_watermark else valid & F.col("kept"))


def _cells(candidate: Column, pipeline: Pipeline) -> dict[str, Column]:
    spec = pipeline.windows
    if spec.is_session:
        # Idleness depends on a partition's first marked row, which may not be the first row of its group.
        return {"is_marked": candidate.isNotNull()} if axis(pipeline) is Axis.MARKS else {}
    return {
        FIRE_CELL: window_assigners.latest_with_last_ms(candidate, spec),
        CLOSE_CELL: window_assigners.latest_with_cleanup_ms(candidate, spec),
    }
