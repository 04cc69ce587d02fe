"""Counting the cost of the watermark, from the staged complete results."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.panes import complete_results
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake


def cost(spark: SparkSession, lake: Lake, run_id: str) -> dict[str, int]:
    """Count the windows, the windows that lack rows or are not shown at all, and the rows that they lack."""
    row = complete_results.totals(staging.read_staged(spark, lake, run_id, COMPLETE_TABLE)).collect()[0]
    return {
        "complete_windows": row.windows,
        "windows_missing_rows": row.lacking,
        "windows_not_shown": row.not_shown,
        "missed_rows": row.missed,
    }
