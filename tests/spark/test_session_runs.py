"""Runs with session windows: what they publish is what the reference says, whole or a part of time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.run import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import RESULT_TABLES, Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import Interval
from tests.spark import history
from tests.spark.engine import in_order, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def sessions(table: str, **overrides: str) -> Pipeline:
    gap = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
    return history.pipeline(table, **{**gap, **overrides})


def published(spark: SparkSession, lake: Lake) -> dict[str, list[Any]]:
    """The rows of all published tables, without the run that made them, in one order."""
    return {name: in_order(rows_of(read_published(spark, lake, name).drop("run_id"))) for name in RESULT_TABLES}


@pytest.mark.parametrize("accumulation", ["accumulating", "discarding"])
def test_a_whole_run_passes_its_checks_and_publishes_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, accumulation: str
) -> None:
    pipeline = sessions(table, windows__accumulation=accumulation)
    outcomes = Runner(spark, pipeline, lake).run(Interval())
    assert [o.state for o in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    expected = reference.replay(history.events(), pipeline)
    found = published(spark, lake)
    for name in RESULT_TABLES:
        assert found[name] == in_order(getattr(expected, name)), name
    counts = ledger.find(spark, lake, outcomes[0].run_id).counts  # type: ignore[union-attr]
    assert {name: counts[name] for name in expected.counts} == expected.counts
    swallowed = {(p["device"], p["window_start"], p["window_end"]) for p in expected.panes} - {
        (r["device"], r["window_start"], r["window_end"]) for r in expected.window_results
    }
    assert min(counts["late"], counts["too_late"], len(swallowed)) > 0


def test_an_open_end_leaves_the_last_sessions_pending(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = sessions(table, replay__end_of_input="keep_open")
    Runner(spark, pipeline, lake).run(Interval())
    expected = reference.replay(history.events(), pipeline)
    found = published(spark, lake)
    for name in RESULT_TABLES:
        assert found[name] == in_order(getattr(expected, name)), name


@pytest.mark.soak
def test_a_range_of_the_same_pipeline_changes_nothing(spark: SparkSession, table: str, lake: Lake) -> None:
    Runner(spark, sessions(table), lake).run(Interval())
    before = published(spark, lake)
    start = history.START + timedelta(minutes=50, seconds=7)
    outcomes = Runner(spark, sessions(table), lake, slices=2).run(Interval(start, start + timedelta(minutes=20)))
    assert [o.state for o in outcomes] == ["done"] * 5
    assert published(spark, lake) == before
