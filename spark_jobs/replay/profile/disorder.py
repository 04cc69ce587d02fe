"""The disorder of each source partition: out-of-orderness of its rows, their delay, and the partition's silence.

Law, over the rows that move the watermark, in arrival order:

    out of order   max(0, highest event time of the partition's earlier rows - event time); 0 for a first row
    delay          arrival - event time; none in an order without arrivals
    silence        clock - clock of the partition's previous row; none for a first row

in whole milliseconds, floored. A quantile q is the least value that at least a share q of the rows does not exceed. It
is computed from bins no wider than 1/512 of their values, each represented by its highest value. So a quantile is never
too low, and the maximum is exact.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.event_time import millis
from spark_jobs.replay.rows.prepare import moves_watermark
from spark_jobs.replay.watermark.census import moving

OUT_OF_ORDER, DELAY, SILENCE = "out_of_order", "delay", "silence"
QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)

_BITS = 9


def disorder(rows: DataFrame, groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return by `partition` (null: all) and `measure`: `rows`, `nothing` (rows with a value of 0), `q_0` ..., `max_ms`.

    `rows` are prepared, with epoch; `groups` are `delays.groups` of them, which contain the state before each bucket.
    """
    exploded = _measured(rows, groups, pipeline).select("partition", F.explode("measures").alias("m"))
    values = exploded.select("partition", "m.measure", "m.value_ms").where("value_ms is not null")
    bins = values.groupBy("partition", "measure", _bin(F.col("value_ms")).alias("bin")).agg(
        F.count("*").alias("n"),
        F.max("value_ms").alias("highest_ms"),
        F.count_if(F.col("value_ms") == 0).alias("zeros"),
    )
    of_both_scopes = F.explode(
        F.array(F.struct(F.col("partition")), F.struct(F.lit(None).cast("string").alias("partition")))
    )
    scopes = bins.select(of_both_scopes.alias("scope"), "measure", "bin", "n", "highest_ms", "zeros")
    summed = scopes.groupBy("scope.partition", "measure", "bin").agg(
        F.sum("n").alias("n"), F.max("highest_ms").alias("highest_ms"), F.sum("zeros").alias("zeros")
    )
    of_scope = Window.partitionBy("partition", "measure")
    up_to = of_scope.orderBy("bin").rowsBetween(Window.unboundedPreceding, 0)
    ranked = summed.withColumns({"up_to": F.sum("n").over(up_to), "total": F.sum("n").over(of_scope)})
    quantiles = (
        F.min(F.when(F.col("up_to") >= F.col("total") * F.lit(q), F.col("highest_ms"))).alias(f"q_{i}")
        for i, q in enumerate(QUANTILES)
    )
    return ranked.groupBy("partition", "measure").agg(
        F.sum("n").alias("rows"), F.sum("zeros").alias("nothing"), *quantiles, F.max("highest_ms").alias("max_ms")
    )


def _measured(rows: DataFrame, groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `partition, measures` (an array of `measure, value_ms`): a row for each row that moves the watermark."""
    earlier = Window.partitionBy("partition").orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    before = (
        moving(groups, pipeline)
        .groupBy("partition", "bucket")
        .agg(F.max("top_ms").alias("top_ms"), F.max("last_clock_us").alias("last_us"))
        .select(
            "partition",
            "bucket",
            F.max("top_ms").over(earlier).alias("top_before_ms"),
            F.max("last_us").over(earlier).alias("last_before_us"),
        )
    )
    is_stored = pipeline.replay.order is not Order.EVENT_TIME
    arrival = F.coalesce(c.ARRIVAL_US, c.CLOCK_US) if is_stored else F.col(c.ARRIVAL_US)
    placed = rows.where(moves_watermark(pipeline)).select(
        F.col(c.PARTITION).alias("partition"),
        arrival_order.bucket(F.col(c.EPOCH), pipeline).alias("bucket"),
        arrival_order.position(rows, pipeline).alias("place"),
        F.col(c.TS_MS).alias("ts_ms"),
        F.col(c.CLOCK_US).alias("clock_us"),
        millis(arrival - F.col(c.EVENT_US)).alias("delay_ms"),
    )
    in_order = Window.partitionBy("partition", "bucket").orderBy("place").rowsBetween(Window.unboundedPreceding, -1)
    top = F.greatest("top_before_ms", F.max("ts_ms").over(in_order))
    last = F.greatest("last_before_us", F.max("clock_us").over(in_order))
    values = {
        OUT_OF_ORDER: F.greatest(F.coalesce(top - F.col("ts_ms"), F.lit(0)), F.lit(0)),
        DELAY: F.col("delay_ms"),
        SILENCE: millis(F.col("clock_us") - last),
    }
    joined = placed.join(before, ["partition", "bucket"])
    each = (F.struct(F.lit(name).alias("measure"), value.alias("value_ms")) for name, value in values.items())
    return joined.select("partition", F.array(*each).alias("measures"))


def _bin(value_ms: Column) -> Column:
    """Return the upper end of the bin that contains a value; bins of values below 1024 contain one value each."""
    shift = F.greatest(F.floor(F.log2(F.greatest(F.abs(value_ms), F.lit(1)))) - F.lit(_BITS), F.lit(0))
    width = F.pow(F.lit(2), shift).cast("long")
    return value_ms - F.pmod(value_ms, width) + width - F.lit(1)
