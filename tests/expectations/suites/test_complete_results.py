"""Invariants of complete results: exactly the invariants about a corruption report it, and none a right run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from expectations import AuditError
from expectations.staged import Staged
from expectations.suites import complete_results as suite
from tests.expectations.corruptions import Corruption, cases, of_runs
from tests.expectations.corruptions.good_runs import good_run
from tests.expectations.corruptions.runner import corrupted, reported_by

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

COMPLETE, DRAWN = good_run("complete"), good_run("drawn")


def test_no_invariant_reports_right_complete_results(spark: SparkSession) -> None:
    assert reported_by(spark, COMPLETE) == set()


@pytest.mark.parametrize("corruption", cases("complete", quick=lambda number, _: number % 3 == 0))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by


def test_every_invariant_of_complete_results_has_a_corruption() -> None:
    never_reports = {"complete_results.windows_are_as_long_as_declared"}
    invariants = {f"{suite.SUITE.name}.{invariant.name}" for invariant in suite.invariants(COMPLETE.pipeline)}
    reports = set().union(*(corruption.reported_by for corruption in of_runs("complete")))
    assert invariants - never_reports == {name for name in reports if name.startswith("complete_results.")}
    assert suite.invariants(DRAWN.pipeline) == ()


def test_a_run_in_the_mode_complete_has_the_table(spark: SparkSession) -> None:
    with pytest.raises(AuditError, match="the staged table complete_results is missing"):
        Staged(DRAWN.frames(spark), COMPLETE.pipeline, DRAWN.counts)
