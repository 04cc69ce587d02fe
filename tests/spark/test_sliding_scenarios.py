"""Spark gives Flink's panes, late rows and watermarks of sliding windows, row for row."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.semantics import reference
from tests.spark.engine import spark_replay
from tests.spark.test_scenarios import SCHEMA, chosen, continued, in_order
from tests.vectors.scenarios import Scenario, calendar_of, late_of, load, panes_of

pytestmark = pytest.mark.spark


def combination(scenario: Scenario) -> tuple[Any, ...]:
    """What a scenario has of everything that the engine treats apart where windows overlap or leave gaps."""
    windows = scenario.pipeline.windows
    size, slide = windows.size_ms, windows.slide_ms
    return (
        "gaps" if slide > size else "multiple" if size % slide == 0 else "uneven",
        scenario.declared["emit"]["mode"],
        windows.allowed_lateness_ms > 0 and windows.accumulation,
        bool(scenario.late) or bool(scenario.unassigned),
    )


ALL = [scenario for scenario in load() if scenario.declared["window"]["kind"] == "sliding"]
SAMPLE = chosen(ALL, 28, combination)
REST = [pytest.param(scenario, id=scenario.id, marks=pytest.mark.soak) for scenario in ALL if scenario not in SAMPLE]
CASES = [*(pytest.param(scenario, id=scenario.id) for scenario in SAMPLE), *REST]


def test_sample_covers_every_shape_and_emission() -> None:
    assert {combination(scenario)[:2] for scenario in SAMPLE} == {combination(scenario)[:2] for scenario in ALL}
    assert any(scenario.unassigned for scenario in SAMPLE)
    assert any(set(scenario.recorded["unassigned"]) & set(scenario.late) for scenario in SAMPLE)


@pytest.mark.parametrize("scenario", CASES)
def test_spark_says_what_flink_said(session: SparkSession, scenario: Scenario) -> None:
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=SCHEMA)
    assert panes_of(outcome) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert calendar_of(outcome) == scenario.calendar


@pytest.mark.parametrize("scenario", CASES)
def test_states_of_slices_make_the_same_panes(session: SparkSession, scenario: Scenario) -> None:
    pipeline = continued(scenario.pipeline)
    outcome = spark_replay(session, scenario.rows, pipeline, until=scenario.until, schema=SCHEMA)
    expected = reference.replay(scenario.rows, pipeline, until=scenario.until)
    assert in_order(outcome.panes) == in_order(expected.panes)
    assert in_order(outcome.window_results) == in_order(expected.window_results)
    assert in_order(outcome.late_events) == in_order(expected.late_events)
    assert in_order(outcome.watermarks) == in_order(expected.watermarks)
