"""Runs with session windows publish the results of the reference, whole or for a part of time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.pipelines import sessions
from tests.support.whole_run import assert_a_range_changes_nothing, assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.soak
@pytest.mark.parametrize("accumulation", ["accumulating", "discarding"])
def test_a_whole_run_passes_its_checks_and_publishes_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, accumulation: str
) -> None:
    pipeline = sessions(table, windows__accumulation=accumulation)
    run, expected = assert_publishes_the_references(spark, pipeline, lake)
    merged_sessions = {(p["device"], p["window_start"], p["window_end"]) for p in expected.panes} - {
        (r["device"], r["window_start"], r["window_end"]) for r in expected.window_results
    }
    assert min(run.counts["late"], run.counts["too_late"], len(merged_sessions)) > 0


@pytest.mark.soak
def test_an_open_end_leaves_the_last_sessions_pending(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = sessions(table, replay__end_of_input="keep_open")
    assert_publishes_the_references(spark, pipeline, lake)


@pytest.mark.soak
def test_a_range_of_the_same_pipeline_changes_nothing(spark: SparkSession, table: str, lake: Lake) -> None:
    start = history.START + timedelta(minutes=50, seconds=7)
    assert_a_range_changes_nothing(spark, sessions(table), lake, Interval(start, start + timedelta(minutes=20)))
