"""Lateness of a row: on time, late, or too late for its window. Every comparison with a watermark stands here.

Law, with F the first passages of the window calendar (rules 51, 54, 55, 64):

    on time    epoch <= F(last)                      watermark before the row <  last
    late       F(last) < epoch <= F(last + lateness) last <= watermark < last + lateness
    too late   F(last + lateness) < epoch            last + lateness <= watermark

A passage that never happens is null and is later than every row. F never falls from a window to a newer window. So a
row that is on time for its oldest window is on time for all of its windows. A row that is too late for its newest
window is too late for all.

Otherwise two window starts divide the windows of a row: the oldest that accepts it on time, and the oldest that accepts
it at all. Both are computed from the watermark before the row.

An interval join has no windows. Its rows are late if ts < W, with the watermark W before the row; null is MIN (rule
91). Rows of an as-of join are late if ts <= W (rule 104).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.quoting import quoted


def is_on_time(epoch: Column, fires_epoch: Column) -> Column:
    """Return whether a row of `epoch` arrives before its window fires."""
    return fires_epoch.isNull() | (epoch <= fires_epoch)


def is_too_late(epoch: Column, closes_epoch: Column) -> Column:
    """Return whether a row of `epoch` arrives after its window's state has ended."""
    return closes_epoch.isNotNull() & (epoch > closes_epoch)


def is_behind_strictly(ts_ms: Column, watermark_ms: Column) -> Column:
    """Return whether a row is late for a join; never null."""
    return watermark_ms.isNotNull() & (ts_ms < watermark_ms)


def is_at(ts_ms: Column, watermark_ms: Column) -> Column:
    """Return whether a row's event time equals the watermark, so that it is just not late for a join; never null."""
    return watermark_ms.isNotNull() & (ts_ms == watermark_ms)


def is_reached(ts_ms: Column, watermark_ms: Column) -> Column:
    """Return whether the watermark has reached a row, so that it is late for an as-of join; never null."""
    return watermark_ms.isNotNull() & (ts_ms <= watermark_ms)


def may_be_behind(ts_ms: Column, ceiling_ms: Column) -> Column:
    """Return whether a row may be late or at the watermark, if only an upper bound of it is known; never null."""
    return ceiling_ms.isNotNull() & (ts_ms <= ceiling_ms)


def is_complete(watermark_ms: Column, last_ms: Column) -> Column:
    """Return whether a window that ends with `last_ms` has fired at `watermark_ms` (null: MIN); never null (rule 2)."""
    return F.coalesce(watermark_ms >= last_ms, F.lit(False))


def oldest_on_time_ms(watermark_ms: Column, spec: Windows) -> Column:
    """Start of the oldest window for which a row is on time when the watermark before it is `watermark_ms`."""
    return window_assigners.next_ms(window_assigners.latest_with_last_ms(watermark_ms, spec), spec)


def oldest_accepting_ms(watermark_ms: Column, spec: Windows) -> Column:
    """Start of the oldest window that still accepts a row when the watermark before it is `watermark_ms`."""
    return window_assigners.next_ms(window_assigners.latest_with_cleanup_ms(watermark_ms, spec), spec)


def on_time(rows: DataFrame, calendar: DataFrame, spec: Windows) -> DataFrame:
    """Return the rows that have a window and are on time for all of their windows.

    `rows` are prepared, with epoch; `calendar` has their windows.
    """
    oldest = _oldest(spec)
    entry = calendar.select(F.col("window_ms").alias(c.OLDEST_MS), F.col("fires_epoch").alias(c.FIRES_EPOCH))
    assigned = rows.where(oldest <= F.col(c.WINDOW_MS)) if spec.have_gaps else rows
    judged = assigned.withColumn(c.OLDEST_MS, oldest).join(F.broadcast(entry), c.OLDEST_MS)
    return judged.where(is_on_time(F.col(c.EPOCH), F.col(c.FIRES_EPOCH)))


def behind(rows: DataFrame, calendar: DataFrame, spec: Windows) -> DataFrame:
    """Return the rows that are late or too late for a window, or have no window and may be too late (rule 53)."""
    oldest, newest = _oldest(spec), F.col(c.WINDOW_MS)
    entry = calendar.select(
        F.col("window_ms").alias(c.OLDEST_MS),
        F.col("fires_epoch").alias(c.FIRES_EPOCH),
        F.col("closes_epoch").alias(c.CLOSES_EPOCH),
    )
    judged = rows.withColumn(c.OLDEST_MS, F.least(oldest, newest)).join(F.broadcast(entry), c.OLDEST_MS)
    late_after = passed(oldest, newest, F.col(c.FIRES_EPOCH), F.col(c.CLOSES_EPOCH))
    return judged.where(~is_on_time(F.col(c.EPOCH), late_after)).select(*map(quoted, rows.columns))


def passed(oldest_ms: Column, newest_ms: Column, fires_epoch: Column, closes_epoch: Column) -> Column:
    """Return the epoch after which a row is late for the oldest of its windows, from that window's passages.

    For a row between two windows it is the closing of the older window: before that no row is reported.
    """
    return F.when(oldest_ms <= newest_ms, fires_epoch).otherwise(closes_epoch)


def with_too_late(rows: DataFrame, spec: Windows) -> DataFrame:
    """Return the rows of `behind` with `TOO_LATE`, from their `WATERMARK_MS`; without rows that vanish (rule 53)."""
    watermark, newest = F.col(c.WATERMARK_MS), F.col(c.WINDOW_MS)
    closed = newest < oldest_accepting_ms(watermark, spec)
    if not spec.have_gaps:
        return rows.withColumn(c.TOO_LATE, closed)
    assigned = _oldest(spec) <= newest
    reported = F.col(c.TS_MS) <= window_assigners.latest_reported_ms(watermark, spec)
    return rows.where(assigned | reported).withColumn(c.TOO_LATE, ~assigned | closed)


def _oldest(spec: Windows) -> Column:
    return window_assigners.oldest_ms(F.col(c.TS_MS), spec) if spec.is_sliding else F.col(c.WINDOW_MS)
