"""The numbers of other settings are in a report where the census of the run has all rows of the source."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs import session
from spark_jobs.jobs.report import alternatives as alternatives_module
from spark_jobs.jobs.report.alternatives import alternatives
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.replay.watermark.census import gathered
from spark_jobs.tables import ledger, staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.arrivals import CUTS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.soak
def test_a_run_whose_census_lacks_rows_has_no_alternatives(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    Runner(spark, pipeline, lake).run(Interval())
    (run,) = ledger.published(spark, lake)
    settings = (pipeline.watermark.bound_ms, pipeline.windows.allowed_lateness_ms)
    (own,) = (entry for entry in alternatives(spark, pipeline, lake, run) if settings == tuple(entry.values())[:2])
    assert {name: run.counts[name] for name in ("on_time", "late", "too_late")}.items() <= own.items()
    assert alternatives(spark, pipeline, lake, replace(run, arrived_from=CUTS[0])) == []
    assert alternatives(spark, pipeline, lake, replace(run, steps=run.steps[:1])) == []
    shutil.rmtree(lake.work(run.run_id, "census"))
    assert alternatives(spark, pipeline, lake, run) == []


@pytest.mark.soak
def test_a_long_census_is_weighed_by_compiled_plans_with_the_same_numbers(
    spark: SparkSession, table: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = history.pipeline(table)
    Runner(spark, pipeline, lake).run(Interval())
    (run,) = ledger.published(spark, lake)
    sessions: list[SparkSession] = []

    def recorded(groups: DataFrame) -> DataFrame:
        sessions.append(groups.sparkSession)
        return gathered(groups)

    monkeypatch.setattr(alternatives_module, "gathered", recorded)
    short = alternatives(spark, pipeline, lake, run)
    groups = staging.read_work(spark, lake, run.run_id, "census").count()
    # Few groups, but each of several delays is a passage of all of them.
    monkeypatch.setattr(session, "_INTERPRETED_ROWS", groups)
    assert alternatives(spark, pipeline, lake, run) == short != []
    assert sessions == [session.interpreting(spark), spark]
