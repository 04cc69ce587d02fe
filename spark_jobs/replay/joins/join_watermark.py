"""The watermark of a join: the minimum over the combined watermarks of its sources.

    W = min over the sources s of C_s, MIN (null) while one of them has none        (rules 21, 39)

A join by interval needs W only to decide whether a row is late. So W is computed only for rows that may be late. Their
ts is at most an upper bound of W in their stretch of the arrival order. If an emission ends the stretch, the bound is
W. With per-event emission the bound is computed from the watermarks at the end of the stretch (`ceilings`).

If a source may be idle or has a custom generator, W is no such minimum. The same holds if one source emits at rows and
the other at ticks. W is then read from the advances of the united sources (`union`). The bound is W after the stretch.
An as-of join reads all advances: they emit its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.joins.inputs import SIDE, Inputs, SourceRows, pipelines_of
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import bucket
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import combined, timeline, union
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.replay.windows import lateness
from spark_jobs.semantics.watermark.union import Reader
from spark_jobs.semantics.watermark.union import inputs as both_inputs

#: An upper bound of the watermark before a row: that of its stretch; null: MIN.
CEILING_MS = c.PREFIX + "ceiling_ms"
_BUCKET = c.PREFIX + "bucket"


def summary(inputs: Inputs) -> DataFrame:
    """Return `inputs.rows` aggregated by source, partition and stretch of the arrival order.

    A row is a group: `source` (its index in `inputs.sources`; `SOURCE` if the sources are united), and the columns of
    the census without windows. The result is read several times and should be stored.
    """
    source = F.lit(0) if len(inputs.sources) == 1 else F.col(SIDE)
    stretch = bucket(F.col(c.EPOCH), inputs.together)
    grouped = inputs.rows.groupBy(
        source.alias(c.SOURCE if inputs.are_united else "source"),
        F.col(c.PARTITION).alias("partition"),
        stretch.alias("bucket"),
    )
    highest = {"max_ts_ms": F.max(c.TS_MS), "last_clock_us": F.max(c.CLOCK_US)}
    if any(candidates.carries(pipeline) for pipeline in inputs.pipelines):
        highest["candidate_ms"] = F.max(c.CANDIDATE_MS)
    return grouped.agg(
        F.min(c.EPOCH).alias("first_epoch"),
        *(column.alias(name) for name, column in highest.items()),
        F.count("*").alias("row_count"),
    )


def reads_advances(joining: JoiningPipeline) -> bool:
    """Return whether the watermark of a join is read from the advances of its united sources."""
    alone = pipelines_of(joining, Windows())
    if any(of.watermark.idle_timeout_ms is not None or of.watermark.is_custom for of in alone):
        return True
    return len({axis(pipeline) for pipeline in alone}) > 1


def advances(inputs: Inputs, groups: DataFrame, reader: Reader, *, until_us: int | None = None) -> DataFrame:
    """Return the advances of the watermark of united sources (`union.advances`); `reader` makes their channels.

    `groups` are the census groups of `inputs.rows`, with `SOURCE`.
    """
    return union.advances(groups, inputs.rows, inputs.together, until_us=until_us, own=inputs.own, reader=reader)


def before(epochs: DataFrame, groups: DataFrame, inputs: Inputs) -> DataFrame:
    """Return the watermark before the rows of each of `epochs` (`epoch`): `epoch, watermark_ms` (null: MIN).

    `groups` is `summary`, or the censuses of the sources with their index as `source`.
    """
    return _at(epochs, combined.points_before, groups, inputs)


def after(epochs: DataFrame, groups: DataFrame, inputs: Inputs) -> DataFrame:
    """Return the watermark after the emission of each of `epochs`, likewise."""
    return _at(epochs, combined.points_after, groups, inputs)


def of_source(groups: DataFrame, number: int) -> DataFrame:
    """Return the groups of one source."""
    return groups.where(F.col("source") == F.lit(number)).drop("source")


@dataclass(frozen=True)
class Judged:
    """The rows that may join, in two parts: rows that are certainly on time, and rows that may be late.

    - `ahead`: the event time is above `CEILING_MS`
    - `near`: all other rows, stored, with `WATERMARK_MS`, the watermark before the row (null: MIN)
    """

    ahead: DataFrame
    near: DataFrame


def judged(inputs: Inputs, groups: DataFrame, store: Store) -> Judged:
    """Return the rows of `inputs.rows` that `where` keeps, in two parts; `groups` is the stored `summary`."""
    if inputs.are_united:
        risen = store.keep("advances", lambda: advances(inputs, groups, both_inputs))
        return judged_by(risen, inputs, groups, store)
    rows = inputs.rows.where(c.KEPT).withColumn(_BUCKET, bucket(F.col(c.EPOCH), inputs.together))
    if timeline.is_exact_by_row(inputs.together):
        epochs = groups.select(F.col("bucket").alias("epoch")).distinct()
        bounds = before(epochs, groups, inputs).withColumnRenamed("epoch", "bucket")
    else:
        bounds = ceilings(groups, inputs)
    bounded = _bounded(rows, bounds, store)
    return _parted(bounded, lambda epochs: before(epochs, groups, inputs), inputs.together, store)


def judged_by(risen: DataFrame, inputs: Inputs, groups: DataFrame, store: Store) -> Judged:
    """Return `judged` for united sources; `risen` are the stored `advances`."""
    rows = inputs.rows.where(c.KEPT).withColumn(_BUCKET, bucket(F.col(c.EPOCH), inputs.together))
    return _parted(
        _bounded(rows, timeline.before(groups, risen, inputs.together), store),
        lambda epochs: timeline.watermark_before(epochs, risen),
        inputs.together,
        store,
    )


def _parted(bounded: DataFrame, before: Callable[[DataFrame], DataFrame], together: Pipeline, store: Store) -> Judged:
    """Return `bounded` rows in two parts; `before` returns the watermark before single rows."""
    suspects = bounded.where(_may_be_behind())
    if timeline.is_exact_by_row(together):
        near = suspects.withColumnRenamed(CEILING_MS, c.WATERMARK_MS)
        return Judged(_ahead(bounded), store.keep("near", lambda: near))
    suspects = store.keep("suspects", lambda: suspects.drop(CEILING_MS))
    watermarks = before(suspects.select(F.col(c.EPOCH).alias("epoch")).distinct())
    exact = watermarks.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))
    return Judged(_ahead(bounded), store.keep("near", lambda: suspects.join(exact, c.EPOCH)))


def ceilings(groups: DataFrame, inputs: Inputs) -> DataFrame:
    """Return upper bounds of the watermark before each row of a stretch: `bucket, ceiling_ms` (null: MIN).

    At the end of a stretch, the combined watermark of a source is at most the minimum over the partitions that existed
    before the stretch. If all of its partitions join within the stretch, it is at most their maximum. It never falls.
    """
    buckets = groups.select("bucket").distinct()

    def of(number: int, source: SourceRows) -> DataFrame:
        own = _moving(groups, number, source)
        # Under a time lag every row moves all partitions alike.
        streams = own.withColumn("partition", F.lit("")) if _lags(source) else own
        with_rows = streams.groupBy("partition", "bucket").agg(
            F.max(candidates.of_group(source.pipeline)).alias("candidate_ms"), F.lit(True).alias("has_rows")
        )
        single = streams.select("partition", F.lit(False).alias("declared")).distinct()
        declared = combined.partitions(own, source.pipeline).select("partition", "declared")
        everyone = single if _lags(source) else declared
        steps = buckets.crossJoin(F.broadcast(everyone)).join(with_rows, ["partition", "bucket"], "left")
        alone = Window.partitionBy("partition")
        so_far = alone.orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
        joined = F.min(F.when(F.col("has_rows"), F.col("bucket"))).over(alone)
        reached = steps.select(
            "bucket",
            F.max("candidate_ms").over(so_far).alias("reached_ms"),
            (F.col("declared") | F.coalesce(joined < F.col("bucket"), F.lit(False))).alias("existed"),
        )
        silent = F.max(F.col("existed") & F.col("reached_ms").isNull())
        lowest = F.coalesce(F.min(F.when(F.col("existed"), F.col("reached_ms"))), F.max("reached_ms"))
        highest = reached.groupBy("bucket").agg(F.when(~silent, lowest).alias("highest_ms"))
        # One partition for this window: a row a stretch, not a row an event.
        never_falls = Window.partitionBy(F.lit(0)).orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
        return highest.select("bucket", F.max("highest_ms").over(never_falls).alias(f"ceiling_{number}"))

    return _slowest(buckets, "bucket", [of(*numbered) for numbered in enumerate(inputs.sources)], "ceiling")


def _moving(groups: DataFrame, number: int, source: SourceRows) -> DataFrame:
    """Return the groups that move a source's watermark: its groups, or under a time lag all groups."""
    return groups if _lags(source) else of_source(groups, number)


def _lags(source: SourceRows) -> bool:
    return source.pipeline.watermark.follows_clock


def _at(
    epochs: DataFrame, points: Callable[[DataFrame, Pipeline], DataFrame], groups: DataFrame, inputs: Inputs
) -> DataFrame:
    near = _around(epochs, groups, inputs)

    def of(number: int, source: SourceRows) -> DataFrame:
        rows = near if _lags(source) else near.where(source.of)
        at = points(epochs, source.pipeline)
        reached = combined.combined(at, _moving(groups, number, source), rows, source.pipeline, listed=0)
        return reached.select("epoch", F.col("watermark_ms").alias(f"watermark_{number}"))

    return _slowest(epochs, "epoch", [of(*numbered) for numbered in enumerate(inputs.sources)], "watermark")


def _around(epochs: DataFrame, groups: DataFrame, inputs: Inputs) -> DataFrame:
    """Return the rows of the stretches of `epochs` where rows are epochs; otherwise all rows, which are not read.

    Also the rows of stretches in which a partition joins: `combined.combined` needs the watermark right before.
    """
    pipeline = inputs.pipelines[0]
    if axis(pipeline) is Axis.TICKS:
        return inputs.rows
    joins = groups.groupBy("source", "partition").agg(F.min("first_epoch").alias("epoch")).select("epoch")
    looked_at = epochs.union(joins).select(bucket(F.col("epoch"), pipeline).alias(_BUCKET))
    stretches = looked_at.distinct().localCheckpoint()
    # A broadcast avoids a shuffle of all rows.
    few = F.broadcast(stretches) if is_small(stretches) else stretches
    rows = inputs.rows.withColumn(_BUCKET, bucket(F.col(c.EPOCH), pipeline))
    return rows.join(few, _BUCKET, "left_semi").drop(_BUCKET)


def _slowest(points: DataFrame, by: str, sources: list[DataFrame], name: str) -> DataFrame:
    """Return the least of the sources' values at each point; null if one of them is null."""
    beside = reduce(lambda frame, other: frame.join(other, by, "left"), sources, points)
    values = [F.col(f"{name}_{number}") for number in range(len(sources))]
    all_exist = reduce(Column.__and__, [value.isNotNull() for value in values])
    least = values[0] if len(values) == 1 else F.least(*values)
    return beside.select(by, F.when(all_exist, least).alias(f"{name}_ms"))


def _bounded(rows: DataFrame, bounds: DataFrame, store: Store) -> DataFrame:
    """Return `rows` with the bound of their stretch as `CEILING_MS`; `bounds` has `bucket` and the bound."""
    stored = store.keep("bounds", lambda: bounds.toDF(_BUCKET, CEILING_MS))
    return rows.join(F.broadcast(stored) if is_small(stored) else stored, _BUCKET).drop(_BUCKET)


def _ahead(bounded: DataFrame) -> DataFrame:
    return bounded.where(~_may_be_behind())


def _may_be_behind() -> Column:
    return lateness.may_be_behind(F.col(c.TS_MS), F.col(CEILING_MS))
