"""A run beside the results of a live job: checks name the windows that differ, and nothing else."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from expectations import LIVE, AuditError, Check, check
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.model import LiveResults, Pipeline
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.sampling import sampled
from tests.support import history
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, at, frame, frames, result
from tests.support.runs import publish

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

IN_RUN, IN_LIVE, EQUAL = (
    "every_window_of_the_live_job_has_a_result",
    "every_result_is_one_of_the_live_job",
    "results_are_those_of_the_live_job",
)
SCHEMA = "carrier string, window_start timestamp, flights int, note string"


def beside(tolerance: float = 0.0) -> Pipeline:
    return replace(PIPELINE, quality=replace(PIPELINE.quality, compare_with=LiveResults("live/windows", tolerance)))


def live_rows() -> list[dict[str, Any]]:
    """Return the results of a live job that are equal to the results of the run."""
    return copy.deepcopy(CORRECT["window_results"])


def checked(
    spark: SparkSession, live: list[dict[str, Any]], tolerance: float = 0.0, schema: str = SCHEMA
) -> dict[str, Check]:
    """The checks of the comparison, by name; all others hold."""
    tables = {**frames(spark, CORRECT), LIVE: frame(spark, schema, live)}
    results = check(tables, beside(tolerance), COUNTS)
    assert all(c.success for c in results if c.suite != "live")
    return {c.expectation: c for c in results if c.suite == "live"}


def test_equal_results_pass_whatever_the_type_of_their_whole_numbers(spark: SparkSession) -> None:
    checks = checked(spark, live_rows())
    assert {name: c.observed for name, c in checks.items()} == dict.fromkeys((IN_RUN, IN_LIVE, EQUAL), "0 of 4 rows")
    assert all(c.success for c in checks.values())


def test_each_difference_fails_its_check_which_shows_both_sides(spark: SparkSession) -> None:
    live = live_rows()
    live[0]["flights"] = 6
    live[1] = result("BB", 0, 1, 7, at(13))
    checks = checked(spark, live)
    assert {name: c.unexpected_count for name, c in checks.items()} == {IN_RUN: 1, IN_LIVE: 1, EQUAL: 1}
    difference = json.loads(checks[EQUAL].details)
    assert (difference["key"], difference["result"], difference["live"]) == (
        {"carrier": "AA"},
        {"flights": 5},
        {"flights": 6},
    )
    assert json.loads(checks[IN_RUN].details)["live"] == {"flights": 7}
    assert "result" not in json.loads(checks[IN_RUN].details)


@pytest.mark.soak
def test_a_window_that_the_live_job_has_twice_is_none_of_its_results(spark: SparkSession) -> None:
    checks = checked(spark, [*live_rows(), result("AA", 10, 1, 2, at(22))])
    assert {name for name, c in checks.items() if not c.success} == {IN_LIVE}


@pytest.mark.soak
def test_windows_outside_the_live_jobs_span_are_not_compared(spark: SparkSession) -> None:
    checks = checked(spark, [row for row in live_rows() if row["window_start"] == at(10)])
    assert {c.observed for c in checks.values()} == {"0 of 1 rows"}
    assert {c.observed for c in checked(spark, []).values()} == {"0 of 0 rows"}


@pytest.mark.soak
@pytest.mark.parametrize(("tolerance", "differs"), [(0.16, True), (0.17, False)])
def test_numbers_may_differ_by_the_share_that_is_allowed(spark: SparkSession, tolerance: float, differs: bool) -> None:
    live = live_rows()
    live[0]["flights"] = 6
    assert checked(spark, live, tolerance)[EQUAL].success is not differs


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        sampled("carrier string, flights int", "has no column window_start; found carrier, flights", quick=True),
        sampled("carrier string, window_start timestamp", "has no column for any aggregate", quick=False),
        sampled(
            *("carrier string, window_start array<int>, flights int", r"quality\.compare_with: .*window_start"),
            quick=False,
        ),
    ],
)
def test_a_table_that_cannot_be_compared_with_is_refused(spark: SparkSession, schema: str, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        checked(spark, [], schema=schema)


@pytest.mark.soak
def test_a_run_that_differs_from_the_live_job_is_blocked(spark: SparkSession, tmp_path: Path) -> None:
    table = history.land(spark, history.events(), tmp_path / "source")
    live, lake = str(tmp_path / "live"), Lake(str(tmp_path / "lake"), "readings")
    publish(spark, history.pipeline(table), Lake(str(tmp_path / "other"), "readings"), Interval())
    published = read_published(spark, Lake(str(tmp_path / "other"), "readings"), "window_results")
    published.select("device", "window_start", "total").write.format("delta").save(live)
    pipeline = history.pipeline(table, quality__compare_with=f"{{table: {live}}}")
    assert [outcome.state for outcome in Runner(spark, pipeline, lake).run(Interval())] == ["done"] * 5
    DeltaTable.forPath(spark, live).update("device = 'a'", {"total": "total + 1"})
    hour = Interval(history.START, history.START.replace(hour=23))
    changed = history.pipeline(table, quality__compare_with=f"{{table: {live}}}")
    with pytest.raises(BlockedError, match=r"1 of \d+ checks failed\n  live: results_are_those_of_the_live_job"):
        Runner(spark, changed, lake).run(hour)
    without_table = history.pipeline(table, quality__compare_with=f"{{table: {live}-gone}}")
    part = Interval(history.START.replace(hour=23), None)
    with pytest.raises(InputError, match=r"quality\.compare_with"):
        Runner(spark, without_table, lake).run(part)
