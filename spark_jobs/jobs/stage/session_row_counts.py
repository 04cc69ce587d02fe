"""Counting the rows of sessions: which rows belong to a part of time depends on the sessions that took them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.left_out import grouping
from spark_jobs.replay.sessions import session_panes
from spark_jobs.semantics.rows.left_out import LeftOut, reasons
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds


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
    return session_panes.rows_in(once.where(holds(interval, "window_start")), late, pipeline).count()


def left_out(rows: DataFrame, pipeline: Pipeline, interval: Interval) -> dict[str, int]:
    """Count the valid prepared `rows` with an event time in `interval` that are left out, by the name of the count."""
    if not any(source.where or source.leaves_out for source in pipeline.all_sources):
        return {reason.value: 0 for reason in reasons(pipeline)}
    inside = rows.where(F.col(c.VALID) & ~F.col(c.KEPT) & holds(interval, f"timestamp_millis({c.TS_MS})"))
    reason = grouping(rows).get("left_out", F.lit(None).cast("string"))
    counted = inside.groupBy(F.coalesce(reason, F.lit(LeftOut.FILTERED.value)).alias("reason")).count().collect()
    counts = {row["reason"]: int(row["count"]) for row in counted}
    return {reason.value: counts.get(reason.value, 0) for reason in reasons(pipeline)}
