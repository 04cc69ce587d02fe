"""Results that nobody can have meant: what is judged, by which limit, and what the check shows."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations import Check, check
from expectations.run_context import RunContext
from spark_jobs.pipeline.model import EndOfInput, Pipeline, ReplayOrder
from tests.sampling import sampled
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, frames, interpreted, invalid

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

YEAR_MS = 365 * 86_400_000
#: Of the drawn run, four windows contain 12 rows.
WHOLE = RunContext(is_whole=True)


@pytest.fixture(scope="module", autouse=True)
def quick(spark: SparkSession) -> Iterator[None]:
    with interpreted(spark):
        yield


def judged(spark: SparkSession, context: RunContext, rows: Any = CORRECT, **quality: Any) -> dict[str, Check]:
    """Return the checks of the suite by their name, for the drawn run in a context."""
    pipeline = replace(PIPELINE, quality=replace(PIPELINE.quality, **quality))
    return of_suite(spark, rows, pipeline, context)


def of_suite(spark: SparkSession, rows: Any, pipeline: Pipeline, context: RunContext) -> dict[str, Check]:
    checks = check(frames(spark, rows), pipeline, COUNTS, context=context)
    return {c.expectation: c for c in checks if c.suite == "plausibility"}


def test_a_run_over_all_of_time_needs_a_window(spark: SparkSession) -> None:
    nothing = {**CORRECT, "window_results": []}
    failed = judged(spark, WHOLE, nothing)["the_run_has_windows"]
    assert not failed.success
    assert failed.blocks
    assert failed.observed == "0 windows of 18 rows read, 3 invalid, 1 filtered"
    assert judged(spark, WHOLE)["the_run_has_windows"].success
    assert not judged(spark, WHOLE, min_windows=5)["the_run_has_windows"].success
    assert "the_run_has_windows" not in judged(spark, WHOLE, nothing, min_windows=None)


def test_a_part_of_time_may_have_no_window(spark: SparkSession) -> None:
    assert judged(spark, RunContext(), {**CORRECT, "window_results": []})["the_run_has_windows"].success


def test_rows_may_wait_in_windows_that_stay_open(spark: SparkSession) -> None:
    open_ended = replace(PIPELINE, replay=ReplayOrder(end_of_input=EndOfInput.KEEP_OPEN))
    nothing = {**CORRECT, "window_results": []}
    assert of_suite(spark, nothing, open_ended, WHOLE)["the_run_has_windows"].success
    no_row = {**nothing, "panes": []}
    assert not of_suite(spark, no_row, open_ended, WHOLE)["the_run_has_windows"].success


@pytest.mark.parametrize(("far_behind", "success"), [(50, True), (51, False)])
def test_events_of_1970_beside_arrivals_of_today_are_in_another_unit(
    spark: SparkSession, far_behind: int, success: bool
) -> None:
    context = RunContext(
        timed_rows=100,
        far_behind_rows=far_behind,
        newest_event_ms=20 * 86_400_000,
        newest_arrival_ms=54 * YEAR_MS,
    )
    answer = judged(spark, context)["events_are_of_the_time_of_their_arrival"]
    assert answer.success is success
    assert answer.observed == (
        f"{far_behind} of 100 rows; the newest event is of 1970-01-21 00:00, the newest arrival of 2023-12-19 00:00"
    )
    assert "more than 7300 days before they arrived" in answer.description
    assert "events_are_of_the_time_of_their_arrival" not in judged(spark, context, max_arrival_lag_ms=None)


@pytest.mark.parametrize(
    ("replaced", "success"),
    [
        sampled(None, True, quick=False),
        sampled(0, True, quick=False),
        sampled(24, True, quick=True),
        sampled(25, False, quick=True),
    ],
)
def test_published_results_are_not_taken_away(spark: SparkSession, replaced: int | None, success: bool) -> None:
    answer = judged(spark, RunContext(replaced_rows=replaced))["published_results_are_not_taken_away"]
    assert answer.success is success
    published = "nothing is published" if replaced is None else f"{replaced} are published"
    assert answer.observed == f"12 rows in windows, where {published}"
    without = judged(spark, RunContext(replaced_rows=replaced), max_removed_ratio=None)
    assert "published_results_are_not_taken_away" not in without


def test_more_invalid_rows_than_half_block_and_are_shown_by_reason(spark: SparkSession) -> None:
    rows = copy.deepcopy(CORRECT)
    rows["invalid_events"] = [invalid("event_time_unreadable") for _ in range(8)] + [
        invalid("arrival_time_missing")
    ] * 2
    tables = frames(spark, rows)
    read = {"departed_at": "'01.01.2023 00:14:11'", "landed_at": "CAST(NULL AS STRING)"}
    tables["invalid_events"] = tables["invalid_events"].selectExpr("*", *(f"{v} AS {k}" for k, v in read.items()))
    checks = {c.expectation: c for c in check(tables, PIPELINE, {"rows_read": 18, "filtered": 1})}
    failed = checks["not_too_many_rows_are_invalid"]
    assert not failed.success
    assert failed.observed == "10 of 18 rows (55.556 %)"
    assert [json.loads(line) for line in failed.details.splitlines()] == [
        {"reason": "event_time_unreadable", "rows": 8, "values": ["01.01.2023 00:14:11"]},
        {"reason": "arrival_time_missing", "rows": 2},
    ]


def test_values_that_cannot_be_read_again_are_left_out(spark: SparkSession) -> None:
    rows = {**CORRECT, "invalid_events": [invalid("event_time_missing") for _ in range(10)]}
    checks = {c.expectation: c for c in check(frames(spark, rows), PIPELINE, COUNTS)}
    assert checks["not_too_many_rows_are_invalid"].details == '{"reason": "event_time_missing", "rows": 10}'
