"""Lateness of a row: on time, late, or too late for its window. Every comparison with a watermark stands here.

Law, with F the first passages of the window calendar (rules 51, 54, 55, 64):

    on time    epoch <= F(last)                      watermark before the row <  last
    late       F(last) < epoch <= F(last + lateness) last <= watermark < last + lateness
    too late   F(last + lateness) < epoch            last + lateness <= watermark

A passage that never happens is null and is later than every row.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay import columns as c


def is_on_time(epoch: Column, fires_epoch: Column) -> Column:
    """Whether a row of `epoch` comes before its window's firing."""
    return fires_epoch.isNull() | (epoch <= fires_epoch)


def is_too_late(epoch: Column, closes_epoch: Column) -> Column:
    """Whether a row of `epoch` comes after its window's state has ended."""
    return closes_epoch.isNotNull() & (epoch > closes_epoch)


def is_complete(watermark_ms: Column, last_ms: Column) -> Column:
    """Whether a window that ends with `last_ms` has fired at `watermark_ms` (null: MIN); never null (rule 2)."""
    return F.coalesce(watermark_ms >= last_ms, F.lit(False))


def judged(rows: DataFrame, calendar: DataFrame) -> DataFrame:
    """`rows` (prepared, with epoch, each in a window of the calendar) with `FIRES_EPOCH` and `CLOSES_EPOCH`."""
    entry = calendar.select(
        F.col("window_ms").alias(c.WINDOW_MS),
        F.col("fires_epoch").alias(c.FIRES_EPOCH),
        F.col("closes_epoch").alias(c.CLOSES_EPOCH),
    )
    return rows.join(F.broadcast(entry), c.WINDOW_MS)


def on_time(rows: DataFrame, calendar: DataFrame) -> DataFrame:
    """The rows that are on time."""
    return judged(rows, calendar).where(is_on_time(F.col(c.EPOCH), F.col(c.FIRES_EPOCH)))


def late(rows: DataFrame, calendar: DataFrame) -> DataFrame:
    """The rows that are late or too late, with `TOO_LATE`."""
    behind = judged(rows, calendar).where(~is_on_time(F.col(c.EPOCH), F.col(c.FIRES_EPOCH)))
    return behind.withColumn(c.TOO_LATE, is_too_late(F.col(c.EPOCH), F.col(c.CLOSES_EPOCH)))
