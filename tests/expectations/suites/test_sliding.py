"""Of sliding windows, what Flink emits breaks no invariant, and each fault of a run breaks those that are about it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import EndOfInput
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.streaming_job import StreamingJob
from spark_jobs.semantics.windows.lateness import Lateness
from tests.support.generated_run import SCHEMAS, Rows, broken
from tests.vectors.scenarios import Scenario, load

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

SLIDING = [s for s in load() if s.pipeline.windows.kind == "sliding" and s.late]
GAPS = [s for s in SLIDING if set(s.recorded["unassigned"]) & set(s.late)]
OVERLAPPING = [s for s in SLIDING if s.pipeline.windows.slide_ms < s.pipeline.windows.size_ms]
SCENARIOS = [*GAPS[:1], *OVERLAPPING[:: len(OVERLAPPING) // 3]]


def staged(scenario: Scenario, end: EndOfInput) -> tuple[Any, Rows, dict[str, int]]:
    """The pipeline, its tables by the reference, and the counts of a run over it."""
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    outcome = reference.replay(scenario.rows, pipeline, until=scenario.until)
    reader, job = EventReader(pipeline), StreamingJob(pipeline)
    events = [event for event in map(reader.read, scenario.rows) if isinstance(event, Event)]
    job.run(events, None if scenario.until is None else micros(scenario.until))
    seen = [verdict.lateness for judged in job.judged for verdict in judged.verdicts]
    pairs = {"row_windows": len(seen), "row_windows_dropped": seen.count(Lateness.TOO_LATE)}
    return pipeline, {table: getattr(outcome, table) for table in SCHEMAS}, {**outcome.counts, **pairs}


@pytest.mark.parametrize("end", [EndOfInput.CLOSE, pytest.param(EndOfInput.KEEP_OPEN, marks=pytest.mark.soak)])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_what_flink_emits_breaks_no_law(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    pipeline, rows, counts = staged(scenario, end)
    assert broken(spark, rows, pipeline, counts) == set()


def moved(rows: list[dict[str, Any]], by_ms: int) -> None:
    """Tell of another window."""
    for row in rows:
        for name in ("window_start", "window_end"):
            row[name] += timedelta(milliseconds=by_ms)


#: A scenario, and of it the late event whose newest window has a result.
FAULTY, COUNTED = "s101-123", 8
FAULTS: dict[str, tuple[Callable[[Rows, dict[str, int], int], Any], set[str]]] = {
    "a window between two starts": (
        lambda rows, counts, slide: moved(rows["late_events"], slide // 2),
        {
            "late_events.windows_lie_on_the_grid",
            "late_events.late_events_missed_their_own_window",
            "late_events.late_events_arrive_after_their_window_closed",
            "window_results.results_count_the_rows_they_missed",
        },
    ),
    "an older window than the newest": (
        lambda rows, counts, slide: moved([rows["late_events"][COUNTED]], -slide),
        {
            "late_events.late_events_missed_their_own_window",
            "window_results.results_count_the_rows_they_missed",
        },
    ),
    "a late event without its window": (
        lambda rows, counts, slide: rows["late_events"][COUNTED].update(window_start=None, window_end=None),
        {
            "late_events.windows_lie_on_the_grid",
            "late_events.windows_are_as_long_as_declared",
            "late_events.late_events_missed_their_own_window",
            "late_events.no_row_is_too_late_for_an_open_window",
            "late_events.late_events_arrive_after_their_window_closed",
            "window_results.results_count_the_rows_they_missed",
        },
    ),
    "a row that a pane has lost": (
        lambda rows, counts, slide: [
            table[0].update(row_count=table[0]["row_count"] + 1) for table in (rows["panes"], rows["window_results"])
        ],
        {"run.every_row_is_in_each_of_its_windows", "panes.counts_of_all_rows_are_row_counts"},
    ),
    "a row that is told of by no number": (
        lambda rows, counts, slide: counts.update(late=counts["late"] - 1),
        {"run.every_row_is_accounted_for"},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_breaks_the_laws_about_it_and_no_other(spark: SparkSession, name: str) -> None:
    scenario = next(s for s in OVERLAPPING if s.id == FAULTY)
    pipeline, rows, counts = copy.deepcopy(staged(scenario, EndOfInput.CLOSE))
    fault, expected = FAULTS[name]
    fault(rows, counts, pipeline.windows.slide_ms)
    assert broken(spark, rows, pipeline, counts) == expected
