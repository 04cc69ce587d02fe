"""Runs over arrivals: what arrived by a moment, and slices that follow each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.pipeline import EndOfInput, Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.whole_run import assert_published, run_steps

# At a tick and between two, before the first firing and behind the last row.
CUTS = [
    history.START + timedelta(minutes=4, seconds=3),
    history.START + timedelta(minutes=70),
    history.START + timedelta(minutes=131, seconds=17, milliseconds=250),
    history.START + timedelta(hours=9),
]


def replay_until(rows: list[dict[str, Any]], pipeline: Pipeline, arrived_to: datetime) -> reference.Replay:
    """Return the results of a job over the rows that arrived before a moment."""
    arrived_rows = [row for row in rows if row["stored_at"] is None or row["stored_at"] < arrived_to]
    still = replace(pipeline, replay=replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN))
    return reference.replay(arrived_rows, still, until=arrived_to)


def assert_slices_follow(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    cuts: list[datetime] = CUTS,
    rows: list[dict[str, Any]] | None = None,
) -> list[ledger.Run]:
    rows = history.events() if rows is None else rows
    for cut in cuts:
        outcomes = run_steps(spark, pipeline, lake, arrived_to=cut)
        assert [outcome.state for outcome in outcomes] == ["done"] * 4
        assert_published(spark, lake, replay_until(rows, pipeline, cut), cut)
    return ledger.published(spark, lake)
