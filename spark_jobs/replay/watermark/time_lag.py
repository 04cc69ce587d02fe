"""First passages under a time lag with ticks by the clock: arithmetic, since rows do not move the watermark.

Law: tick k has the clock `(k + 1) * D + P`, and an active partition emits `clock - lag` at it, so

    F(T) = max(first, ceil((T + lag - P) / D) - 1)

with `first` the tick after the first row. If all partitions are idle at that tick, F(T) is the tick after the next row
(rules 18, 30-33).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import emission, window_assigners
from spark_jobs.replay.rows.epochs import ticks
from spark_jobs.replay.watermark.idleness import longest_silence_ticks


def passages(windows: DataFrame, moves: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """Return `window_ms` of `windows`, `fires_epoch` and `closes_epoch`; null if no tick passes the window.

    `moves` are the census groups that move the watermark.
    """
    start, spec = F.col("window_ms"), pipeline.windows
    first = F.broadcast(moves.agg(F.min("bucket").alias("first")))
    passed = windows.crossJoin(first).select(
        "window_ms",
        _tick(window_assigners.last_ms(start, spec), pipeline).alias("fires_epoch"),
        _tick(window_assigners.cleanup_ms(start, spec), pipeline).alias("closes_epoch"),
    )
    if pipeline.watermark.may_fall_idle:
        passed = _while_active(_while_active(passed, "fires_epoch", moves, pipeline), "closes_epoch", moves, pipeline)
    return emission.happened(passed, ["fires_epoch", "closes_epoch"], moves, pipeline, until_us=until_us)


def _tick(threshold_ms: Column, pipeline: Pipeline) -> Column:
    emit = ticks(pipeline)
    since_phase = threshold_ms + F.lit(pipeline.watermark.lag_ms - emit.phase_ms)
    interval = F.lit(emit.interval_ms)
    ceiling = F.call_function("div", since_phase + F.pmod(-since_phase, interval), interval)
    return F.greatest(F.col("first"), ceiling - F.lit(1))


def _while_active(passed: DataFrame, name: str, moves: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `passed` with each tick at which all partitions are idle moved to the next active tick, or null."""
    with_rows = moves.select(F.col("bucket").alias(name), F.lit(True).alias("has_rows")).distinct()
    ordered = passed.unionByName(with_rows, allowMissingColumns=True)
    in_order = Window.partitionBy(F.lit(0)).orderBy(name, F.col("has_rows").asc_nulls_last())
    before = F.last(F.when(F.col("has_rows"), F.col(name)), ignorenulls=True).over(
        in_order.rowsBetween(Window.unboundedPreceding, 0)
    )
    after = F.first(F.when(F.col("has_rows"), F.col(name)), ignorenulls=True).over(
        in_order.rowsBetween(0, Window.unboundedFollowing)
    )
    is_active = F.col(name) < F.col("before") + F.lit(longest_silence_ticks(pipeline))
    return (
        ordered.withColumns({"before": before, "after": after})
        .where("has_rows is null")
        .withColumn(name, F.when(is_active, F.col(name)).otherwise(F.col("after")))
        .drop("before", "after", "has_rows")
    )
