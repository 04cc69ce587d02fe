"""Spark gives Flink's panes, late rows and watermarks, row for row, on scenarios chosen over all combinations."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support.engine import in_order, spark_replay
from tests.support.recorded_on_spark import ALL, assert_continued_matches_reference, chosen, combinations, schema_of
from tests.vectors.outcomes import calendar_of, late_of, panes_of
from tests.vectors.scenarios import Scenario

pytestmark = pytest.mark.spark

CHOSEN = 40


SAMPLE = chosen(ALL, CHOSEN, combinations)
# With Comet where it can run; without it, each scenario again. `make test` runs a quarter of the sample, each once.
CASES = [sampled(s, quick=s in SAMPLE[::8], judges=s in SAMPLE, id=s.id) for s in ALL]
ALONE = [sampled(s, quick=s in SAMPLE[4::8], id=s.id) for s in ALL]
RESTATED = [sampled(s, quick=False, judges=s in SAMPLE[::30], id=s.id) for s in ALL]


def test_sample_covers_every_combination() -> None:
    assert set().union(*map(combinations, SAMPLE)) == set().union(*map(combinations, ALL))
    assert len(SAMPLE) == CHOSEN


@pytest.mark.usefixtures("spark_alone")
@pytest.mark.parametrize("scenario", ALONE)
def test_spark_alone_matches_flink(session: SparkSession, scenario: Scenario) -> None:
    test_spark_matches_flink(session, scenario)


@pytest.mark.parametrize("scenario", CASES)
def test_spark_matches_flink(session: SparkSession, scenario: Scenario) -> None:
    schema = schema_of(scenario)
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=schema)
    assert panes_of(outcome, scenario.shown_clock_us) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert calendar_of(outcome, scenario.shown_clock_us) == scenario.calendar
    # Flink's answer does not name the tick, nor the watermarks of the partitions: the reference does.
    expected = reference.replay(scenario.rows, scenario.pipeline, until=scenario.until)
    assert in_order(outcome.watermarks) == in_order(expected.watermarks)
    assert in_order(outcome.late_events) == in_order(expected.late_events)


@pytest.mark.parametrize("scenario", RESTATED)
def test_continued_aggregates_equal_recomputed_ones(session: SparkSession, scenario: Scenario) -> None:
    assert_continued_matches_reference(session, scenario)
