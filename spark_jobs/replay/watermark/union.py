"""The union of sources: each source has its own watermark; rows have one order, and the watermark is the minimum.

    position    (clock, number of the source, position in the source)
    W           the minimum over the sources s of C_s, MIN (null) while one of them has none        (rules 21, 35)

with C_s the combined watermark of the partitions of s (`combined`). At an emission the sources emit one after the
other, in the order of the list, and W may rise after each. The advances of W are a timeline. If no source is ever
idle, the channels of a union merge like the partitions of a source; `union_channels` has the other cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import candidates, emission
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import are_merged
from spark_jobs.replay.watermark import combined, custom, union_channels
from spark_jobs.replay.watermark.partition_changes import SourceRows
from spark_jobs.semantics.watermark.union import Reader, union


def alone(pipeline: Pipeline) -> list[Pipeline]:
    """Return one pipeline for each source, in their order."""
    return candidates.side_by_side([pipeline.alone(united) for united in pipeline.sources])


def advances(
    groups: DataFrame,
    rows: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
    own: Sequence[Column] | None = None,
    reader: Reader = union,
) -> DataFrame:
    """Return all advances of the united watermark: `epoch, clock_us, watermark_ms, partition_watermarks`, a row each.

    Arguments are those of `timeline.advances`; `groups` and `rows` also have the column `SOURCE`. `own` is, by source,
    the struct of the source's columns, by default of all columns. `reader` makes the channels of the sources.
    """
    sources = [
        (number, of_source, groups.where(F.col(c.SOURCE) == number), rows.where(F.col(c.SOURCE) == number))
        for number, of_source in enumerate(alone(pipeline))
    ]
    if are_merged(pipeline):
        row_structs = own or [custom.own_columns(rows)] * len(sources)
        apart = [SourceRows(of_source, of, moves, row_structs[number]) for number, of_source, of, moves in sources]
        return union_channels.advances(apart, _prefixes(pipeline), emission.Clock(groups, pipeline, until_us), reader)
    turns = [
        combined.turning_points(of, moves, of_source, until_us=until_us, ended_by=groups)
        for _, of_source, of, moves in sources
    ]
    epochs = reduce(DataFrame.union, turns).distinct().localCheckpoint()
    reached = epochs
    for number, of_source, of, moves in sources:
        points = combined.points_after(epochs, of_source)
        watermarks = combined.combined(points, of, moves, of_source)
        state = F.struct("watermark_ms", _named(pipeline.sources[number].name, of_source).alias("partitions"))
        reached = reached.join(watermarks.select("epoch", state.alias(_after(number))), "epoch")
    count = len(sources)
    # One partition for this window: a row an epoch that may raise a watermark, not a row an event.
    in_order = Window.partitionBy(F.lit(0)).orderBy("epoch")
    with_before = reached.withColumns({_before(i): F.lag(_after(i)).over(in_order) for i in range(count)})
    steps = F.array(*(_step(i, count) for i in range(count)))
    risen = with_before.select("epoch", F.explode(steps).alias("step")).where("step.watermark_ms is not null")
    first = F.min(F.struct("epoch", "step.number", "step.partitions"))
    rises = risen.groupBy("step.watermark_ms").agg(first.alias("first"))
    placed = rises.select("watermark_ms", "first.epoch", F.col("first.partitions").alias("partition_watermarks"))
    clocked = emission.clocked(placed, {"epoch": "clock_us"}, groups, pipeline)
    return clocked.select("epoch", "clock_us", "watermark_ms", "partition_watermarks")


def _prefixes(pipeline: Pipeline) -> list[str]:
    """Return the prefixes of the partition labels, by source."""
    return [u.name if not u.source.source_partition.columns else f"{u.name}|" for u in pipeline.sources]


def _step(number: int, count: int) -> Column:
    """Return the watermark of the union at an emission after the sources up to `number` have emitted.

    The partitions' watermarks are those after all sources have emitted.
    """
    reached = [F.col(_after(i) if i <= number else _before(i)) for i in range(count)]
    marks = [state.getField("watermark_ms") for state in reached]
    all_exist = reduce(Column.__and__, (mark.isNotNull() for mark in marks))
    partitions = (F.col(_after(i)).getField("partitions") for i in range(count))
    return F.struct(
        F.lit(number).alias("number"),
        F.when(all_exist, F.least(*marks) if count > 1 else marks[0]).alias("watermark_ms"),
        F.array_sort(F.concat(*partitions)).alias("partitions"),
    )


def _after(number: int) -> str:
    return f"{c.SOURCE}_after_{number}"


def _before(number: int) -> str:
    return f"{c.SOURCE}_before_{number}"


def _named(name: str, pipeline: Pipeline) -> Column:
    """Return `partition_watermarks` with the source's name before each label."""
    is_whole = not pipeline.source.source_partition.columns
    return F.transform(
        "partition_watermarks",
        lambda p: F.struct(
            F.lit(name).alias("source_partition")
            if is_whole
            else F.concat(F.lit(f"{name}|"), p.getField("source_partition")).alias("source_partition"),
            p.getField("watermark_ms").alias("watermark_ms"),
        ),
    )
