"""Watermarks on columns: the candidate of a row, and the combined watermark at chosen points of the arrival order.

Law: `c(row) = ts - B - 1`; a partition's watermark is the running maximum of its candidates; the combined watermark is
the running maximum, over emissions, of the minimum over the partitions that exist at that emission (rules 10, 21, 23,
26). A declared partition exists from the beginning; another from its first row on. Null stands for MIN.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind, Pipeline
from spark_jobs.replay import columns as c
from spark_jobs.replay.arrival_order import bucket, every
from spark_jobs.replay.events import moves_watermark

# Where a point stands among the rows of its epoch.
_BEFORE, _ROWS, _AFTER = 0, 1, 2


def candidate_ms(ts_ms: Column, pipeline: Pipeline) -> Column:
    """What a row with event time `ts_ms` proposes as its partition's watermark (rules 10 and 11)."""
    return ts_ms - F.lit(pipeline.watermark.out_of_orderness_ms + 1)


def declared_labels(pipeline: Pipeline) -> list[str]:
    """Labels of the partitions that exist from the beginning, as `events.partition_label` writes them."""
    return ["|".join("null" if v is None else str(v) for v in values) for values in declared_values(pipeline)]


def declared_values(pipeline: Pipeline) -> tuple[tuple[object, ...], ...]:
    """Values of the partitions that exist from the beginning."""
    return pipeline.source.source_partition.declared


def partitions(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """All partitions of the moving census groups and all declared ones: `partition, declared`."""
    spoken = groups.select("partition").distinct()
    labels = declared_labels(pipeline)
    if not labels:
        return spoken.withColumn("declared", F.lit(False))
    declared = groups.sparkSession.createDataFrame([(label,) for label in labels], "partition string")
    return spoken.union(declared).distinct().withColumn("declared", F.col("partition").isin(labels))


def turning_points(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, until_us: int | None) -> DataFrame:
    """The emissions at which the combined watermark may rise: `epoch`, a row each, distinct.

    `groups` are the census groups that move the watermark, `rows` the prepared rows with epoch that do. Emissions that
    do not happen before the input ends are left out (B3); `until_us` is how far the clock is known to have gone. For
    per-event emission they are the rows that are newer than all before them in their partition.
    """
    emit = pipeline.watermark.emit
    if emit.kind is EmitKind.PER_EVENT:
        return _newest_so_far(groups, rows, pipeline).select(F.col(c.EPOCH).alias("epoch")).distinct()
    if emit.kind is EmitKind.EVERY_N:
        last = groups.agg((F.call_function("div", F.sum("row_count"), F.lit(emit.n)) - F.lit(1)).alias("last_emitted"))
    else:
        # No tick follows the last row, unless the clock is known to have gone on.
        until = F.lit(None).cast("long") if until_us is None else every(F.lit(until_us), pipeline)
        last = groups.agg((F.greatest(F.max("bucket"), until) - F.lit(1)).alias("last_emitted"))
    epochs = groups.select(F.col("bucket").alias("epoch")).distinct()
    return epochs.join(F.broadcast(last), F.col("epoch") <= F.col("last_emitted")).select("epoch")


def _newest_so_far(groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The rows that raise their partition's watermark: newer than the stretches before, and than all in their own."""
    in_order = Window.partitionBy("partition").orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    stretches = groups.groupBy("partition", "bucket").agg(F.max("max_ts_ms").alias("max_ts_ms"))
    earlier = stretches.select("partition", "bucket", F.max("max_ts_ms").over(in_order).alias("before_ms"))
    placed = rows.select(
        F.col(c.PARTITION).alias("partition"), bucket(F.col(c.EPOCH), pipeline).alias("bucket"), c.EPOCH, c.TS_MS
    )
    within = Window.partitionBy("partition", "bucket").orderBy(c.EPOCH).rowsBetween(Window.unboundedPreceding, -1)
    newer = placed.join(earlier, ["partition", "bucket"]).where(
        F.col("before_ms").isNull() | (F.col(c.TS_MS) > F.col("before_ms"))
    )
    newest = newer.withColumn("newest_ms", F.max(c.TS_MS).over(within))
    return newest.where(F.col("newest_ms").isNull() | (F.col(c.TS_MS) > F.col("newest_ms")))


def points_after(epochs: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Points right after the emission of each `epoch` in `epochs`."""
    return _points(epochs, _AFTER, pipeline)


def points_before(epochs: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Points right before the rows of each `epoch`: what those rows are judged by (rule 17)."""
    return _points(epochs, _BEFORE, pipeline)


def combined(points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The combined watermark at `points`.

    `groups` are the census groups that move the watermark, `rows` the prepared rows with epoch (read only for per-event
    emission, and only around the points). A row of the result is a point: `epoch`, `watermark_ms` (null: MIN),
    `partition_watermarks` (array of structs `source_partition, watermark_ms`, by label).
    """
    everyone = partitions(groups, pipeline)
    joins = groups.groupBy("partition").agg(F.min("first_epoch").alias("epoch")).select("epoch").distinct()
    # The minimum can fall only when a partition joins: the emission before that must not be forgotten (rule 23).
    asked = points.withColumn("asked", F.lit(True)).union(
        points_before(joins, pipeline).withColumn("asked", F.lit(False))
    )
    steps = asked.crossJoin(F.broadcast(everyone)).select(
        "partition", "declared", "bucket", "epoch", "place", "asked", F.lit(None).cast("long").alias("candidate_ms")
    )
    steps = steps.unionByName(_rises(asked, groups, rows, pipeline), allowMissingColumns=True)
    in_order = (
        Window.partitionBy("partition")
        .orderBy("bucket", F.col("epoch").asc_nulls_last(), "place")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    reached = (
        steps.withColumn("watermark_ms", F.max("candidate_ms").over(in_order))
        .withColumnRenamed("partition", "source_partition")
        .where("asked is not null")
    )
    # An undeclared partition exists from its first row on, which gives it a watermark.
    exists = F.col("declared") | F.col("watermark_ms").isNotNull()
    holds = F.max(F.col("declared") & F.col("watermark_ms").isNull())
    minimum = reached.groupBy("bucket", "epoch", "place").agg(
        F.when(~holds, F.min("watermark_ms")).alias("minimum_ms"),
        F.array_sort(F.collect_list(F.when(exists, F.struct("source_partition", "watermark_ms")))).alias(
            "partition_watermarks"
        ),
        F.max("asked").alias("asked"),
    )
    # One partition for this window: a row a point, not a row an event.
    so_far = Window.partitionBy(F.lit(0)).orderBy("bucket", "epoch", "place").rowsBetween(Window.unboundedPreceding, 0)
    return (
        minimum.withColumn("watermark_ms", F.max("minimum_ms").over(so_far))
        .where("asked")
        .select("epoch", "watermark_ms", "partition_watermarks")
    )


def _points(epochs: DataFrame, place: int, pipeline: Pipeline) -> DataFrame:
    return epochs.select(bucket(F.col("epoch"), pipeline).alias("bucket"), "epoch", F.lit(place).alias("place"))


def _rises(points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Candidates in their places: a row an epoch and partition.

    For per-event emission a row a stretch of the clock, placed behind its rows, and the single rows of the stretches
    that hold a point.
    """
    highest = candidate_ms(F.max("max_ts_ms"), pipeline).alias("candidate_ms")
    per_bucket = groups.groupBy("partition", "bucket").agg(highest)
    if pipeline.watermark.emit.kind is not EmitKind.PER_EVENT:
        return per_bucket.select(
            "partition", "bucket", F.col("bucket").alias("epoch"), F.lit(_ROWS).alias("place"), "candidate_ms"
        )
    behind = per_bucket.withColumn("place", F.lit(_ROWS))
    asked = points.select("bucket").distinct()
    single = rows.where(moves_watermark(pipeline)).select(
        F.col(c.PARTITION).alias("partition"),
        bucket(F.col(c.EPOCH), pipeline).alias("bucket"),
        F.col(c.EPOCH).alias("epoch"),
        F.lit(_ROWS).alias("place"),
        candidate_ms(F.col(c.TS_MS), pipeline).alias("candidate_ms"),
    )
    return single.join(asked, "bucket", "left_semi").unionByName(behind, allowMissingColumns=True)
