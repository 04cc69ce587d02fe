"""First passages under a time lag with ticks by the clock: arithmetic, since rows do not matter.

Law: tick k has the clock `(k + 1) * D + P`, and an active partition emits `clock - lag` at it, so

    F(T) = max(first, ceil((T + lag - P) / D) - 1)

with `first` the tick after the first row. If all partitions are idle then, F(T) is the tick that sees the next row
(rules 18, 30-33).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import emission, window_assigners
from spark_jobs.replay.rows.epochs import ticks
from spark_jobs.replay.watermark.idleness import longest_silence_ticks


def passages(asked: DataFrame, moves: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """`window_ms` of `asked`, `fires_epoch` and `closes_epoch`; null if no tick that happens passes the window.

    `moves` are the census groups that move the watermark.
    """
    start, spec = F.col("window_ms"), pipeline.windows
    first = F.broadcast(moves.agg(F.min("bucket").alias("first")))
    passed = asked.crossJoin(first).select(
        "window_ms",
        _tick(window_assigners.last_ms(start, spec), pipeline).alias("fires_epoch"),
        _tick(window_assigners.cleanup_ms(start, spec), pipeline).alias("closes_epoch"),
    )
    if pipeline.watermark.may_fall_idle:
        passed = _awake(_awake(passed, "fires_epoch", moves, pipeline), "closes_epoch", moves, pipeline)
    return emission.happened(passed, ["fires_epoch", "closes_epoch"], moves, pipeline, until_us=until_us)


def _tick(threshold_ms: Column, pipeline: Pipeline) -> Column:
    emit = ticks(pipeline)
    behind = threshold_ms + F.lit(pipeline.watermark.lag_ms - emit.phase_ms)
    interval = F.lit(emit.interval_ms)
    ceiling = F.call_function("div", behind + F.pmod(-behind, interval), interval)
    return F.greatest(F.col("first"), ceiling - F.lit(1))


def _awake(passed: DataFrame, name: str, moves: DataFrame, pipeline: Pipeline) -> DataFrame:
    """With ticks at which all partitions are idle put off until one is not; null: none ever is."""
    spoken = moves.select(F.col("bucket").alias(name), F.lit(True).alias("spoken")).distinct()
    both = passed.unionByName(spoken, allowMissingColumns=True)
    in_order = Window.partitionBy(F.lit(0)).orderBy(name, F.col("spoken").asc_nulls_last())
    before = F.last(F.when(F.col("spoken"), F.col(name)), ignorenulls=True).over(
        in_order.rowsBetween(Window.unboundedPreceding, 0)
    )
    after = F.first(F.when(F.col("spoken"), F.col(name)), ignorenulls=True).over(
        in_order.rowsBetween(0, Window.unboundedFollowing)
    )
    awake = F.col(name) < F.col("before") + F.lit(longest_silence_ticks(pipeline))
    return (
        both.withColumns({"before": before, "after": after})
        .where("spoken is null")
        .withColumn(name, F.when(awake, F.col(name)).otherwise(F.col("after")))
        .drop("before", "after", "spoken")
    )
