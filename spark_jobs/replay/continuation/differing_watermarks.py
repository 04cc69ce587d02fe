"""Differing watermarks: where, along the arrival order, the watermarks of two replays of one pipeline differ.

The watermark is a step function: the advances of the timeline. A bucket (`arrival_order.bucket`) differs if the
watermark before one of its rows may differ, or after its last row. Ranges of buckets are compared with rows by numbers.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows import columns as c

#: Later than every bucket.
NEVER = 2**62
#: The columns of a range: its first and its last bucket.
FROM, TO = c.PREFIX + "from_bucket", c.PREFIX + "to_bucket"
_SIDES = ("before", "after")


def differing_buckets(before: Ground, after: Ground) -> DataFrame:
    """Return ranges of buckets in which the watermark before some row may differ: `FROM` and `TO`, both included."""
    pipeline = after.pipeline
    moved = _around_the_start(before, after) if pipeline.watermark.moves_at_every_tick else _of_advances(before, after)
    return moved.union(_around_the_end(before, after))


def _of_advances(before: Ground, after: Ground) -> DataFrame:
    """Return the ranges by the advances of the two timelines."""
    pipeline = after.pipeline
    rises = reduce(
        DataFrame.union,
        (
            ground.timeline.select(
                arrival_order.bucket(F.col("epoch"), pipeline).alias("bucket"),
                F.struct("epoch", "watermark_ms").alias("advance"),
                F.lit(side).alias("side"),
            )
            for ground, side in ((before, "before"), (after, "after"))
        ),
    )
    own = {side: F.when(F.col("side") == side, F.col("advance")) for side in _SIDES}
    steps = rises.groupBy("bucket").agg(
        *(F.array_sort(F.collect_list(advance)).alias(side) for side, advance in own.items()),
        *(F.max(advance.getField("watermark_ms")).alias(f"{side}_ms") for side, advance in own.items()),
    )
    # One partition for these windows: a row a bucket with an advance.
    in_order = Window.partitionBy(F.lit(0)).orderBy("bucket")
    until = in_order.rowsBetween(Window.unboundedPreceding, 0)
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    differs = {
        name: ~F.max("before_ms").over(span).eqNullSafe(F.max("after_ms").over(span))
        for name, span in (("differed", earlier), ("differs", until))
    }
    judged = steps.withColumns({**differs, "next": F.lead("bucket").over(in_order)})
    unequal = judged.where(~F.col("before").eqNullSafe(F.col("after")) | F.col("differed"))
    end = F.when(F.col("differs"), F.coalesce("next", F.lit(NEVER))).otherwise(F.col("bucket"))
    # A range that goes on from the one before it is part of it.
    begins = F.when(F.col("differed"), 0).otherwise(1)
    ranges = unequal.select("bucket", end.alias("end"), F.sum(begins).over(until).alias("range"))
    return ranges.groupBy("range").agg(F.min("bucket").alias(FROM), F.max("end").alias(TO)).drop("range")


def _around_the_start(before: Ground, after: Ground) -> DataFrame:
    """Return the range between the first rows, for a watermark that follows the clock alone from its first row on."""
    firsts = [ground.moving.agg(F.min("bucket").alias("first")) for ground in (before, after)]
    ranges = (
        firsts[0]
        .union(firsts[1])
        .agg(
            F.min("first").alias(FROM),
            F.coalesce(F.max("first"), F.lit(NEVER)).alias(TO),
            F.count("first").alias("n"),
        )
    )
    return ranges.where((F.col(FROM) != F.col(TO)) | (F.col("n") == 1)).select(FROM, TO)


def _around_the_end(before: Ground, after: Ground) -> DataFrame:
    """Return the range from the last epoch of the replay that ends first, if they end at different moments."""
    ends = [
        ground.moving.agg(
            F.max("bucket").alias("bucket"),
            F.coalesce(F.lit(ground.until_us).cast("long"), F.max("last_clock_us")).alias("end_us"),
        )
        for ground in (before, after)
    ]
    ranges = (
        ends[0]
        .union(ends[1])
        .agg(
            (F.min("bucket") - F.lit(1)).alias(FROM),
            F.lit(NEVER).alias(TO),
            (F.min("end_us").eqNullSafe(F.max("end_us")) & (F.min("bucket").eqNullSafe(F.max("bucket")))).alias(
                "equal"
            ),
        )
    )
    return ranges.where(~F.col("equal") & F.col(FROM).isNotNull()).select(FROM, TO)
