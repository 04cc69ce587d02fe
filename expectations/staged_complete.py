"""Staged complete results, reduced to the columns that invariants use (only with `replay.mode: complete`)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.staged import COMPLETE_COLUMNS, Staged
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE


def complete_results(staged: Staged) -> DataFrame:
    """Return every complete result with its `key`.

    `faithful_rows` is the row count of the faithful result; null if the window has none. For sessions it is the sum
    over all faithful sessions within the complete session.
    """
    faithful_rows = F.col("faithful.row_count")
    if staged.pipeline.windows.is_session:
        faithful_rows = F.aggregate(faithful_rows, F.lit(0).cast("long"), Column.__add__)
    results = staged.tables[COMPLETE_TABLE].withColumn("faithful_rows", faithful_rows)
    columns = (name for name in COMPLETE_COLUMNS if name != "faithful")
    return staged.keep(results.select(staged.key(results).alias("key"), *columns, "faithful_rows"))
