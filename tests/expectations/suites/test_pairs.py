"""Invariants of joins: a right run violates none, and each corruption of one is reported by exactly its invariants."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations import AuditError, check
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline.model import Accumulation, LateData, Quality
from spark_jobs.semantics.spec import WindowKind
from tests.expectations.corruptions import Corruption, cases
from tests.expectations.corruptions.good_runs import JOIN_RUNS, good_run
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.support.generated_run import at, change

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

INTERVAL, WINDOW = good_run("interval_join"), good_run("window_join")


@pytest.mark.parametrize("kind", JOIN_RUNS)
def test_no_invariant_reports_a_right_join(spark: SparkSession, kind: str) -> None:
    assert reported_by(spark, good_run(kind)) == set()


@pytest.mark.parametrize("corruption", cases(*JOIN_RUNS, quick=lambda number, _: number % 12 == 0))
def test_the_invariants_about_a_corruption_of_a_join_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by


def test_a_count_that_does_not_add_up_is_reported_for_its_input(spark: SparkSession) -> None:
    run = replace(INTERVAL, counts={**INTERVAL.counts, "on_time_of_payments": 3})
    assert reported_by(spark, run) == {"run.every_row_of_payments_is_accounted_for"}


def test_rows_between_two_windows_are_accounted_for(spark: SparkSession) -> None:
    windows = replace(WINDOW.pipeline.windows, kind=WindowKind.SLIDING, slide_ms=20_000, offset_ms=10_000)
    rows = copy.deepcopy(WINDOW.rows)
    rows["pairs"].pop()
    for late_event in rows["late_events"]:
        late_event.update(window_start=None, window_end=None)
    counts = {**WINDOW.counts, "pairs": 3, "on_time_of_orders": 2, "unassigned_of_orders": 1}
    run = replace(WINDOW, pipeline=replace(WINDOW.pipeline, windows=windows), rows=rows, counts=counts)
    assert reported_by(spark, run) == set()
    short = replace(run, counts={**counts, "unassigned_of_orders": 0})
    assert reported_by(spark, short) == {"run.every_row_of_orders_is_accounted_for"}


def test_late_rows_have_no_partner_where_firings_are_discarded(spark: SparkSession) -> None:
    windows = replace(WINDOW.pipeline.windows, accumulation=Accumulation.DISCARDING)
    run = replace(WINDOW, pipeline=replace(WINDOW.pipeline, windows=windows))
    assert reported_by(spark, run) == {"pair_firings.late_rows_alone_have_no_partner"}


def test_a_share_of_late_rows_above_the_limit_is_reported(spark: SparkSession) -> None:
    # Two of eight rows that could join.
    strict, lax = (
        replace(INTERVAL, pipeline=replace(INTERVAL.pipeline, quality=Quality(max_too_late_ratio=limit)))
        for limit in (0.249, 0.25)
    )
    assert reported_by(spark, strict) == {"run.not_too_many_rows_are_too_late"}
    assert reported_by(spark, lax) == set()


def test_dropped_rows_are_as_many_as_reported(spark: SparkSession) -> None:
    windows = replace(WINDOW.pipeline.windows, late_data=LateData.DROP)
    run = replace(WINDOW, pipeline=replace(WINDOW.pipeline, windows=windows), rows={**WINDOW.rows, "late_events": []})
    assert reported_by(spark, run) == set()


def test_checks_name_their_input_and_hide_columns_of_the_source(spark: SparkSession) -> None:
    rows = copy.deepcopy(INTERVAL.rows)
    change("pairs", 0, fired_at=at(11))(rows)
    checks = check(replace(INTERVAL, rows=rows).frames(spark), INTERVAL.pipeline, INTERVAL.counts)
    failed = [result for result in checks if not result.success]
    assert [result.expectation for result in failed] == ["a_pair_fires_when_its_later_row_comes"]
    assert '"first_ms"' in failed[0].details
    assert "paid_for" not in failed[0].details
    summed = next(result for result in checks if result.expectation == "every_row_of_orders_is_accounted_for")
    assert summed.observed == "6 read; 1 invalid + 1 filtered + 3 on time + 0 late + 1 too late = 6"


def test_a_missing_table_column_or_count_is_refused(spark: SparkSession) -> None:
    tables, pipeline, counts = INTERVAL.frames(spark), INTERVAL.pipeline, INTERVAL.counts
    with pytest.raises(AuditError, match="the staged table pairs is missing, found late_events"):
        StagedJoin({"late_events": tables["late_events"]}, pipeline, counts)
    with pytest.raises(AuditError, match="the staged table pairs has no column fired_at"):
        StagedJoin({**tables, "pairs": tables["pairs"].drop("fired_at")}, pipeline, counts)
    with pytest.raises(AuditError, match="the replay reported no late_of_payments"):
        StagedJoin(tables, pipeline, {name: n for name, n in counts.items() if name != "late_of_payments"})
