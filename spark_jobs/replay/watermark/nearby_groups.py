"""Nearby groups: of a census, what the watermarks in a range of the arrival order follow from, which is little.

Law: once all partitions have joined, the combined watermark is the minimum of the partitions' watermarks. So only the
highest candidate of each partition matters to later emissions. With J the last bucket before the range in which a
partition joins,

    groups up to J                        stay
    groups after J, before the range      become an empty group of each partition, right before the range
    groups of the range                   stay, and so do groups without a place
    groups after the range                become an empty group of each partition, at its last bucket

and all watermarks at emissions of the range stay the same, and so does the end of the input.

The law needs ticks of the clock, and watermarks that rows alone raise (`has_nearby_groups`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark.census import with_cells


@dataclass(frozen=True)
class Range:
    """The buckets from `first` to `last`, both included; None is without bound."""

    first: int | None
    last: int | None

    def holds(self, bucket: Column) -> Column:
        """Return whether a bucket is in the range; null is later than all."""
        is_in = F.lit(True)
        if self.first is not None:
            is_in = is_in & (bucket.isNull() | (bucket >= F.lit(self.first)))
        if self.last is not None:
            is_in = is_in & F.coalesce(bucket <= F.lit(self.last), F.lit(False))
        return is_in


def has_nearby_groups(pipeline: Pipeline) -> bool:
    """Return whether the law holds: one source, ticks of the clock, and watermarks that rows alone raise."""
    rule = pipeline.watermark
    moves_otherwise = rule.is_custom or rule.may_fall_idle or rule.follows_clock
    in_order = not pipeline.sources and not pipeline.replay.in_rounds
    return axis(pipeline) is Axis.TICKS and in_order and not moves_otherwise


def nearby_groups(groups: DataFrame, near: Range, pipeline: Pipeline) -> DataFrame:
    """Return the groups of a census that stay, and the empty groups.

    An empty group has no rows, slice or window, and the highest times of the groups that it replaces.
    """
    bucket = F.col("bucket")
    beyond = []
    if near.first is not None and (joined := _last_join(groups, near.first)) is not None:
        beyond.append(((bucket > F.lit(joined)) & (bucket < F.lit(near.first)), F.lit(near.first - 1)))
    if near.last is not None:
        beyond.append((bucket > F.lit(near.last), F.max("bucket")))
    if not beyond:
        return groups
    stays = ~F.coalesce(reduce(Column.__or__, (condition for condition, _ in beyond)), F.lit(False))
    empty = (_empty(groups.where(condition), place, pipeline) for condition, place in beyond)
    joined_by_name = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), empty)
    return groups.where(stays).unionByName(joined_by_name, allowMissingColumns=True)


def _last_join(groups: DataFrame, first: int) -> int | None:
    """Return the last bucket before `first` in which a partition joins."""
    joins = groups.where(F.col("bucket") < F.lit(first)).groupBy("partition").agg(F.min("bucket").alias("joined"))
    joined: int | None = joins.agg(F.max("joined").alias("joined")).collect()[0].joined
    return joined


def _empty(groups: DataFrame, place: Column, pipeline: Pipeline) -> DataFrame:
    """Return one empty group of each partition, in the bucket `place`."""
    names = ["max_ts_ms", "last_clock_us", *(["candidate_ms"] if "candidate_ms" in groups.columns else [])]
    highest = groups.groupBy("partition").agg(place.alias("bucket"), *(F.max(name).alias(name) for name in names))
    nothing = F.lit(None).cast("long")
    columns = {
        "reason": F.lit(None).cast("string"),
        "kept": F.lit(True),
        "first_epoch": F.col("bucket"),
        "slice_ms": nothing,
        "window_ms": nothing,
        "row_count": F.lit(0).cast("long"),
    }
    return with_cells(highest.withColumns(columns), pipeline)
