"""Every kind of Delta table is read as a plain table is, at the version of the plan, by either engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables import ledger, source
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history, table_kinds
from tests.support.engine import in_order, rows_of
from tests.support.table_kinds import KINDS, Kind

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session", "as_of_many_rows")]

ROWS = history.events(700)
PART = Interval(history.START, history.START + timedelta(minutes=20))
Tables = dict[str, list[Any]]


@pytest.fixture(name="of_a_plain_table", scope="module")
def _of_a_plain_table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """What a run publishes over a plain table."""
    folder = tmp_path_factory.mktemp("plain")
    table_kinds.plain(spark, str(folder / "rows"), ROWS)
    lake = Lake(str(folder / "lake"), "readings")
    pipeline = history.pipeline(str(folder / "rows"))
    steps_after_plan(spark, pipeline, lake, Runner(spark, pipeline, lake).plan(Interval())[0].run.run_id)
    tables = published(spark, lake, {})
    assert all(tables[name] for name in ("panes", "window_results", "late_events", "invalid_events", "watermarks"))
    return tables


@pytest.fixture(name="engine", params=["comet", "spark"])
def _engine(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """The engine that reads: Comet where it can, or Spark alone."""
    if request.param == "comet":
        request.getfixturevalue("comet")
    before = spark.conf.get(COMET_ENABLED, "false")
    spark.conf.set(COMET_ENABLED, str(request.param == "comet").lower())
    yield request.param
    spark.conf.set(COMET_ENABLED, str(before))


def steps_after_plan(spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str) -> None:
    runner = Runner(spark, pipeline, lake)
    for name in (StepName.REPLAY, StepName.PUBLISH):
        if name == StepName.PUBLISH:
            run = runner.find(run_id)
            versions = publishing.publish(spark, lake, run)
            moment = run.finished_at
            assert moment is not None
            ledger.record(spark, lake, run, ledger.Step(name, "done", moment, moment, versions=versions))
        else:
            runner.step(name, runner.find(run_id))


def published(spark: SparkSession, lake: Lake, names: Mapping[str, str]) -> Tables:
    """Return the rows of the published tables, by the names of the history's columns and of no other source column."""
    original = {other: name for name, other in names.items()}
    tables = {}
    for table in RESULT_TABLES:
        every = [
            {original.get(name, name): value for name, value in row.items() if name != "run_id"}
            for row in rows_of(read_published(spark, lake, table))
        ]
        if table in ("late_events", "invalid_events"):
            every = [{name: value for name, value in row.items() if name in _OF_ROWS} for row in every]
        tables[table] = in_order(every)
    return tables


_OF_ROWS = {*history.SCHEMA.names, "event_time", "arrival_time", "watermark", "window_start", "window_end", "reason"}


@pytest.mark.soak
@pytest.mark.parametrize("name", KINDS)
def test_results_are_those_of_a_plain_table(
    spark: SparkSession, engine: str, name: str, of_a_plain_table: Tables, tmp_path: Path, lake: Lake
) -> None:
    kind, table = KINDS[name], str(tmp_path / "ro ws")
    kind.make(spark, table, ROWS)
    pipeline = history.pipeline(table, **kind.settings)
    planned, _ = Runner(spark, pipeline, lake).plan(Interval())
    version = planned.run.source_version
    assert version == source.pinned_version(spark, table)
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id % 2 = 0")  # noqa: S608  an own path
    spark.sql(f"OPTIMIZE delta.`{table}`")
    assert source.pinned_version(spark, table) > version
    steps_after_plan(spark, pipeline, lake, planned.run.run_id)
    assert published(spark, lake, kind.names) == of_a_plain_table
    assert_plans_agree(spark, pipeline, lake, kind)


def assert_plans_agree(spark: SparkSession, pipeline: Pipeline, lake: Lake, kind: Kind) -> None:
    """Delta-rs plans a part of time as Spark does, with the same changes since; or leaves it to Spark."""
    by_spark = plan(SparkTables(spark, pipeline, lake, remembers=True), PART)
    assert "since then" in by_spark.note
    without_spark = DeltaRsTables(pipeline, lake)
    if kind.needs_spark:
        with pytest.raises(NeedsSparkError):
            plan(without_spark, PART)
    else:
        assert plan(without_spark, PART) == by_spark
