"""The watermark of a join is the minimum over its sources, each with the combined watermark of its own partitions.

    W = min over the sources s of C_s, MIN (null) while one of them has none        (rules 21, 39)

A join asks of W only whether a row lies behind it, so W is found for the rows that may: those with ts at or below an
upper bound of W in their stretch of the arrival order. Where an emission ends the stretch, the bound is W itself. For
per-event emission it is what the partitions that exist before the stretch have reached at its end.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind
from spark_jobs.replay import columns as c
from spark_jobs.replay import lateness, watermark
from spark_jobs.replay.arrival_order import bucket
from spark_jobs.replay.census import is_small
from spark_jobs.replay.inputs import SIDE, Inputs, SourceRows

_BUCKET = c.PREFIX + "bucket"
_CEILING_MS = c.PREFIX + "ceiling_ms"


def summary(inputs: Inputs) -> DataFrame:
    """Count the rows of `inputs.rows` by source, partition and stretch of the arrival order.

    A row is a group: `source` (its index among `inputs.sources`), `partition`, `bucket`, `first_epoch`, `max_ts_ms`,
    `row_count`. It is read several times and should be stored.
    """
    source = F.lit(0) if len(inputs.sources) == 1 else F.col(SIDE)
    stretch = bucket(F.col(c.EPOCH), inputs.pipelines[0])
    grouped = inputs.rows.groupBy(
        source.alias("source"), F.col(c.PARTITION).alias("partition"), stretch.alias("bucket")
    )
    return grouped.agg(
        F.min(c.EPOCH).alias("first_epoch"), F.max(c.TS_MS).alias("max_ts_ms"), F.count("*").alias("row_count")
    )


def before(epochs: DataFrame, groups: DataFrame, inputs: Inputs) -> DataFrame:
    """The watermark before the rows of each of `epochs` (a column `epoch`): `epoch, watermark_ms` (null: MIN)."""

    def of(number: int, source: SourceRows) -> DataFrame:
        points = watermark.points_before(epochs, source.pipeline)
        rows = inputs.rows.where(source.of)
        reached = watermark.combined(points, _of_source(groups, number), rows, source.pipeline)
        return reached.select("epoch", F.col("watermark_ms").alias(f"watermark_{number}"))

    return _slowest(epochs, "epoch", [of(*numbered) for numbered in enumerate(inputs.sources)], "watermark")


def rows_with_watermark(inputs: Inputs, groups: DataFrame) -> DataFrame:
    """The rows that may join, with `WATERMARK_MS` before the row where that is its event time or more; else null.

    `groups` is the stored `summary`.
    """
    kept = inputs.rows.where(c.KEPT).withColumn(_BUCKET, bucket(F.col(c.EPOCH), inputs.pipelines[0]))
    if inputs.pipelines[0].watermark.emit.kind is not EmitKind.PER_EVENT:
        epochs = groups.select(F.col("bucket").alias("epoch")).distinct()
        bounded = _bounded(kept, before(epochs, groups, inputs).withColumnsRenamed({"epoch": "bucket"}), "watermark_ms")
        exact = F.when(_may_be_behind(), F.col(_CEILING_MS))
        return bounded.withColumn(c.WATERMARK_MS, exact).drop(_CEILING_MS)
    bounded = _bounded(kept, ceilings(groups, inputs), "ceiling_ms")
    suspects = bounded.where(_may_be_behind()).drop(_CEILING_MS).localCheckpoint()
    ahead = bounded.where(~_may_be_behind()).drop(_CEILING_MS)
    found = before(suspects.select(F.col(c.EPOCH).alias("epoch")).distinct(), groups, inputs)
    told = found.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))
    behind = F.when(lateness.may_be_behind(F.col(c.TS_MS), F.col(c.WATERMARK_MS)), F.col(c.WATERMARK_MS))
    judged = suspects.join(told, c.EPOCH).withColumn(c.WATERMARK_MS, behind).localCheckpoint()
    return ahead.withColumn(c.WATERMARK_MS, F.lit(None).cast("long")).unionByName(judged)


def ceilings(groups: DataFrame, inputs: Inputs) -> DataFrame:
    """An upper bound of the watermark before each row of a stretch: `bucket, ceiling_ms` (null: it is MIN).

    The combined watermark of a source is at most the minimum over any partitions that exist, at the end of the stretch;
    of one whose partitions all join within the stretch, at most their maximum. It never falls.
    """
    buckets = groups.select("bucket").distinct()

    def of(number: int, source: SourceRows) -> DataFrame:
        own = _of_source(groups, number)
        steps = buckets.crossJoin(F.broadcast(watermark.partitions(own, source.pipeline))).join(
            own.select("partition", "bucket", "max_ts_ms"), ["partition", "bucket"], "left"
        )
        alone = Window.partitionBy("partition")
        so_far = alone.orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
        joined = F.min(F.when(F.col("max_ts_ms").isNotNull(), F.col("bucket"))).over(alone)
        candidate = watermark.candidate_ms(F.col("max_ts_ms"), source.pipeline)
        reached = steps.select(
            "bucket",
            F.max(candidate).over(so_far).alias("reached_ms"),
            (F.col("declared") | F.coalesce(joined < F.col("bucket"), F.lit(False))).alias("existed"),
        )
        silent = F.max(F.col("existed") & F.col("reached_ms").isNull())
        lowest = F.coalesce(F.min(F.when(F.col("existed"), F.col("reached_ms"))), F.max("reached_ms"))
        highest = reached.groupBy("bucket").agg(F.when(~silent, lowest).alias("highest_ms"))
        # One partition for this window: a row a stretch, not a row an event.
        never_falls = Window.partitionBy(F.lit(0)).orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
        return highest.select("bucket", F.max("highest_ms").over(never_falls).alias(f"ceiling_{number}"))

    return _slowest(buckets, "bucket", [of(*numbered) for numbered in enumerate(inputs.sources)], "ceiling")


def _slowest(points: DataFrame, by: str, sources: list[DataFrame], name: str) -> DataFrame:
    """The least of the sources' values at each point, null where one of them is."""
    beside = reduce(lambda frame, other: frame.join(other, by, "left"), sources, points)
    values = [F.col(f"{name}_{number}") for number in range(len(sources))]
    there = reduce(Column.__and__, [value.isNotNull() for value in values])
    least = values[0] if len(values) == 1 else F.least(*values)
    return beside.select(by, F.when(there, least).alias(f"{name}_ms"))


def _bounded(rows: DataFrame, bounds: DataFrame, name: str) -> DataFrame:
    """`rows` with the bound of their stretch as `_CEILING_MS`."""
    stored = bounds.select(F.col("bucket").alias(_BUCKET), F.col(name).alias(_CEILING_MS)).localCheckpoint()
    return rows.join(F.broadcast(stored) if is_small(stored) else stored, _BUCKET).drop(_BUCKET)


def _may_be_behind() -> Column:
    return lateness.may_be_behind(F.col(c.TS_MS), F.col(_CEILING_MS))


def _of_source(groups: DataFrame, number: int) -> DataFrame:
    return groups.where(F.col("source") == F.lit(number)).drop("source")
