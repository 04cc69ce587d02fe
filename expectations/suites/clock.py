"""Clock: what late rows, late panes and firings tell of the watermark, one row an epoch that tells anything of it.

An epoch is the time between two emissions, so that the watermark is one within it, and from one to the next it does not
fall (rules 4, 21). On-time panes are compared with the calendar, which is looked at here, and add nothing to it.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import EmitKind, Order, Pipeline
from spark_jobs.replay.panes.per_epoch import gathers
from spark_jobs.replay.rows import arrival_order, timestamps
from spark_jobs.replay.rows.epochs import Axis, axis, ticks


def rows(staged: Staged) -> DataFrame:
    """`first_at, last_at` of what is told in an epoch, its `lowest` and `highest` watermark, `highest_before` it."""
    told = [
        _told(staged.watermarks, "fires_at", "watermark_at_fire"),
        _told(staged.panes.where("timing <> 'on_time'"), "fired_at", "watermark"),
    ]
    if staged.pipeline.replay.order is Order.ARRIVAL:
        told.append(_told(staged.late_events, "arrival_time", "watermark"))
    # The end of the input comes within an epoch, and is no emission.
    moments = reduce(DataFrame.unionAll, told).where(F.col("watermark") < timestamps.end_of_input())
    of_epoch = moments.groupBy(_epoch(staged.pipeline).alias("epoch")).agg(
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.min("watermark").alias("lowest"),
        F.max("watermark").alias("highest"),
    )
    # One partition for this window: a row an epoch, as in the calendar.
    earlier = Window.partitionBy(F.lit(0)).orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    return of_epoch.withColumn("highest_before", F.max("highest").over(earlier))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of the clock, where emissions go by it; others have none."""
    if axis(pipeline) is not Axis.TICKS or ticks(pipeline).kind is not EmitKind.EVERY:
        return ()
    # Gathered rows fire when the next epoch begins; the clock of rounds is no time of a row.
    if gathers(pipeline) or pipeline.replay.in_rounds:
        return ()
    return (
        Invariant(
            "an_epoch_has_one_watermark",
            "Between two emissions all firings and late rows tell of the same watermark.",
            "lowest = highest",
        ),
        Invariant(
            "the_watermark_never_falls",
            "No firing and no late row tells of a lower watermark than one in an earlier epoch.",
            "highest_before IS NULL OR lowest >= highest_before",
        ),
    )


def _told(rows: DataFrame, at: str, watermark: str) -> DataFrame:
    return rows.select(F.col(at).alias("at"), F.col(watermark).alias("watermark")).where("at IS NOT NULL")


def _epoch(pipeline: Pipeline) -> Column:
    return arrival_order.every(F.unix_micros("at"), pipeline)


SUITE = Suite("clock", rows, invariants, shows=("first_at", "last_at", "lowest", "highest", "highest_before"))
