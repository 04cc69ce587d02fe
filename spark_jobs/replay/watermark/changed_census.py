"""The census after a change of rows, from the census before it: only groups with a changed row are counted again.

Law: a group of the census depends on the rows with its key alone. So the groups of no changed row stay, and all others
are counted from the rows after the change. Where epochs are ticks of the clock, files without such rows are skipped.

Rows that do not move the watermark have no place in the arrival order, and may be anywhere. Of their groups only the
number of rows has a meaning, which the changes give.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.replay.replacement import Replacement, with_keys
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark.census import census, group_names

#: The column of changed rows with the number by which each row has become more, or less.
CHANGE = c.PREFIX + "change"
_REPEAT, _SIDE = c.PREFIX + "repeat", c.PREFIX + "side"


@dataclass(frozen=True)
class Recounted:
    """The census after a change of rows, as a replacement of groups of the census `before` it.

    `is_same`: each group with a place has the same rows and times before and after the change. Then all watermarks are
    the same too, and so is the calendar.
    """

    before: DataFrame
    groups: Replacement
    is_same: bool

    @property
    def census(self) -> DataFrame:
        """The census after the change."""
        return self.groups.of(self.before)


def can_recount(pipeline: Pipeline) -> bool:
    """Return whether `recounted` saves reading: one source, in order of arrival, with ticks of the clock as epochs."""
    is_ticks = axis(pipeline) is Axis.TICKS and not arrival_order.is_numbered(pipeline)
    return is_ticks and not pipeline.sources and pipeline.replay.order is Order.ARRIVAL


def recounted(
    before: DataFrame,
    changed: DataFrame,
    events: DataFrame,
    pipeline: Pipeline,
    measures: Mapping[str, Column] | None = None,
) -> Recounted:
    """Return the census of `events`, the source's rows after the change; `before` is the census before it.

    `changed` are the prepared rows that were added or taken away, each with `CHANGE`. Only for pipelines that
    `can_recount`. `measures` are as in `census`.
    """
    placed = arrival_order.with_epoch(changed, pipeline)
    counted = census(placed, pipeline).where("bucket is not null").select(*group_names(pipeline, placed)).distinct()
    touched = counted.localCheckpoint()
    rows = arrival_order.with_epoch(prepare(_reaching(events, touched, pipeline), pipeline), pipeline)
    near = rows.where(F.col(c.EPOCH).isNotNull() & F.col(c.CLOCK_US).isNotNull())
    again = with_keys(census(near, pipeline, measures).where("bucket is not null"), touched).localCheckpoint()
    # Groups without a place are few, and all are replaced.
    unplaced = before.where("bucket is null").localCheckpoint()
    keys = touched.union(unplaced.select(*touched.columns)).localCheckpoint()
    now = again.unionByName(_with_changes(unplaced, placed, pipeline, measures)).localCheckpoint()
    is_same = _are_equal(with_keys(before, touched), again, measures or {})
    return Recounted(before, Replacement(keys, now), is_same=is_same)


def _are_equal(groups: DataFrame, other: DataFrame, measures: Collection[str]) -> bool:
    """Return whether two tables have the same groups, whatever the measures of their values."""
    names = [name for name in other.columns if name not in measures]
    sides = (rows.select(*names, F.lit(side).alias(_SIDE)) for rows, side in ((groups, 1), (other, -1)))
    return (
        reduce(DataFrame.union, sides).groupBy(*names).agg(F.sum(_SIDE).alias(_SIDE)).where(f"{_SIDE} != 0").isEmpty()
    )


def _with_changes(
    unplaced: DataFrame, changed: DataFrame, pipeline: Pipeline, measures: Mapping[str, Column] | None
) -> DataFrame:
    """Return the groups without a place with other numbers of rows, as `changed` changes them."""
    names = group_names(pipeline, changed)
    weighed = changed.withColumn(c.COPY, F.abs(F.col(CHANGE)))
    parts = []
    for sign in (1, -1):
        of_sign = weighed.where(F.signum(F.col(CHANGE)) == sign)
        repeats = F.explode(F.array_repeat(F.lit(0), F.col(c.COPY).cast("int"))).alias(_REPEAT)
        each = of_sign.select("*", repeats).drop(_REPEAT, c.COPY)
        moved = census(each, pipeline, measures).where("bucket is null")
        parts.append(moved.withColumn("row_count", F.col("row_count") * F.lit(sign)))
    every = reduce(DataFrame.unionByName, [unplaced, *parts])
    highest = [F.max(name).alias(name) for name in every.columns if name not in (*names, "row_count")]
    summed = every.groupBy(*names).agg(F.sum("row_count").alias("row_count"), *highest).where("row_count > 0")
    return summed.select(*unplaced.columns)


def _reaching(events: DataFrame, touched: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the source rows among which are all of the touched groups; Delta skips files by their arrival times."""
    field = pipeline.source.arrival_time
    kinds = {f.name: f.dataType for f in events.schema}
    if field is None or not isinstance(kinds.get(field.expression), T.TimestampType):
        return events
    span = touched.agg(F.min("bucket").alias("first"), F.max("bucket").alias("last")).collect()[0]
    if span["first"] is None:
        return events.limit(0)
    first_us, last_us = (
        arrival_order.emission_clock_us(F.lit(bucket).cast("long"), pipeline)
        for bucket in (span["first"] - 1, span["last"])
    )
    arrived = F.col(quoted(field.expression))
    return events.where((arrived >= F.timestamp_micros(first_us)) & (arrived < F.timestamp_micros(last_us)))
