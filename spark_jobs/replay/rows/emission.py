"""Emissions on columns: which emissions happen before the input ends, and at which clock.

Law (semantics B3): rows that are epochs emit when they arrive. A tick by the clock follows the last row only if the
clock is known to have reached it. A last group of fewer than n rows has no tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind, Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.epochs import Axis, axis, of_tick, ticks

#: More ticks than this, such as those of a second in eight years, come from a wrong arrival time.
MOST_TICKS = 250_000_000
#: Ticks are listed in pieces of this many.
TICKS_A_PIECE = 100_000


@dataclass(frozen=True)
class Clock:
    """The emissions of a pipeline: `groups` are the census groups of all counted rows, of all sources.

    `pipeline` defines the emissions and the kind of epochs. `until_us` is the last clock value, if it is later than all
    rows.
    """

    groups: DataFrame
    pipeline: Pipeline
    until_us: int | None = None

    def epoch(self, tick: Column) -> Column:
        """Return the epoch of a tick."""
        return of_tick(tick, self.groups, self.pipeline)

    def happened(self, frame: DataFrame) -> DataFrame:
        """Return the rows of `frame` whose emission (`epoch`) happens before the input ends."""
        before_end = happened(frame, ["epoch"], self.groups, self.pipeline, until_us=self.until_us)
        return before_end.where("epoch is not null")

    def ticks(self) -> DataFrame:
        """Return every tick that happens: `tick, epoch, clock_us`."""
        every = all_ticks(self.groups, self.pipeline, until_us=self.until_us).withColumnRenamed("epoch", "tick")
        return self.dated(every.withColumn("epoch", self.epoch(F.col("tick"))))

    def dated(self, frame: DataFrame) -> DataFrame:
        """Return `frame` with `clock_us`, the clock of its column `epoch`."""
        return clocked(frame, {"epoch": "clock_us"}, self.groups, self.pipeline)


def happened(
    frame: DataFrame, epochs: Sequence[str], moves: DataFrame, pipeline: Pipeline, *, until_us: int | None = None
) -> DataFrame:
    """Return `frame` with null in the columns `epochs` for emissions that do not happen before the input ends.

    `moves` are the census groups that move the watermark. `until_us` is the last clock value, if it is later than their
    rows.
    """
    if axis(pipeline) is Axis.ROWS:
        return frame
    before_end = {name: F.when(_happens(F.col(name), pipeline), F.col(name)) for name in epochs}
    last = F.broadcast(_last_tick(moves, pipeline, until_us))
    return frame.crossJoin(last).withColumns(before_end).drop("last_tick")


def all_ticks(moves: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """Return every tick of the clock that happens, after rows or not: `epoch`.

    Spark fails with the message of `_limited` for more than `MOST_TICKS` ticks.
    """
    first = moves.agg(F.min("bucket").alias("first"))
    span = first.crossJoin(_last_tick(moves, pipeline, until_us)).where("first <= last_tick")
    last, piece = F.col("last_tick"), F.lit(TICKS_A_PIECE)
    pieces = span.select("last_tick", F.explode(F.sequence(_limited(F.col("first"), last), last, piece)).alias("start"))
    end = F.least(last, F.col("start") + piece - F.lit(1))
    return pieces.select(F.explode(F.sequence("start", end)).alias("epoch"))


def _limited(first: Column, last: Column) -> Column:
    """Return `first`; Spark fails if the ticks up to `last` are more than `MOST_TICKS`."""
    ticks = last - first + F.lit(1)
    message = F.concat(
        F.lit("watermark.emit: found "),
        ticks.cast("string"),
        F.lit(f" ticks between the first and the last row, of {MOST_TICKS} at most. A row with a wrong arrival time "),
        F.lit("makes the span long: remove it, or read the table through a view without it. "),
        F.lit("Or declare a longer interval of emissions"),
    )
    return F.when(ticks <= F.lit(MOST_TICKS), first).otherwise(F.raise_error(message).cast("long"))


def clocked(frame: DataFrame, clocks: Mapping[str, str], moves: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `frame` with the clocks of emissions, in microseconds; `clocks` maps columns of epochs to new columns."""
    if axis(pipeline) is Axis.ROWS:
        return frame.withColumns({clock: F.col(epoch).getField("clock_us") for epoch, clock in clocks.items()})
    if ticks(pipeline).kind is EmitKind.EVERY_N:
        ends = moves.groupBy(F.col("bucket").alias("tick")).agg(F.max("last_clock_us").alias("tick_us"))
        for epoch, clock in clocks.items():
            named = ends.select(F.col("tick").alias(f"{clock}_tick"), F.col("tick_us").alias(clock))
            frame = frame.join(named, _tick(F.col(epoch), pipeline) == F.col(f"{clock}_tick"), "left")
            frame = frame.drop(f"{clock}_tick")
    else:
        of_tick = {
            clock: arrival_order.emission_clock_us(_tick(F.col(epoch), pipeline), pipeline)
            for epoch, clock in clocks.items()
        }
        frame = frame.withColumns(of_tick)
    if axis(pipeline) is Axis.TICKS:
        return frame
    of_row = {
        clock: F.when(F.col(epoch).getField("is_tick"), F.col(clock)).otherwise(
            F.col(epoch).getField("position").getField("clock_us")
        )
        for epoch, clock in clocks.items()
    }
    return frame.withColumns(of_row)


def _last_tick(moves: DataFrame, pipeline: Pipeline, until_us: int | None) -> DataFrame:
    """Return `last_tick`, in one row: the last tick that happens."""
    if ticks(pipeline).kind is EmitKind.EVERY_N:
        complete = F.call_function("div", F.sum("row_count"), F.lit(ticks(pipeline).n))
        return moves.agg((complete - F.lit(1)).alias("last_tick"))
    until = F.lit(None).cast("long") if until_us is None else arrival_order.every(F.lit(until_us), pipeline)
    return moves.agg((F.greatest(F.max("bucket"), until) - F.lit(1)).alias("last_tick"))


def _happens(epoch: Column, pipeline: Pipeline) -> Column:
    in_time = _tick(epoch, pipeline) <= F.col("last_tick")
    return in_time if axis(pipeline) is Axis.TICKS else ~epoch.getField("is_tick") | in_time


def _tick(epoch: Column, pipeline: Pipeline) -> Column:
    return epoch.getField("tick") if axis(pipeline) is Axis.MARKS else epoch
