"""Runs over the small history: publish them, read what they published."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import Base
from tests.support.engine import rows_of


def publish(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    slices: int = 1,
    *,
    arrived_to: datetime | None = None,
    restate: bool = False,
) -> str:
    """Take all steps but the checks, which have separate tests: replay, then publish what is staged."""
    runner = Runner(spark, pipeline, lake, slices=slices)
    planned, _ = runner.plan(interval, arrived_to, restate=restate)
    runner.step("replay", runner.find(planned.run.run_id))
    run = runner.find(planned.run.run_id)
    versions = publishing.publish(spark, lake, run, results=pipeline.results)
    now = datetime.now(UTC)
    ledger.record(spark, lake, run, ledger.Step("publish", "done", now, now, versions=versions))
    return run.run_id


def published(spark: SparkSession, lake: Lake) -> dict[str, list[Any]]:
    """The rows of all published tables, without the run that made them, in one order."""
    tables = {}
    for name in RESULT_TABLES:
        rows = rows_of(read_published(spark, lake, name).drop("run_id"))
        tables[name] = sorted((sorted(row.items()) for row in rows), key=str)
    return tables


SILENT_NORTH = "site <> 'north' or id < 1000 or id > 1500"


STRATEGIES = {
    "silence": {
        "watermark": "{placement: after_where, out_of_orderness: 10 s, emit: {every: 30 s}, idle_timeout: 5 minutes}",
        "source__where": SILENT_NORTH,
    },
    "marks": {
        "watermark": "{placement: after_where, strategy: punctuated, when: reading > 40, emit: {every_n: 20}, "
        "idle_timeout: 5 minutes}",
        "source__where": SILENT_NORTH,
    },
    "a time lag": {"watermark": "{strategy: time_lag, lag: 20 s, emit: {every: 1 minute}}"},
    "no watermark": {"watermark": "{strategy: none}"},
}


def named(spark: SparkSession, lake: Lake) -> Base:
    """Give what the ledger names."""
    runs = ledger.published(spark, lake)
    return Base(runs[-1].versions, frozenset(run.run_id for run in runs))
