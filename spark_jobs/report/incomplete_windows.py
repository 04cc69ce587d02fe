"""Incomplete windows: the (key, window) pairs that lack the largest shares of their rows, for the report."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline

WORST = 20


def worst(complete: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows that lack the largest share of their rows; for equal shares, those that lack most rows.

    `k0`, `k1`, ... (the key as text), `start_ms`, `end_ms`, `row_count`, `missed_rows`, `is_shown`.
    """
    keys = [F.col(f"`{name}`").cast("string").alias(f"k{i}") for i, name in enumerate(pipeline.windows.key)]
    times = [F.unix_millis("window_start").alias("start_ms"), F.unix_millis("window_end").alias("end_ms")]
    incomplete = complete.where("missed_rows > 0").select(*keys, *times, "row_count", "missed_rows", "is_shown")
    share = F.col("missed_rows") / F.col("row_count")
    ties = ["start_ms", *(f"k{i}" for i in range(len(keys)))]
    return incomplete.orderBy(share.desc(), F.desc("missed_rows"), *ties).limit(WORST)
