"""The combined watermark of partitions that are never idle, as a staircase: linear in its steps.

A series of rises has a value and a moment each; a value is a watermark or a cell of the window grid. Law, with
`M_p(k)` the highest value of partition p until k:

    step (above, at): the combined watermark exceeds `above` from `at` on, and not before
    F(T) = max { at : step, above < T }          the first moment that reaches T; never, if a step is never
    W(k) = min { above : step, k < at }          the combined watermark after k

A partition has a step at each of its rises, from its value before the rise, and one after its highest value that is
never. The steps of all partitions together give the maximum of their first passages (semantics B4), because each
partition's first passage never falls as T grows.

A partition that joins at j cannot lower the combined watermark (rules 22, 23). With `W(j-)` the watermark right before
j, the steps at j or later begin at `W(j-)` or above. `(W(j-), j)` is a step too, because nothing else was reached
before j.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

# Below every watermark.
_MIN = -(2**63)


def steps(rises: DataFrame, members: DataFrame, series: Sequence[int]) -> DataFrame:
    """Return the steps of each series: `series, above, at`; `above` is `-2**63` for MIN, `at` is null for never.

    - `rises`: `series, partition, value, at`; null values and values below earlier ones are no rises
    - `members`: all partitions, `partition, joined`: a moment as `at` is; null for a partition that always exists
    """
    every_series = F.explode(F.array(*map(F.lit, series))).alias("series")
    joins = members.where("joined is not null").select(F.col("joined").alias("at")).distinct()
    # All partitions that exist before hold the watermark when a partition joins.
    existing = members.join(F.broadcast(joins), F.col("joined").isNull() | (F.col("joined") < F.col("at")))
    at_joins = existing.select("partition", "at", F.lit(True).alias("is_join"), every_series)
    at_end = members.select(
        "partition",
        F.lit(None).cast(rises.schema["at"].dataType).alias("at"),
        F.lit(False).alias("is_join"),
        every_series,
    )
    moments = rises.where("value is not null").unionByName(at_joins, allowMissingColumns=True)
    in_order = (
        Window.partitionBy("series", "partition")
        # Right before a partition joins: its moment precedes rises at the same moment.
        .orderBy(F.col("at").asc_nulls_last(), F.col("value").asc_nulls_first())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    placed = moments.unionByName(at_end, allowMissingColumns=True).withColumn(
        "above", F.coalesce(F.max("value").over(in_order), F.lit(_MIN))
    )
    is_step = F.col("value").isNull() | (F.col("value") > F.col("above"))
    lowest = (
        placed.where(is_step)
        .groupBy("series", "at", F.coalesce("is_join", F.lit(False)).alias("is_join"))
        .agg(F.min("above").alias("above"))
    )
    # One partition for each series: a row a step, not a row an event.
    so_far = (
        Window.partitionBy("series")
        .orderBy(F.col("at").asc_nulls_last(), F.col("is_join").desc())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    reached = F.max(F.when(F.col("is_join"), F.col("above"))).over(so_far)
    return lowest.select("series", F.greatest("above", reached).alias("above"), "at")


def first_reaching(values: DataFrame, staircase: DataFrame) -> DataFrame:
    """Return `values` (`series, value`) with `at`: the first moment that reaches the value, null for never.

    Equal rows of `values` stay apart.
    """
    probes = values.withColumn("is_probe", F.lit(True))
    from_lowest = (
        Window.partitionBy("series")
        # A step counts for greater values only.
        .orderBy("value", F.col("is_probe").desc_nulls_last())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    all_steps = staircase.select("series", F.col("above").alias("value"), "at")
    combined = all_steps.unionByName(probes, allowMissingColumns=True).withColumns(
        {
            "reached": F.max("at").over(from_lowest),
            "is_never": F.max(F.col("is_probe").isNull() & F.col("at").isNull()).over(from_lowest),
        }
    )
    at = F.when(~F.col("is_never"), F.col("reached"))
    return combined.where("is_probe").withColumn("at", at).drop("is_probe", "reached", "is_never")


def after(moments: DataFrame, staircase: DataFrame) -> DataFrame:
    """Return `moments` (`series, at`) with `value`: the combined watermark after the moment, null for MIN.

    Rises at the moment count.
    """
    probes = moments.withColumn("is_probe", F.lit(True))
    from_newest = (
        Window.partitionBy("series")
        .orderBy(F.col("at").desc_nulls_first(), F.col("is_probe").desc_nulls_last())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    lowest = F.min("above").over(from_newest)
    ahead = staircase.unionByName(probes, allowMissingColumns=True).withColumn("lowest", lowest).where("is_probe")
    value = F.when(F.col("lowest") != F.lit(_MIN), F.col("lowest"))
    return ahead.withColumn("value", value).drop("is_probe", "lowest", "above")
