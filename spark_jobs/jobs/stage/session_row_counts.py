"""Counting the rows of sessions: which rows belong to a part of time depends on the sessions that took them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import session_panes
from spark_jobs.tables.interval import Interval


def accepted(panes: DataFrame, results: DataFrame, pipeline: Pipeline) -> int:
    """Count the accepted rows that the staged tables hold, each once.

    Accumulating panes show rows again; the results hold each row once.
    """
    shown_once = panes if pipeline.windows.discards else results
    return int(shown_once.agg(F.coalesce(F.sum("row_count"), F.lit(0))).collect()[0][0])


def late_rows(panes: DataFrame, scanned: DataFrame, interval: Interval, pipeline: Pipeline) -> int:
    """Count the rows that were late for the session that took them; of a part of time, those that `accepted` counts.

    `panes` is `session_panes.scanned_panes`, `scanned` is `session_scan.scanned`.
    """
    late = scanned.where("is_late = 1")
    if interval.whole:
        return late.count()
    once = panes if pipeline.windows.discards else session_panes.latest(panes)
    return session_panes.rows_in(once.where(interval.holds(F.col("window_start"))), late, pipeline).count()


def filtered(rows: DataFrame, interval: Interval) -> int:
    """Count the valid prepared `rows` with an event time in `interval` that the pipeline's `where` drops."""
    dropped = rows.where(F.col(c.VALID) & ~F.col(c.KEPT) & interval.holds(F.timestamp_millis(c.TS_MS)))
    return dropped.count()
