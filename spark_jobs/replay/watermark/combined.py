"""The combined watermark at chosen points of the arrival order.

Law (rules 10, 21-23, 26, 28):

- A partition's watermark is the running maximum of its candidates (`candidates`).
- At an emission, take the minimum over the existing partitions that are not idle (`idleness`). If all are idle, take
  the maximum over all.
- The combined watermark is the running maximum of these values over emissions.

A declared partition exists from the beginning; any other from its first row on. Null stands for MIN.

Where no partition falls idle and rows alone raise watermarks, the combined watermark is read from a `staircase`. It
costs a row a rise and a row a point. Otherwise each point is compared with each partition.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import candidates, emission, timestamps
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import bucket, bucket_of_row, emission_clock_us
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import declared_labels, moves_watermark
from spark_jobs.replay.watermark import idleness, staircase
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS

# The position of a point relative to the rows of its epoch.
_BEFORE, _ROWS, _AFTER = 0, 1, 2
_PARTITION, _BUCKET = c.PREFIX + "rising_partition", c.PREFIX + "rising_bucket"
# Below every candidate.
_MIN = -(2**63)


def partitions(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return all partitions of the groups and all declared ones: `partition, declared, joined`.

    `groups` are the census groups that move the watermark. `joined` is the first epoch of a partition; null for a
    declared partition, which always exists.
    """
    with_rows = first_epochs(groups).withColumn("declared", F.lit(False))
    labels = declared_labels(pipeline)
    if not labels:
        return with_rows
    declared = local_rows(
        groups.sparkSession, [(label, True) for label in labels], "partition string, declared boolean"
    )
    undeclared = with_rows.where(~F.col("partition").isin(labels))
    return undeclared.unionByName(declared, allowMissingColumns=True)


def first_epochs(groups: DataFrame) -> DataFrame:
    """Return the first epoch of each partition that has a group: `partition, joined`."""
    return groups.groupBy("partition").agg(F.min("first_epoch").alias("joined"))


def of_partitions(partition_watermarks: Column) -> Column:
    """Return the column `partition_watermarks` of `combined` as published tables contain it."""
    return F.transform(
        partition_watermarks,
        lambda p: F.struct(
            p.getField("source_partition").alias("source_partition"),
            timestamps.from_millis(p.getField("watermark_ms")).alias("watermark"),
        ),
    )


def points_after(epochs: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Points right after the emission of each `epoch` in `epochs`."""
    return _points(epochs, _AFTER, pipeline)


def points_before(epochs: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Points right before the rows of each `epoch`: their watermark decides whether these rows are late (rule 17)."""
    return _points(epochs, _BEFORE, pipeline)


def turning_points(
    groups: DataFrame,
    rows: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
    ended_by: DataFrame | None = None,
) -> DataFrame:
    """Return every `epoch` whose emission happens and may raise the combined watermark; distinct, unordered.

    `groups` are the census groups that move the watermark, `rows` the prepared rows with epoch that move it. `rows` is
    read only where rows are epochs. The clock ends with the groups `ended_by`, by default `groups`.

    The watermark is raised by

    - candidates; where rows are epochs, candidates above all earlier ones of their partition;
    - partitions that fall idle;
    - every tick, under a time lag.
    """
    if pipeline.watermark.moves_at_every_tick:
        return emission.all_ticks(groups, pipeline, until_us=until_us)
    if axis(pipeline) is Axis.TICKS:
        turns = groups.where(candidates.of_group(pipeline).isNotNull()).select(F.col("bucket").alias("epoch"))
    else:
        turns = _newest_so_far(groups, rows, pipeline)
    if pipeline.watermark.may_fall_idle:
        turns = turns.union(idleness.changes(groups, pipeline).select("epoch"))
    return (
        emission.happened(turns, ["epoch"], groups if ended_by is None else ended_by, pipeline, until_us=until_us)
        .where("epoch is not null")
        .distinct()
    )


def combined(
    points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, listed: int = LISTED_PARTITIONS
) -> DataFrame:
    """Return the combined watermark at `points`.

    `groups` are the census groups that move the watermark, `rows` the prepared rows with epoch that move it. `rows` is
    read only where rows are epochs, and only around the points. Points are right after emissions that happen
    (`emission.happened`) or before rows. A row of the result is a point:

    - `epoch`
    - `watermark_ms`: null for MIN
    - `partition_watermarks`: array of structs `source_partition, watermark_ms`, by label; null for MIN. The array is
      null if more than `listed` partitions exist at the point. The column is absent if `listed` is 0.
    """
    columns = ["epoch", "watermark_ms", *(["partition_watermarks"] if listed else [])]
    if pipeline.watermark.may_fall_idle or pipeline.watermark.follows_clock:
        return _compared(points, groups, rows, pipeline, listed).select(*columns)
    everyone = partitions(groups, pipeline).select("partition", "joined")
    if axis(pipeline) is Axis.TICKS:
        moment, placed = _tick(), everyone
        rises = _rises_of_ticks(points.select(moment.alias("at")), everyone, groups, pipeline)
    else:
        moment = _moment()
        placed = _placed(everyone.withColumnRenamed("joined", "epoch"), pipeline).select(
            "partition", F.when(F.col("epoch").isNotNull(), moment).alias("joined")
        )
        # A step begins right before a join, so rows around joins count too.
        joins = everyone.where("joined is not null").select(F.col("joined").alias("epoch"))
        steps = _rises(points.union(points_before(joins, pipeline)), groups, rows, pipeline)
        rises = steps.select("partition", moment.alias("at"), F.col("candidate_ms").alias("value"))
        if listed:
            # The plan reads the rises twice, but should read the events once.
            rises = rises.localCheckpoint()
    series = F.lit(0).alias("series")
    stairs = staircase.steps(rises.select("*", series), placed, [0])
    at_points = points.select("epoch", moment.alias("at"), series)
    reached = staircase.after(at_points, stairs).select("epoch", "at", F.col("value").alias("watermark_ms"))
    if listed:
        reached = reached.join(_lists(at_points, rises, placed, listed), "at", "left")
    return reached.select(*columns)


def _rises_of_ticks(ends: DataFrame, everyone: DataFrame, groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the highest candidate of each partition between two of `ends` (`at`): `partition, at, value`.

    A join ends a stretch too. Candidates of a stretch come at its end, since no point lies before.
    """
    before_joins = everyone.where("joined is not null").select((F.col("joined") - F.lit(1)).alias("at"))
    all_ends = ends.union(before_joins).distinct().withColumn("end", F.col("at"))
    ticks = groups.select("partition", F.col("bucket").alias("at"), candidates.of_group(pipeline).alias("value"))
    # One partition for this window: a row a group and a row a point, not a row an event.
    newest_first = Window.partitionBy(F.lit(0)).orderBy(F.col("at").desc(), F.col("end").asc_nulls_last())
    end = F.last("end", ignorenulls=True).over(newest_first.rowsBetween(Window.unboundedPreceding, 0))
    placed = ticks.unionByName(all_ends, allowMissingColumns=True).withColumn("end", end)
    until_an_end = placed.where("value is not null and end is not null")
    return until_an_end.groupBy("partition", F.col("end").alias("at")).agg(F.max("value").alias("value"))


def _lists(points: DataFrame, rises: DataFrame, partitions: DataFrame, listed: int) -> DataFrame:
    """Return the watermark of each partition at the points where at most `listed` exist: `at, partition_watermarks`."""
    # One partition for this window: a row a source partition.
    in_order = Window.partitionBy(F.lit(0)).orderBy(F.col("joined").asc_nulls_first())
    numbered = partitions.withColumn("number", F.row_number().over(in_order))
    crowd = numbered.agg(
        F.min(F.when(F.col("number") > listed, F.col("joined"))).alias("crowded"),
        F.count(F.when((F.col("number") > listed) & F.col("joined").isNull(), 1)).alias("excess"),
    )
    few = F.broadcast(numbered.where(F.col("number") <= listed).drop("number"))
    sparse = points.crossJoin(F.broadcast(crowd)).where(
        (F.col("excess") == 0) & (F.col("crowded").isNull() | (F.col("at") < F.col("crowded")))
    )
    probes = sparse.select("at", F.lit(True).alias("is_probe")).crossJoin(few)
    steps = probes.unionByName(rises.join(few.select("partition"), "partition"), allowMissingColumns=True)
    in_order = Window.partitionBy("partition").orderBy("at", F.col("is_probe").asc_nulls_first())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    reached = steps.withColumn("watermark_ms", F.max("value").over(so_far)).where("is_probe")
    exists = F.col("joined").isNull() | (F.col("joined") <= F.col("at"))
    of_partition = F.struct(F.col("partition").alias("source_partition"), "watermark_ms")
    return reached.groupBy("at").agg(
        F.array_sort(F.collect_list(F.when(exists, of_partition))).alias("partition_watermarks")
    )


def _tick() -> Column:
    """Return the tick whose emission is the last before a point."""
    return F.when(F.col("place") == F.lit(_BEFORE), F.col("epoch") - F.lit(1)).otherwise(F.col("epoch"))


def _moment() -> Column:
    """Return `bucket, epoch, place` as one value that compares along the arrival order; a null epoch is the end."""
    return F.struct("bucket", F.col("epoch").isNull().alias("is_end"), "epoch", "place")


def _compared(points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline, listed: int) -> DataFrame:
    """Return `combined` by comparing each point with each partition."""
    all_partitions = partitions(groups, pipeline)
    everyone = all_partitions.select("partition", "declared")
    joins = all_partitions.where("joined is not null").select("partition", F.col("joined").alias("epoch"))
    falls = joins.select("epoch")
    if pipeline.watermark.may_fall_idle:
        changes = idleness.changes(groups, pipeline)
        falls = falls.union(changes.where(~F.col("is_idle")).select("epoch"))
    # The minimum falls only when a partition joins or becomes active again. The emission before that is a point too, so
    # that its minimum stays in the running maximum (rule 23).
    every_point = points.withColumn("is_requested", F.lit(True)).union(
        points_before(falls.distinct(), pipeline).withColumn("is_requested", F.lit(False))
    )
    if pipeline.watermark.follows_clock:
        every_point = _with_now(every_point, groups, rows, pipeline)
    steps = every_point.crossJoin(F.broadcast(everyone)).withColumn("candidate_ms", F.lit(None).cast("long"))
    if not pipeline.watermark.follows_clock:
        steps = steps.unionByName(_rises(every_point, groups, rows, pipeline), allowMissingColumns=True)
    if pipeline.watermark.may_fall_idle:
        steps = steps.unionByName(_placed(changes, pipeline), allowMissingColumns=True)
    if _joins_silently(pipeline):
        joined = _placed(joins.withColumn("joined", F.lit(True)), pipeline)
        steps = steps.unionByName(joined, allowMissingColumns=True)
    in_order = (
        Window.partitionBy("partition")
        .orderBy("bucket", F.col("epoch").asc_nulls_last(), "place")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    reached = (
        steps.withColumns(_state(in_order, pipeline))
        .withColumnRenamed("partition", "source_partition")
        .where("is_requested is not null")
    )
    minimum = reached.groupBy("bucket", "epoch", "place").agg(
        _minimum(pipeline).alias("minimum_ms"),
        F.array_sort(F.collect_list(F.when(F.col("exists"), F.struct("source_partition", "watermark_ms")))).alias(
            "partition_watermarks"
        ),
        F.max("is_requested").alias("is_requested"),
    )
    # One partition for this window: a row a point, not a row an event.
    so_far = Window.partitionBy(F.lit(0)).orderBy("bucket", "epoch", "place").rowsBetween(Window.unboundedPreceding, 0)
    return (
        minimum.withColumn("watermark_ms", F.max("minimum_ms").over(so_far))
        .where("is_requested")
        .select("epoch", "watermark_ms", listed_only("partition_watermarks", listed))
    )


def listed_only(name: str, listed: int = LISTED_PARTITIONS) -> Column:
    """Return the column `name`, an array of partitions, with null for an array of more than `listed`."""
    return F.when(F.size(name) <= listed, F.col(name)).alias(name)


def _newest_so_far(groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the `epoch` of each row whose candidate exceeds all earlier candidates of its partition."""
    in_order = Window.partitionBy("partition").orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    highest = groups.groupBy("partition", "bucket").agg(F.max(candidates.of_group(pipeline)).alias("candidate_ms"))
    earlier = highest.select("partition", "bucket", F.max("candidate_ms").over(in_order).alias("before_ms"))
    placed = rows.select(
        F.col(c.PARTITION).alias("partition"),
        bucket(F.col(c.EPOCH), pipeline).alias("bucket"),
        F.col(c.EPOCH).alias("epoch"),
        candidates.of_row(pipeline).alias("candidate_ms"),
    ).where("candidate_ms is not null")
    newer = placed.join(earlier, ["partition", "bucket"]).where("before_ms is null or candidate_ms > before_ms")
    within = Window.partitionBy("partition", "bucket").orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    newest = newer.withColumn("newest_ms", F.max("candidate_ms").over(within))
    return newest.where("newest_ms is null or candidate_ms > newest_ms").select("epoch")


def _state(in_order: WindowSpec, pipeline: Pipeline) -> dict[str, Column]:
    """Return the state of each step's partition: `watermark_ms`, `exists`, and `is_idle` if it can fall idle."""
    reached = F.max("candidate_ms").over(in_order)
    # A partition with a row has a watermark after its first emission, unless its rows may carry none.
    exists = F.max("joined").over(in_order).isNotNull() if _joins_silently(pipeline) else reached.isNotNull()
    state = {"watermark_ms": reached, "exists": F.col("declared") | exists}
    if pipeline.watermark.may_fall_idle:
        state["is_idle"] = F.coalesce(F.last("is_idle", ignorenulls=True).over(in_order), F.lit(False))
    if pipeline.watermark.follows_clock:
        now = F.col("now_ms")
        may_fall_idle = pipeline.watermark.may_fall_idle
        state["watermark_ms"] = F.when(state["is_idle"], reached).otherwise(now) if may_fall_idle else now
    return state


def _minimum(pipeline: Pipeline) -> Column:
    """The minimum over the partitions at a point, an aggregate of `_state`."""
    counts = F.col("exists")
    if pipeline.watermark.may_fall_idle:
        counts = counts & ~F.col("is_idle")
    holds = F.max(counts & F.col("watermark_ms").isNull())
    minimum = F.when(~holds, F.min(F.when(counts, F.col("watermark_ms"))))
    if not pipeline.watermark.may_fall_idle:
        return minimum
    return F.when(F.max(counts), minimum).otherwise(F.max(F.when(F.col("exists"), F.col("watermark_ms"))))


def _joins_silently(pipeline: Pipeline) -> bool:
    """Return whether an undeclared partition can exist without a candidate."""
    return candidates.carries(pipeline) or pipeline.watermark.follows_clock or pipeline.watermark.is_absent


def _points(epochs: DataFrame, place: int, pipeline: Pipeline) -> DataFrame:
    return epochs.select(bucket(F.col("epoch"), pipeline).alias("bucket"), "epoch", F.lit(place).alias("place"))


def _placed(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `events`, which happen in an `epoch`, as steps among the rows of their epochs."""
    return events.withColumns({"bucket": bucket(F.col("epoch"), pipeline), "place": F.lit(_ROWS)})


def _with_now(points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return points with `now_ms`: the last watermark of all active partitions under a time lag; or null."""
    if pipeline.watermark.moves_at_every_tick:
        first = F.broadcast(groups.agg(F.min("bucket").alias("first")))
        tick = F.when(F.col("place") == _AFTER, F.col("epoch")).otherwise(F.col("epoch") - F.lit(1))
        now = candidates.lagging_ms(emission_clock_us(tick, pipeline), pipeline)
        return points.crossJoin(first).withColumn("now_ms", F.when(tick >= F.col("first"), now)).drop("first")
    steps = points.unionByName(_rises(points, groups, rows, pipeline), allowMissingColumns=True)
    in_order = (
        Window.partitionBy(F.lit(0))
        .orderBy("bucket", F.col("epoch").asc_nulls_last(), "place")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    with_now = steps.withColumn("now_ms", F.max("candidate_ms").over(in_order)).where("is_requested is not null")
    return with_now.drop("partition", "candidate_ms")


def _rises(points: DataFrame, groups: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return candidates as steps: a row for each epoch and partition.

    Where rows are epochs: a row for each bucket, after its rows, and single rows of the buckets that have a point. Only
    candidates above all earlier buckets of their partition are returned, since no other candidate is a rise.
    """
    per_bucket = groups.groupBy("partition", "bucket").agg(F.max(candidates.of_group(pipeline)).alias("candidate_ms"))
    place = F.lit(_ROWS).alias("place")
    if axis(pipeline) is Axis.TICKS:
        return per_bucket.select("partition", "bucket", F.col("bucket").alias("epoch"), place, "candidate_ms")
    earlier = Window.partitionBy("partition").orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    highest_before = F.coalesce(F.max("candidate_ms").over(earlier), F.lit(_MIN))
    rising = per_bucket.withColumn("before_ms", highest_before).where("candidate_ms > before_ms").localCheckpoint()
    looked_up = rising.join(points.select("bucket").distinct(), "bucket", "left_semi")
    above = looked_up.select(F.col("partition").alias(_PARTITION), F.col("bucket").alias(_BUCKET), "before_ms")
    above = above.localCheckpoint()
    # A broadcast avoids a shuffle of all rows, and a semi-join positions of rows that are no rise.
    candidate = candidates.of_row(pipeline)
    is_rise = (
        (F.col(c.PARTITION) == F.col(_PARTITION))
        & (bucket_of_row(pipeline) == F.col(_BUCKET))
        & (candidate > F.col("before_ms"))
    )
    few = F.broadcast(above) if is_small(above) else above
    single = (
        rows.where(moves_watermark(pipeline))
        .join(few, is_rise, "left_semi")
        .select(
            F.col(c.PARTITION).alias("partition"),
            bucket_of_row(pipeline).alias("bucket"),
            F.col(c.EPOCH).alias("epoch"),
            place,
            candidate.alias("candidate_ms"),
        )
    )
    return single.unionByName(rising.select("partition", "bucket", place, "candidate_ms"), allowMissingColumns=True)
