"""A whole run, all steps one after the other: what it publishes and counts is what the reference gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName, StepResult
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, RESULT_TABLES
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.result_columns import assert_derives_the_published_columns


def published(spark: SparkSession, lake: Lake) -> dict[str, list[Any]]:
    """The rows of all published tables, without the run that made them, in one order."""
    versions = ledger.published(spark, lake)[-1].versions
    names = [*RESULT_TABLES, *(name for name in (COMPLETE_TABLE,) if name in versions)]
    return {name: in_order(rows_of(read_published(spark, lake, name).drop("run_id"))) for name in names}


def assert_published(spark: SparkSession, lake: Lake, expected: reference.Replay, label: object = "") -> None:
    """Assert that the published tables equal the reference's, row for row; `label` names the case in an error."""
    assert_equal(published(spark, lake), expected, label)


def assert_equal(tables: Mapping[str, list[Any]], expected: reference.Replay, label: object = "") -> None:
    """Assert that published tables (`published`) equal the reference's, row for row."""
    assert ("complete_results" in tables) or not expected.complete_results
    for name in tables:
        assert tables[name] == in_order(getattr(expected, name)), (name, label)


def planned_without_spark(
    pipeline: Pipeline, lake: Lake, interval: Interval, arrived_to: datetime | None, *, restate: bool, changed: bool
) -> Plan | None:
    """Return the plan that delta-rs makes; None if it needs Spark or refuses, as Spark then does."""
    try:
        return plan(DeltaRsTables(pipeline, lake), interval, arrived_to, restate=restate, changed=changed)
    except (NeedsSparkError, InputError):
        return None


def run_steps(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval | None = None,
    arrived_to: datetime | None = None,
    *,
    slices: int = 1,
    restate: bool = False,
    changed: bool = False,
) -> list[StepResult]:
    """The steps of a run but its report."""
    runner = Runner(spark, pipeline, lake, slices=slices)
    whole_or = interval or Interval()
    without_spark = planned_without_spark(pipeline, lake, whole_or, arrived_to, restate=restate, changed=changed)
    planned, outcome = runner.begin(whole_or, arrived_to, restate=restate, changed=changed)
    if without_spark is not None:
        assert (replace(without_spark.run, steps=()), without_spark.note) == (
            replace(planned.run, steps=()),
            planned.note,
        )
    steps = (StepName.REPLAY, StepName.AUDIT, StepName.PUBLISH)
    return [outcome, *(runner.step(step, runner.find(planned.run.run_id)) for step in steps)]


def assert_publishes_the_references(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    *,
    slices: int = 1,
    rows: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[Run, reference.Replay]:
    """Run a pipeline over the history, or over a source that holds `rows`; gives the run and the reference's answer."""
    outcomes = Runner(spark, pipeline, lake, slices=slices).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    expected = reference.replay(history.events() if rows is None else rows, pipeline)
    assert_published(spark, lake, expected)
    run = ledger.find(spark, lake, outcomes[0].run_id)
    assert run is not None
    assert {name: run.counts[name] for name in expected.counts} == expected.counts
    assert_derives_the_published_columns(spark, pipeline, lake, run)
    return run, expected


def assert_a_range_changes_nothing(spark: SparkSession, pipeline: Pipeline, lake: Lake, interval: Interval) -> None:
    """Run a pipeline whole and then over a part of time: what is published stays the same."""
    Runner(spark, pipeline, lake).run(Interval())
    before = published(spark, lake)
    outcomes = Runner(spark, pipeline, lake, slices=2).run(interval)
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    assert published(spark, lake) == before
