"""Partition changes on columns (`partition_runner`): every change of the partitions of one source.

    joins        at the first row of a partition that is not declared
    watermark    at a tick, the candidate of the rows before it
                 time lag: at every tick, for partitions that are not idle
                 punctuated: at a marked row, if it exceeds all earlier watermarks of its partition or is the first
                 after idleness
    idle         at the tick at which the partition falls idle (`idleness`); only a watermark ends idleness

A source's main output, here the partition null, has no rows. After the timeout it is idle; before, under a time lag, it
emits the same watermarks as the partitions. Its initial MIN is no change, since no partition is idle before the main
output is. Custom generators are run instead (`custom`).
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

_COLUMNS = ("partition", "epoch", "is_tick", "number", "row", "kind", "watermark_ms")


@dataclass(frozen=True)
class SourceRows:
    """One of several sources; `pipeline` reads this source alone.

    `groups` are its census groups that move the watermark, `rows` its prepared rows with epoch that move it. `row` is
    the struct of the source's columns.
    """

    pipeline: Pipeline
    groups: DataFrame
    rows: DataFrame
    row: Column


def changes(source: SourceRows, clock: Clock) -> DataFrame:
    """Return the changes of each partition of a source, at emissions of `clock`.

    A row of the result is a change:

    - `partition`: null for the main output
    - `epoch`, `is_tick`
    - `number`: its rank among the partition's changes at one epoch
    - `row`: identifies the source row within the partition
    - `kind`, `watermark_ms`: as in `partition_runner`
    """
    if source.pipeline.watermark.is_custom:
        everyone = combined.partitions(source.groups, source.pipeline).select("partition")
        steps = clock.ticks().crossJoin(F.broadcast(_with_main(everyone)))
        return custom.changes(source.rows, source.row, steps, source.pipeline, has_main=True).select(*_COLUMNS)
    parts = [_joins(source)]
    watermark = source.pipeline.watermark
    if watermark.is_punctuated:
        parts.append(_marked(source, clock))
    elif watermark.follows_clock:
        parts.append(_lagging(source, clock))
    elif watermark.is_bounded:
        parts.append(_behind_rows(source, clock))
    if source.pipeline.watermark.idle_timeout_ms is not None:
        parts.append(_at_ticks(_silences(source, clock).withColumnRenamed("idle", "tick"), ChangeKind.IDLE, clock))
    return reduce(DataFrame.unionByName, parts)


def _joins(source: SourceRows) -> DataFrame:
    firsts = source.groups.groupBy("partition").agg(F.min("first_epoch").alias("epoch"))
    undeclared = firsts.where(~F.col("partition").isin(declared_labels(source.pipeline)))
    return _of_kind(undeclared, ChangeKind.JOINS, is_tick=False)


def _behind_rows(source: SourceRows, clock: Clock) -> DataFrame:
    highest = F.max(candidates.of_group(source.pipeline)).alias("watermark_ms")
    proposed = source.groups.groupBy("partition", F.col("bucket").alias("tick")).agg(highest)
    return _at_ticks(proposed, ChangeKind.WATERMARK, clock)


def _lagging(source: SourceRows, clock: Clock) -> DataFrame:
    """Return the watermarks under a time lag: every tick of each partition that exists and is not idle."""
    firsts = source.groups.groupBy("partition").agg(F.min("bucket").alias("first"))
    everyone = _with_main(combined.partitions(source.groups, source.pipeline).select("partition", "declared"))
    steps = clock.ticks().crossJoin(F.broadcast(everyone.join(firsts, "partition", "left")))
    steps = steps.where(F.col("declared") | (F.col("tick") >= F.col("first")))
    if source.pipeline.watermark.idle_timeout_ms is not None:
        steps = _while_active(steps, _silences(source, clock))
    now = candidates.lagging_ms(F.col("clock_us"), source.pipeline).alias("watermark_ms")
    return _of_kind(steps.select("partition", "epoch", now), ChangeKind.WATERMARK, is_tick=True)


def _while_active(steps: DataFrame, silences: DataFrame) -> DataFrame:
    """Return the `steps` of partitions that are not idle."""
    fell = silences.select("partition", F.col("idle").alias("tick"), F.lit(True).alias("is_idle"))
    woke = silences.where("next is not null").select("partition", F.col("next").alias("tick"))
    turns = fell.unionByName(woke.withColumn("is_idle", F.lit(False)))
    # At one tick a change of idleness comes before the partition's watermark.
    in_order = Window.partitionBy("partition").orderBy("tick", F.col("is_idle").isNull())
    is_idle = F.last("is_idle", ignorenulls=True).over(in_order.rowsBetween(Window.unboundedPreceding, 0))
    ordered = steps.unionByName(turns, allowMissingColumns=True).withColumn("was_idle", is_idle)
    return ordered.where(F.col("epoch").isNotNull() & ~F.coalesce("was_idle", F.lit(False)))


def _marked(source: SourceRows, clock: Clock) -> DataFrame:
    """Return the marked rows that change their partition, numbered by partition."""
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
    numbered = steps.withColumns({"is_change": newest, "number": F.row_number().over(in_order).cast("long")})
    changing = numbered.where("is_change and watermark_ms is not null")
    return _of_kind(changing, ChangeKind.WATERMARK, is_tick=False)


def _silences(source: SourceRows, clock: Clock) -> DataFrame:
    return idleness.silences(source.groups, source.pipeline, clock, [*declared_labels(source.pipeline), None])


def _with_main(everyone: DataFrame) -> DataFrame:
    """Return `everyone` and the main output, which is declared."""
    main = everyone.sparkSession.range(1).select(F.lit(None).cast("string").alias("partition"))
    return everyone.unionByName(main.withColumn("declared", F.lit(True)) if "declared" in everyone.columns else main)


def _at_ticks(steps: DataFrame, kind: ChangeKind, clock: Clock) -> DataFrame:
    """Return the changes at ticks (column `tick`) that happen."""
    return _of_kind(clock.happened(steps.withColumn("epoch", clock.epoch(F.col("tick")))), kind, is_tick=True)


def _of_kind(frame: DataFrame, kind: ChangeKind, *, is_tick: bool) -> DataFrame:
    """Return `frame` as changes of one kind; each partition has at most one at an epoch."""
    watermark_ms = F.col("watermark_ms") if kind is ChangeKind.WATERMARK else F.lit(MIN)
    columns = {
        "is_tick": F.lit(is_tick),
        "number": F.col("number") if "number" in frame.columns else F.lit(0).cast("long"),
        "row": F.col("number") if "number" in frame.columns else F.lit(0).cast("long"),
        "kind": F.lit(int(kind)),
        "watermark_ms": watermark_ms,
    }
    return frame.select("partition", "epoch", *(column.alias(name) for name, column in columns.items()))
