"""Invariants of sliding windows: exactly the invariants about a corruption report it, and none what Flink emits."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import EndOfInput
from tests.expectations.corruptions import Corruption, cases
from tests.expectations.corruptions.good_runs import sliding
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.sampling import sampled
from tests.vectors.scenarios import Scenario, load

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SLIDING = [scenario for scenario in load() if scenario.pipeline.windows.kind == "sliding" and scenario.late]
GAPS = [scenario for scenario in SLIDING if set(scenario.recorded["unassigned"]) & set(scenario.late)]
OVERLAPPING = [
    scenario for scenario in SLIDING if scenario.pipeline.windows.slide_ms < scenario.pipeline.windows.size_ms
]
SCENARIOS = [*GAPS[:1], *OVERLAPPING[:: len(OVERLAPPING) // 3]]


@pytest.mark.parametrize("end", [sampled(end, quick=end is EndOfInput.CLOSE) for end in EndOfInput])
@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SCENARIOS[:2], id=s.id) for s in SCENARIOS])
def test_no_invariant_reports_what_flink_emits(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    assert reported_by(spark, sliding(scenario, end)) == set()


@pytest.mark.parametrize("corruption", cases("sliding", quick=lambda number, _: number % 3 == 0))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by
