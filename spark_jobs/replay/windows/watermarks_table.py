"""The published table `watermarks`: a row for each window that holds a row, from the window calendar."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.local_rows import no_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import timestamps, window_assigners
from spark_jobs.replay.watermark import combined

_TIMES = ("window_start", "window_end", "fires_at", "watermark_at_fire", "closes_at")


def empty(spark: SparkSession) -> DataFrame:
    """Return the table without rows."""
    partition = "array<struct<source_partition: string, watermark: timestamp>>"
    times = ", ".join(f"{n} timestamp" for n in _TIMES)
    return no_rows(spark, f"{times}, partition_watermarks {partition}")


def rows(book: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows of the calendar `book` as rows of the table."""
    start = F.col("window_ms")
    reached = F.when(F.col("fires_epoch").isNotNull(), timestamps.from_millis(F.col("watermark_ms")))
    at_end = F.when(F.col("fires_us").isNotNull(), timestamps.end_of_input())
    return book.where("holds").select(
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(window_assigners.end_ms(start, pipeline.windows)).alias("window_end"),
        F.timestamp_micros("fires_us").alias("fires_at"),
        F.coalesce(reached, at_end).alias("watermark_at_fire"),
        F.timestamp_micros("closes_us").alias("closes_at"),
        combined.of_partitions(combined.listed_only("partition_watermarks")).alias("partition_watermarks"),
    )
