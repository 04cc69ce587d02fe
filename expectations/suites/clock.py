"""Clock: the watermarks of late rows, late panes and firings, with one row for each epoch that has any.

An epoch is the time between two emissions. The watermark is constant within an epoch and never falls from one epoch to
the next (rules 4, 21). On-time panes are compared with the calendar elsewhere, so they add nothing here.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import EmitKind, Order, Pipeline
from spark_jobs.pipeline.published_tables import WATERMARKS
from spark_jobs.replay.panes.per_epoch import gathers
from spark_jobs.replay.rows import arrival_order, timestamps
from spark_jobs.replay.rows.epochs import Axis, axis, ticks


def rows(staged: Staged) -> DataFrame:
    """Return one row for each epoch with a firing or a late row.

    `first_at, last_at` are the times of its first and last moment, `lowest, highest` its watermarks. `highest_before`
    is the highest watermark of all earlier epochs, null for the first epoch.
    """
    observations = [
        _observations(staged.panes.where("timing <> 'on_time'"), "fired_at", "watermark"),
        _observations(staged.watermarks, "fires_at", "watermark_at_fire"),
    ]
    if staged.pipeline.replay.order is Order.ARRIVAL:
        observations.append(_observations(staged.late_events, "arrival_time", "watermark"))
    # The end of the input may lie within an epoch and is not an emission.
    moments = reduce(DataFrame.unionAll, observations).where(F.col("watermark") < timestamps.end_of_input())
    of_epoch = moments.groupBy(_epoch(staged.pipeline).alias("epoch")).agg(
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.min("watermark").alias("lowest"),
        F.max("watermark").alias("highest"),
    )
    # One Spark partition for this window is enough: one row an epoch, as in the calendar.
    earlier = Window.partitionBy(F.lit(0)).orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    return of_epoch.withColumn("highest_before", F.max("highest").over(earlier))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the clock, if the watermark is emitted at intervals of the clock; otherwise none."""
    if axis(pipeline) is not Axis.TICKS or ticks(pipeline).kind is not EmitKind.EVERY:
        return ()
    # Gathered rows fire when the next epoch begins. With rounds, the clock is not the time of a row.
    if gathers(pipeline) or pipeline.replay.in_rounds:
        return ()
    return (
        Invariant(
            "an_epoch_has_one_watermark",
            "Between two emissions all firings and late rows have the same watermark.",
            "lowest = highest",
        ),
        Invariant(
            "the_watermark_never_falls",
            "No firing and no late row has a lower watermark than a firing or late row of an earlier epoch.",
            "highest_before IS NULL OR lowest >= highest_before",
        ),
    )


def _observations(rows: DataFrame, at: str, watermark: str) -> DataFrame:
    return rows.select(F.col(at).alias("at"), F.col(watermark).alias("watermark")).where("at IS NOT NULL")


def _epoch(pipeline: Pipeline) -> Column:
    return arrival_order.every(F.unix_micros("at"), pipeline)


SUITE = Suite(
    "clock", WATERMARKS, rows, invariants, shows=("first_at", "last_at", "lowest", "highest", "highest_before")
)
