"""Runs with other treatments of late rows stage in slices, check and publish the results of the reference."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.pipelines import sessions
from tests.support.whole_run import assert_a_range_changes_nothing, assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]

SLIDING = {"windows__kind": "sliding", "windows__slide": "4 minutes"}
EPOCHS = {"windows__late_panes": "per_epoch", "watermark__emit": "{every: 2 minutes}"}
WAYS = {
    "retracting": {"windows__accumulation": "retracting", **EPOCHS},
    "dropping": {**SLIDING, "windows__late_data": "drop"},
    "gathering": {**SLIDING, **EPOCHS, "windows__accumulation": "discarding"},
    "sessions": {"windows__late_data": "drop", "windows__accumulation": "retracting"},
    "updating": {"windows__late_data": "update"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_sliced_run_passes_its_checks_and_publishes_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, way: str
) -> None:
    pipeline = (sessions if way == "sessions" else history.pipeline)(table, **WAYS[way])
    run, expected = assert_publishes_the_references(spark, pipeline, lake, slices=3)
    assert_way(way, run.counts, expected)


def assert_way(way: str, counts: dict[str, int], expected: Any) -> None:
    """The stream is one in which the way makes a difference."""
    withdrawn = sum(pane.get("is_retraction", False) for pane in expected.panes)
    assert counts.get("retractions", 0) == withdrawn
    assert (withdrawn > 0) is (way in ("retracting", "sessions"))
    assert (counts["too_late"] > 0) is (way != "updating")
    assert (expected.late_events == []) is (way in ("dropping", "sessions", "updating"))
    assert counts["late"] > 0


@pytest.mark.soak
def test_a_range_of_dropping_sessions_counts_its_own_rows(spark: SparkSession, table: str, lake: Lake) -> None:
    start = history.START + timedelta(minutes=50, seconds=7)
    interval = Interval(start, start + timedelta(minutes=20))
    assert_a_range_changes_nothing(spark, sessions(table, **WAYS["sessions"]), lake, interval)
