"""Idleness on columns: the emissions at which a partition falls idle and becomes active again.

Law (rules 30-33): T is the timeout, e the tick after a partition's last row, `next` the tick after its following row.
Tick e processes the row, e + 1 starts the timer, and the partition is

    idle     at the first tick k > e + 1 with clock(k) - clock(e + 1) > T, if k < next
    active   again at `next`, which emits; with punctuated watermarks at its first marked row after k

A declared partition counts as if it had a row before the first tick. Idleness does not depend on watermarks, so k is
looked up for each silence. For ticks by the clock k = e + 2 + floor(T / D); otherwise k is the first tick that is late
enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Emit, EmitKind, Pipeline
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.rows.emission import Clock
from spark_jobs.replay.rows.epochs import Axis, axis, of_tick, ticks
from spark_jobs.replay.rows.event_time import millis
from spark_jobs.replay.rows.prepare import declared_labels

_FOREVER_MS = 2**61


def changes(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return when partitions fall idle and become active: `partition, epoch, is_idle, candidate_ms`.

    `groups` are the census groups that move the watermark. A partition has its new state after the emission of `epoch`;
    an idle partition may have another row with `is_idle`. The clock is assumed to continue for ever after the last row.
    `candidate_ms` is the watermark of a partition that falls idle under a time lag, otherwise null.
    """
    idle_silences = silences(groups, pipeline, Clock(groups, pipeline), declared_labels(pipeline))
    frozen = _last_candidate(pipeline).cast("long").alias("candidate_ms")
    fallen = idle_silences.select("partition", _epoch("idle", groups, pipeline), F.lit(True).alias("is_idle"), frozen)
    if axis(pipeline) is Axis.MARKS:
        return fallen.unionByName(_marked_after(fallen, groups))
    active_again = idle_silences.where("next is not null").select("partition", F.col("next").alias("epoch"))
    return fallen.unionByName(active_again.withColumn("is_idle", F.lit(False)), allowMissingColumns=True)


def silences(groups: DataFrame, pipeline: Pipeline, clock: Clock, declared: Sequence[str | None]) -> DataFrame:
    """Return the silences at whose end a partition is idle: `partition, last, next, idle, before_us`.

    - `last`, `next`: the ticks that end the rows before and after the silence; null if no row follows
    - `idle`: the tick at which the partition falls idle
    - `before_us`: the clock of the tick before `idle`

    `groups` are the census groups of the partitions' rows that move the watermark, `declared` the partitions that exist
    from the beginning.
    """
    timed_out = _with_idle_tick(_silences(groups, clock, declared), pipeline, clock)
    return timed_out.where(F.col("next").isNull() | (F.col("idle") < F.col("next")))


def longest_silence_ticks(pipeline: Pipeline) -> int:
    """Return the number of ticks of a clock from a partition's last epoch to the tick at which it falls idle."""
    return _longest_silence_ticks(pipeline, ticks(pipeline))


def _longest_silence_ticks(pipeline: Pipeline, emit: Emit) -> int:
    return 2 + _timeout_ms(pipeline) // emit.interval_ms


def _timeout_ms(pipeline: Pipeline) -> int:
    # The limit keeps sums from overflowing. It is later than every time that a table can hold.
    return min(pipeline.watermark.idle_timeout_ms or 0, _FOREVER_MS)


def _silences(groups: DataFrame, clock: Clock, declared: Sequence[str | None]) -> DataFrame:
    """Return `partition, last, next`: neighbouring ticks with rows of a partition; `next` is null at the end."""
    with_rows = groups.select("partition", F.col("bucket").alias("last")).distinct()
    if declared:
        before = clock.groups.agg((F.min("bucket") - F.lit(1)).alias("last")).where("last is not null")
        labels = F.explode(F.array(*map(F.lit, declared)).cast("array<string>")).alias("partition")
        with_rows = with_rows.union(before.select(labels, "last"))
    in_order = Window.partitionBy("partition").orderBy("last")
    pairs = with_rows.withColumn("next", F.lead("last").over(in_order))
    return pairs.where(F.col("next").isNull() | (F.col("next") - F.col("last") > F.lit(2)))


def _with_idle_tick(silences: DataFrame, pipeline: Pipeline, clock: Clock) -> DataFrame:
    """Return `silences` with `idle`, the tick at which the timeout has passed, and `before_us`, the tick before it."""
    emit = ticks(clock.pipeline)
    if emit.kind is EmitKind.EVERY:
        idle = F.col("last") + F.lit(_longest_silence_ticks(pipeline, emit))
        # Null beyond the largest clock, which no row and no tick reaches.
        before = F.try_multiply(F.try_multiply(idle, F.lit(emit.interval_ms)) + F.lit(emit.phase_ms), F.lit(1000))
        return silences.withColumns({"idle": idle, "before_us": before})
    counted = _counted_ticks(clock.groups, clock.pipeline)
    starts = counted.select((F.col("idle") - F.lit(1)).alias("last"), F.col("clock_ms").alias("start_ms"))
    started = (
        silences.join(starts, "last")
        .select("partition", "last", "next", (F.col("start_ms") + F.lit(_timeout_ms(pipeline))).alias("clock_ms"))
        .withColumn("is_silence", F.lit(True))
    )
    # Latest first. A silence comes before a tick with an equal clock: at that tick the timeout has not passed yet.
    latest_first = Window.partitionBy(F.lit(0)).orderBy(F.col("clock_ms").desc(), F.col("is_silence").isNull())
    later = latest_first.rowsBetween(Window.unboundedPreceding, 0)
    steps = started.unionByName(counted, allowMissingColumns=True)
    first = F.min(F.when(F.col("is_silence").isNull(), F.struct("idle", "before_us"))).over(later)
    first_ticks = steps.withColumn("first", first).where("is_silence")
    return first_ticks.select("partition", "last", "next", "first.idle", "first.before_us").where("idle is not null")


def _counted_ticks(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return every tick of `every_n`: `idle` (its number), `clock_ms`, `before_us` (clock of the tick before it)."""
    complete = groups.agg((F.call_function("div", F.sum("row_count"), F.lit(ticks(pipeline).n))).alias("complete"))
    ends = groups.groupBy(F.col("bucket").alias("idle")).agg(F.max("last_clock_us").alias("clock_us"))
    in_order = Window.partitionBy(F.lit(0)).orderBy("idle")
    return (
        ends.crossJoin(F.broadcast(complete))
        .where(F.col("idle") < F.col("complete"))
        .select(
            "idle", millis(F.col("clock_us")).alias("clock_ms"), F.lag("clock_us").over(in_order).alias("before_us")
        )
    )


def _last_candidate(pipeline: Pipeline) -> Column:
    """Return the last watermark of a partition before it fell idle, where its rows do not determine it; else null."""
    if pipeline.watermark.follows_clock:
        return candidates.lagging_ms(F.col("before_us"), pipeline)
    return F.lit(None)


def _marked_after(fallen: DataFrame, groups: DataFrame) -> DataFrame:
    """Return the first marked row of a partition after each time it falls idle: only a watermark makes it active."""
    marked = groups.where(F.col("candidate_ms").isNotNull()).groupBy("partition", "bucket")
    firsts = marked.agg(F.min("first_epoch").alias("epoch")).select("partition", "epoch")
    turns = fallen.unionByName(firsts.withColumn("is_idle", F.lit(False)), allowMissingColumns=True)
    before = F.lag("is_idle").over(Window.partitionBy("partition").orderBy("epoch"))
    return turns.withColumn("before", before).where(~F.col("is_idle") & F.col("before")).drop("before")


def _epoch(tick: str, groups: DataFrame, pipeline: Pipeline) -> Column:
    return of_tick(F.col(tick), groups, pipeline).alias("epoch")
