"""The reference gives Flink's panes, late rows and watermarks, row for row, on every recorded scenario."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.streaming_job import StreamingJob
from tests.vectors.outcomes import calendar_of, late_of, millis, panes_of, unassigned_of
from tests.vectors.scenarios import Scenario, load_for_reference, load_triggers

SCENARIOS = [*load_for_reference(), *load_triggers()]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_reference_has_the_outcomes_of_flink(scenario: Scenario) -> None:
    outcome = replay(reversed(scenario.rows), scenario.pipeline, until=scenario.until)
    assert panes_of(outcome, scenario.shown_clock_us) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert unassigned_of(outcome) == scenario.unassigned
    assert calendar_of(outcome, scenario.shown_clock_us) == scenario.calendar


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_watermarks_advance_as_flinks(scenario: Scenario) -> None:
    reader, job = EventReader(scenario.pipeline), StreamingJob(scenario.pipeline)
    events = [event for event in map(reader.read, scenario.rows) if isinstance(event, Event)]
    job.run(events, None if scenario.until is None else micros(scenario.until))
    advances = [(scenario.shown_clock_us(a.clock_us), a.watermark) for a in job.calendar.advances]
    assert advances == scenario.watermarks


@pytest.mark.parametrize("scenario", load_for_reference(), ids=lambda scenario: scenario.id)
def test_panes_come_in_flinks_order(scenario: Scenario) -> None:
    outcome = replay(scenario.rows, scenario.pipeline, until=scenario.until)
    # Timers of one instant have no order among keys, nor have those of windows that fire at intervals; the ends do.
    ends = [millis(pane["window_end"]) for pane in outcome.panes]
    assert ends == [pane["end"] for pane in scenario.recorded["panes"]]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_panes_of_a_window_are_numbered_as_they_come(scenario: Scenario) -> None:
    outcome = replay(scenario.rows, scenario.pipeline, until=scenario.until)
    firings: Counter[tuple[str, datetime, datetime]] = Counter()
    for pane in outcome.panes:
        window = pane["key"], pane["window_start"], pane["window_end"]
        assert pane["pane_index"] == firings[window]
        firings[window] += 1


@pytest.mark.parametrize(
    "scenario",
    [
        s
        for s in load_for_reference()
        if s.pipeline.windows.kind == "session" and s.declared["accumulation"] != "discarding"
    ],
    ids=lambda scenario: scenario.id,
)
def test_results_hold_each_row_of_a_session_once(scenario: Scenario) -> None:
    results = replay(scenario.rows, scenario.pipeline, until=scenario.until).window_results
    members = [index for result in results for index in result["members"]]
    assert sorted([*members, *scenario.late]) == [row["index"] for row in scenario.rows]
