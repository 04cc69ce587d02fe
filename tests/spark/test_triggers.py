"""Windows that fire at intervals and by counts: Spark gives Flink's panes, and the reference's on drawn streams."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.semantics import reference
from tests.spark.engine import in_order, spark_replay
from tests.spark.test_scenarios import chosen, continued, schema_of
from tests.vectors.scenarios import Scenario, calendar_of, late_of, load_triggers, panes_of

pytestmark = pytest.mark.spark

ALL = load_triggers()


def combinations(scenario: Scenario) -> set[tuple[object, ...]]:
    """What a scenario has of everything that the engine treats apart."""
    declared, windows = scenario.declared, scenario.pipeline.windows
    kind = (windows.trigger.kind, windows.kind, declared["accumulation"])
    timings = {(*kind, pane.timing) for pane in scenario.panes}
    watermark = (declared["strategy"]["kind"], declared["emit"]["mode"], "idle_timeout_ms" in declared)
    return {*timings, (windows.trigger.kind, *watermark), (*kind, bool(scenario.late))}


SAMPLE = chosen(ALL, 25, combinations)
CASES = [pytest.param(s, id=s.id, marks=[] if s in SAMPLE else pytest.mark.soak) for s in ALL]
RESTATED = [pytest.param(s, id=s.id, marks=[] if s in SAMPLE[::5] else pytest.mark.soak) for s in ALL]


@pytest.mark.parametrize("scenario", CASES)
def test_spark_fires_as_flink_does(session: SparkSession, scenario: Scenario) -> None:
    schema = schema_of(scenario)
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=schema)
    assert panes_of(outcome, scenario.shown_clock_us) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert calendar_of(outcome, scenario.shown_clock_us) == scenario.calendar
    expected = reference.replay(scenario.rows, scenario.pipeline, until=scenario.until)
    assert without_members(outcome.window_results) == without_members(expected.window_results)
    assert in_order(outcome.late_events) == in_order(expected.late_events)


@pytest.mark.parametrize("scenario", RESTATED)
def test_continued_aggregates_say_the_same_as_recomputed_ones(session: SparkSession, scenario: Scenario) -> None:
    pipeline = continued(scenario.pipeline)
    outcome = spark_replay(session, scenario.rows, pipeline, until=scenario.until, schema=schema_of(scenario))
    expected = reference.replay(scenario.rows, pipeline, until=scenario.until)
    assert in_order(outcome.panes) == in_order(expected.panes)
    assert in_order(outcome.window_results) == in_order(expected.window_results)


def without_members(results: list[dict[str, object]]) -> list[object]:
    """Results whose lists of rows are sorted: they have no order of their own."""
    return in_order([{**row, "members": sorted(row["members"])} for row in results])  # type: ignore[call-overload]
