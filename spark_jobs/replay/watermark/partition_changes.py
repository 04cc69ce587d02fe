"""Changes on columns (`partition_runner`): what each partition of one source says that is news.

    joins        at the first row of a partition that is not declared
    watermark    at a tick, what the rows that it ends propose; under a time lag at every tick, of partitions that are
                 not idle; punctuated, at a marked row, if it is above all before it in its partition or the first
                 since that was idle
    idle         at the tick that finds the partition idle (`idleness`); only a watermark ends it

A source's main output, here the partition null, has no rows: after the timeout it is idle, and under a time lag it says
until then what all say. That it says MIN before is news to nobody, since no partition is idle before it is. A class of
the user's is run instead (`generators`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.emission import Clock
from spark_jobs.replay.rows.prepare import declared_labels
from spark_jobs.replay.watermark import combined, custom, idleness
from spark_jobs.replay.watermark.partition_runner import ChangeKind
from spark_jobs.semantics.rows.instants import MIN

_TOLD = ("partition", "epoch", "is_tick", "number", "row", "kind", "watermark_ms")


@dataclass(frozen=True)
class SourceRows:
    """A source among several, read by `pipeline` alone.

    `groups` are its census groups that move the watermark, `rows` its prepared rows with epoch that do; `row` is the
    struct of a row's own columns.
    """

    pipeline: Pipeline
    groups: DataFrame
    rows: DataFrame
    row: Column


def changes(source: SourceRows, clock: Clock) -> DataFrame:
    """What changes in each partition of a source, at emissions of `clock`.

    A row is a change: `partition` (null: the main output), `epoch`, `is_tick`, `number` (its place among those of its
    partition at one epoch), `row` (tells the rows of a partition apart), `kind` and `watermark_ms` (as in
    `partition_runner`).
    """
    if source.pipeline.watermark.is_custom:
        everyone = combined.partitions(source.groups, source.pipeline).select("partition")
        steps = clock.ticks().crossJoin(F.broadcast(_with_main(everyone)))
        return custom.changes(source.rows, source.row, steps, source.pipeline, has_main=True).select(*_TOLD)
    told = [_joins(source)]
    watermark = source.pipeline.watermark
    if watermark.is_punctuated:
        told.append(_marked(source, clock))
    elif watermark.follows_clock:
        told.append(_lagging(source, clock))
    elif watermark.is_bounded:
        told.append(_behind_rows(source, clock))
    if source.pipeline.watermark.idle_timeout_ms is not None:
        told.append(_at_ticks(_silences(source, clock).withColumnRenamed("idle", "tick"), ChangeKind.IDLE, clock))
    return reduce(DataFrame.unionByName, told)


def _joins(source: SourceRows) -> DataFrame:
    firsts = source.groups.groupBy("partition").agg(F.min("first_epoch").alias("epoch"))
    undeclared = firsts.where(~F.col("partition").isin(declared_labels(source.pipeline)))
    return _told(undeclared, ChangeKind.JOINS, is_tick=False)


def _behind_rows(source: SourceRows, clock: Clock) -> DataFrame:
    highest = F.max(candidates.of_group(source.pipeline)).alias("watermark_ms")
    proposed = source.groups.groupBy("partition", F.col("bucket").alias("tick")).agg(highest)
    return _at_ticks(proposed, ChangeKind.WATERMARK, clock)


def _lagging(source: SourceRows, clock: Clock) -> DataFrame:
    """Every tick of each partition that is there and not idle."""
    there = source.groups.groupBy("partition").agg(F.min("bucket").alias("first"))
    everyone = _with_main(combined.partitions(source.groups, source.pipeline).select("partition", "declared"))
    steps = clock.ticks().crossJoin(F.broadcast(everyone.join(there, "partition", "left")))
    steps = steps.where(F.col("declared") | (F.col("tick") >= F.col("first")))
    if source.pipeline.watermark.idle_timeout_ms is not None:
        steps = _awake(steps, _silences(source, clock))
    now = candidates.lagging_ms(F.col("clock_us"), source.pipeline).alias("watermark_ms")
    return _told(steps.select("partition", "epoch", now), ChangeKind.WATERMARK, is_tick=True)


def _awake(steps: DataFrame, silences: DataFrame) -> DataFrame:
    """The `steps` of partitions that are not idle."""
    fell = silences.select("partition", F.col("idle").alias("tick"), F.lit(True).alias("is_idle"))
    spoke = silences.where("next is not null").select("partition", F.col("next").alias("tick"))
    turns = fell.unionByName(spoke.withColumn("is_idle", F.lit(False)))
    # A partition turns at a tick before it speaks.
    in_order = Window.partitionBy("partition").orderBy("tick", F.col("is_idle").isNull())
    is_idle = F.last("is_idle", ignorenulls=True).over(in_order.rowsBetween(Window.unboundedPreceding, 0))
    both = steps.unionByName(turns, allowMissingColumns=True).withColumn("was_idle", is_idle)
    return both.where(F.col("epoch").isNotNull() & ~F.coalesce("was_idle", F.lit(False)))


def _marked(source: SourceRows, clock: Clock) -> DataFrame:
    """The marked rows that tell their partition something new, numbered in each."""
    marked = source.rows.select(
        F.col(c.PARTITION).alias("partition"),
        F.col(c.EPOCH).alias("epoch"),
        candidates.of_row(source.pipeline).alias("watermark_ms"),
    ).where("watermark_ms is not null")
    steps = marked
    if source.pipeline.watermark.idle_timeout_ms is not None:
        fell = _silences(source, clock).select("partition", clock.epoch(F.col("idle")).alias("epoch"))
        steps = marked.unionByName(fell, allowMissingColumns=True)
    in_order = Window.partitionBy("partition").orderBy("epoch")
    before = F.max("watermark_ms").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    newest = before.isNull() | (F.col("watermark_ms") > before) | F.lag("watermark_ms").over(in_order).isNull()
    numbered = steps.withColumns({"is_news": newest, "number": F.row_number().over(in_order).cast("long")})
    news = numbered.where("is_news and watermark_ms is not null")
    return _told(news, ChangeKind.WATERMARK, is_tick=False)


def _silences(source: SourceRows, clock: Clock) -> DataFrame:
    return idleness.silences(source.groups, source.pipeline, clock, [*declared_labels(source.pipeline), None])


def _with_main(everyone: DataFrame) -> DataFrame:
    """`everyone` and the main output, which is declared."""
    main = everyone.sparkSession.range(1).select(F.lit(None).cast("string").alias("partition"))
    return everyone.unionByName(main.withColumn("declared", F.lit(True)) if "declared" in everyone.columns else main)


def _at_ticks(told: DataFrame, kind: ChangeKind, clock: Clock) -> DataFrame:
    """What partitions say at ticks (column `tick`) that happen."""
    return _told(clock.happened(told.withColumn("epoch", clock.epoch(F.col("tick")))), kind, is_tick=True)


def _told(frame: DataFrame, kind: ChangeKind, *, is_tick: bool) -> DataFrame:
    """Changes of one kind, in each partition at most one at an epoch."""
    said = F.col("watermark_ms") if kind is ChangeKind.WATERMARK else F.lit(MIN)
    columns = {
        "is_tick": F.lit(is_tick),
        "number": F.col("number") if "number" in frame.columns else F.lit(0).cast("long"),
        "row": F.col("number") if "number" in frame.columns else F.lit(0).cast("long"),
        "kind": F.lit(int(kind)),
        "watermark_ms": said,
    }
    return frame.select("partition", "epoch", *(column.alias(name) for name, column in columns.items()))
