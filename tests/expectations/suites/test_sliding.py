"""Invariants of sliding windows: exactly the invariants about a corruption report it, and none what Flink emits."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import EndOfInput
from tests.expectations.corruptions import Corruption, cases
from tests.expectations.corruptions.good_runs import sliding
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.vectors.scenarios import Scenario, load

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SLIDING = [scenario for scenario in load() if scenario.pipeline.windows.kind == "sliding" and scenario.late]
GAPS = [scenario for scenario in SLIDING if set(scenario.recorded["unassigned"]) & set(scenario.late)]
OVERLAPPING = [
    scenario for scenario in SLIDING if scenario.pipeline.windows.slide_ms < scenario.pipeline.windows.size_ms
]
SCENARIOS = [*GAPS[:1], *OVERLAPPING[:: len(OVERLAPPING) // 3]]


@pytest.mark.parametrize("end", [EndOfInput.CLOSE, pytest.param(EndOfInput.KEEP_OPEN, marks=pytest.mark.soak)])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_no_invariant_reports_what_flink_emits(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    assert reported_by(spark, sliding(scenario, end)) == set()


@pytest.mark.parametrize("corruption", cases("sliding"))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by
