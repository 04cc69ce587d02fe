"""Idleness on columns: at which emissions the silence of a partition takes it out of the minimum, and back.

Law (rules 30-33), T the timeout, e the tick that ends a partition's last row, next the tick of its row after that: the
tick e sees the row, e + 1 starts the timer, and the partition is

    idle     at the first tick k > e + 1 with clock(k) - clock(e + 1) > T, if k < next
    active   again at `next`, which emits; with punctuated watermarks with its first marked row behind k

A declared partition is taken to have had a row before the first tick. Watermarks play no part in it, so this is a
lookup for each silence: arithmetic for ticks by the clock, k = e + 2 + floor(T / D), else the first late enough tick.
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
    """Where partitions fall idle and speak again: `partition, epoch, is_idle, candidate_ms`.

    `groups` are the census groups that move the watermark. A partition has its new state after the emission of `epoch`;
    it may be told again that it is idle. Behind the last row the clock is taken to go on for ever. `candidate_ms` is
    the watermark of a partition that falls idle under a time lag, else null.
    """
    found = silences(groups, pipeline, Clock(groups, pipeline), declared_labels(pipeline))
    frozen = _last_candidate(pipeline).cast("long").alias("candidate_ms")
    fallen = found.select("partition", _epoch("idle", groups, pipeline), F.lit(True).alias("is_idle"), frozen)
    if axis(pipeline) is Axis.MARKS:
        return fallen.unionByName(_marked_after(fallen, groups))
    spoken = found.where("next is not null").select("partition", F.col("next").alias("epoch"))
    return fallen.unionByName(spoken.withColumn("is_idle", F.lit(False)), allowMissingColumns=True)


def silences(groups: DataFrame, pipeline: Pipeline, clock: Clock, there: Sequence[str | None]) -> DataFrame:
    """The silences at whose end a partition is idle: `partition, last, next, idle, before_us`.

    `last` and `next` are the ticks that end the rows around it (null: none comes), `idle` is the tick that finds the
    partition idle, `before_us` the clock of the tick before that. `groups` are those of the partitions' own rows that
    move the watermark, `there` the partitions that exist from the beginning.
    """
    found = _with_idle_tick(_silences(groups, clock, there), pipeline, clock)
    return found.where(F.col("next").isNull() | (F.col("idle") < F.col("next")))


def longest_silence_ticks(pipeline: Pipeline) -> int:
    """How many ticks of a clock behind a partition's last epoch see it idle first."""
    return _longest_silence_ticks(pipeline, ticks(pipeline))


def _longest_silence_ticks(pipeline: Pipeline, emit: Emit) -> int:
    return 2 + _timeout_ms(pipeline) // emit.interval_ms


def _timeout_ms(pipeline: Pipeline) -> int:
    # The cut keeps sums from overflowing and lies far beyond every time that a table can hold.
    return min(pipeline.watermark.idle_timeout_ms or 0, _FOREVER_MS)


def _silences(groups: DataFrame, clock: Clock, there: Sequence[str | None]) -> DataFrame:
    """`partition, last, next`: two ticks that see rows of a partition, and none between them does; null: never."""
    spoken = groups.select("partition", F.col("bucket").alias("last")).distinct()
    if there:
        before = clock.groups.agg((F.min("bucket") - F.lit(1)).alias("last")).where("last is not null")
        declared = F.explode(F.array(*map(F.lit, there)).cast("array<string>")).alias("partition")
        spoken = spoken.union(before.select(declared, "last"))
    in_order = Window.partitionBy("partition").orderBy("last")
    found = spoken.withColumn("next", F.lead("last").over(in_order))
    return found.where(F.col("next").isNull() | (F.col("next") - F.col("last") > F.lit(2)))


def _with_idle_tick(silences: DataFrame, pipeline: Pipeline, clock: Clock) -> DataFrame:
    """With `idle`, the tick that would find the partition idle, and `before_us`, the clock of the tick before it."""
    emit = ticks(clock.pipeline)
    if emit.kind is EmitKind.EVERY:
        idle = F.col("last") + F.lit(_longest_silence_ticks(pipeline, emit))
        # Null where it is beyond all clocks, which no row and no tick comes to.
        before = F.try_multiply(F.try_multiply(idle, F.lit(emit.interval_ms)) + F.lit(emit.phase_ms), F.lit(1000))
        return silences.withColumns({"idle": idle, "before_us": before})
    counted = _counted_ticks(clock.groups, clock.pipeline)
    starts = counted.select((F.col("idle") - F.lit(1)).alias("last"), F.col("clock_ms").alias("start_ms"))
    started = (
        silences.join(starts, "last")
        .select("partition", "last", "next", (F.col("start_ms") + F.lit(_timeout_ms(pipeline))).alias("clock_ms"))
        .withColumn("is_asked", F.lit(True))
    )
    # Latest first, and a silence before the tick at which it is just not over: what has been seen comes later.
    latest_first = Window.partitionBy(F.lit(0)).orderBy(F.col("clock_ms").desc(), F.col("is_asked").isNull())
    later = latest_first.rowsBetween(Window.unboundedPreceding, 0)
    seen = started.unionByName(counted, allowMissingColumns=True)
    first = F.min(F.when(F.col("is_asked").isNull(), F.struct("idle", "before_us"))).over(later)
    found = seen.withColumn("first", first).where("is_asked")
    return found.select("partition", "last", "next", "first.idle", "first.before_us").where("idle is not null")


def _counted_ticks(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Every tick behind a number of rows: `idle` (its number), `clock_ms`, `before_us` (clock of the one before)."""
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
    """What a partition last emitted before it fell idle, where that is not told by its rows."""
    if pipeline.watermark.follows_clock:
        return candidates.lagging_ms(F.col("before_us"), pipeline)
    return F.lit(None)


def _marked_after(fallen: DataFrame, groups: DataFrame) -> DataFrame:
    """The first marked row of a partition behind each of its falls: only its next watermark makes it active."""
    marked = groups.where(F.col("candidate_ms").isNotNull()).groupBy("partition", "bucket")
    firsts = marked.agg(F.min("first_epoch").alias("epoch")).select("partition", "epoch")
    both = fallen.unionByName(firsts.withColumn("is_idle", F.lit(False)), allowMissingColumns=True)
    before = F.lag("is_idle").over(Window.partitionBy("partition").orderBy("epoch"))
    return both.withColumn("before", before).where(~F.col("is_idle") & F.col("before")).drop("before")


def _epoch(tick: str, groups: DataFrame, pipeline: Pipeline) -> Column:
    return of_tick(F.col(tick), groups, pipeline).alias("epoch")
