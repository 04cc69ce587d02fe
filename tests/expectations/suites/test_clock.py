"""Each fault of a staged run fails the invariants that are about it, and no other.

One audit looks at all faults: each has a copy of the drawn run to itself, a hundred seconds after the copy before, and
the rows that an invariant shows tell whose fault it has found.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import check
from expectations.staged import Staged
from expectations.suites import SUITES, watermarks
from spark_jobs.pipeline.model import EndOfInput
from spark_jobs.semantics import reference
from tests.support.generated_run import (
    CORRECT,
    COUNTS,
    END,
    PIPELINE,
    SCHEMAS,
    Fault,
    Rows,
    add,
    all_of,
    at,
    broken,
    change,
    frames,
    interpreted,
    remove,
    repeat,
    result,
)
from tests.vectors.scenarios import Scenario, load

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

APART = timedelta(seconds=100)

FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "a calendar window off the grid": (
        change("watermarks", 1, window_start=at(10.5), window_end=at(20.5)),
        {"watermarks.windows_lie_on_the_grid", "panes.panes_fire_as_the_calendar_says"},
    ),
    "a calendar window too long": (
        change("watermarks", 1, window_end=at(20.1)),
        {"watermarks.windows_are_as_long_as_declared"},
    ),
    "a window listed twice": (
        repeat("watermarks", 1),
        {"watermarks.every_window_is_listed_once"},
    ),
    "a firing before the watermark": (
        all_of(
            change("watermarks", 0, watermark_at_fire=at(9.998), partition_watermarks=None),
            change("panes", 0, watermark=at(9.998)),
        ),
        {
            "watermarks.windows_fire_once_the_watermark_is_past_them",
            "panes.no_pane_fires_before_its_watermark",
        },
    ),
    "a window closed before it fired": (
        change("watermarks", 1, closes_at=at(21)),
        {"watermarks.windows_close_after_they_fire"},
    ),
    "a watermark that falls": (
        all_of(
            change("watermarks", 0, watermark_at_fire=at(21), partition_watermarks=None),
            change("panes", 0, watermark=at(14)),
            change("panes", 1, watermark=at(14)),
            change("panes", 2, watermark=at(14)),
        ),
        {"watermarks.watermarks_never_fall", "panes.panes_fire_as_the_calendar_says"},
    ),
    "a watermark ahead of the slowest partition": (
        change("watermarks", 1, partition_watermarks=[{"source_partition": "0", "watermark": at(20.4)}]),
        {"watermarks.the_watermark_is_that_of_the_slowest_partition"},
    ),
    "a window left open at the end": (
        change("watermarks", 2, closes_at=None),
        {"watermarks.the_end_of_input_closes_every_window"},
    ),
    "a pane off the grid by a microsecond": (
        all_of(
            change("panes", 4, window_start=at(10.000001), window_end=at(20.000001)),
            change("window_results", 2, window_start=at(10.000001), window_end=at(20.000001)),
        ),
        {
            "panes.windows_lie_on_the_grid",
            "panes.panes_fire_as_the_calendar_says",
            "window_results.windows_lie_on_the_grid",
        },
    ),
    "a pane of a window too short": (change("panes", 4, window_end=at(19)), {"panes.windows_are_as_long_as_declared"}),
    "a late pane at the cleanup time": (
        change("panes", 2, watermark=at(14.999)),
        {"panes.no_late_pane_fires_after_cleanup"},
    ),
    "a missing watermark": (
        change("panes", 5, watermark=None),
        {"panes.no_pane_fires_before_its_watermark", "panes.panes_fire_as_the_calendar_says"},
    ),
    "two panes 0": (
        all_of(change("panes", 1, pane_index=0), change("panes", 2, pane_index=1)),
        {"panes.every_window_has_one_pane_0", "panes.late_panes_add_one_row"},
    ),
    "no pane 0": (
        change("panes", 3, pane_index=1),
        {"panes.every_window_has_one_pane_0"},
    ),
    "a gap in the pane numbers": (
        change("panes", 2, pane_index=3),
        {"panes.pane_numbers_have_no_gap_and_no_duplicate"},
    ),
    "a pane number twice": (
        change("panes", 2, pane_index=1),
        {"panes.pane_numbers_have_no_gap_and_no_duplicate"},
    ),
    "a timing that nobody knows": (
        change("panes", 2, timing="early"),
        {"panes.panes_are_on_time_or_late"},
    ),
    "an on-time pane after the first": (
        change("panes", 1, timing="on_time"),
        {
            "panes.only_pane_0_is_on_time",
            "panes.panes_fire_as_the_calendar_says",
        },
    ),
    "an empty pane": (
        all_of(change("panes", 4, row_count=0), change("window_results", 2, row_count=0)),
        {"panes.no_pane_is_empty"},
    ),
    "a late pane that adds two rows": (
        all_of(change("panes", 2, row_count=6), change("window_results", 0, row_count=6)),
        {"panes.late_panes_add_one_row"},
    ),
    "a late pane that forgets what came before": (
        all_of(change("panes", 2, row_count=1), change("window_results", 0, row_count=1)),
        {"panes.late_panes_add_one_row"},
    ),
    "panes that fire out of order": (
        all_of(change("panes", 2, fired_at=at(12.5)), change("window_results", 0, last_fired_at=at(12.5))),
        {"panes.panes_fire_in_the_order_of_their_numbers"},
    ),
    "a late pane before the window fired": (
        all_of(change("panes", 3, fired_at=at(11)), change("window_results", 1, last_fired_at=at(11))),
        {"panes.panes_fire_as_the_calendar_says"},
    ),
    "a late pane after the window closed": (
        all_of(change("panes", 2, fired_at=at(17.5)), change("window_results", 0, last_fired_at=at(17.5))),
        {"panes.panes_fire_as_the_calendar_says"},
    ),
    "a lost result": (remove("window_results", 3), {"window_results.every_fired_window_has_one_result"}),
    "a result of a null key told twice": (
        repeat("window_results", 3),
        {"window_results.every_fired_window_has_one_result"},
    ),
    "a result of a window that never fired": (
        add("window_results", result("ZZ", 10, 1, 1, at(22))),
        {"window_results.every_result_has_a_pane"},
    ),
    "a result of a window too long": (
        change("window_results", 2, window_end=at(21)),
        {"window_results.windows_are_as_long_as_declared"},
    ),
    "a result of an older pane": (
        change("window_results", 0, row_count=4),
        {
            "window_results.results_hold_the_rows_of_the_latest_pane",
            "window_results.results_show_what_the_latest_pane_shows",
        },
    ),
    "a result that shows another value": (
        change("window_results", 0, flights=4),
        {"window_results.results_show_what_the_latest_pane_shows"},
    ),
    "a pane that counts other rows than it holds": (
        change("panes", 0, flights=4),
        {"panes.counts_of_all_rows_are_row_counts"},
    ),
    "a result that miscounts its panes": (
        change("window_results", 0, pane_count=2),
        {"window_results.results_count_their_panes"},
    ),
    "a result as of an older pane": (
        change("window_results", 0, last_fired_at=at(13)),
        {"window_results.results_are_as_of_the_latest_pane"},
    ),
    "a result that forgets a too late row": (
        change("window_results", 1, too_late_count=0),
        {"window_results.results_count_the_rows_they_missed"},
    ),
    "a late event of another window": (
        change("late_events", 1, event_time=at(10), late_by_ms=9_000),
        {"late_events.late_events_missed_their_own_window"},
    ),
    "a late event of a window off the grid": (
        change("late_events", 1, window_start=at(0.5), window_end=at(10.5)),
        {"late_events.windows_lie_on_the_grid", "late_events.late_events_arrive_after_their_window_closed"},
    ),
    "a late event of a window too long": (
        change("late_events", 1, window_end=at(10.5), watermark=at(19)),
        {"late_events.windows_are_as_long_as_declared"},
    ),
    "a row dropped one millisecond too early": (
        change("late_events", 0, watermark=at(14.998), late_by_ms=9_998),
        {"late_events.no_row_is_too_late_for_an_open_window"},
    ),
    "a wrong late_by_ms": (
        change("late_events", 0, late_by_ms=10_999),
        {"late_events.late_by_is_the_watermark_minus_the_event_time"},
    ),
    "a late event that arrived before its window closed": (
        change("late_events", 0, arrival_time=at(16.9)),
        {"late_events.late_events_arrive_after_their_window_closed"},
    ),
}


def later(value: Any, by: timedelta) -> Any:
    """`value` with every time in it moved."""
    if isinstance(value, datetime):
        # The end of the input comes once; in a copy it is a watermark like any other, past all windows of the copy.
        return (at(39) if value == END else value) + by
    if isinstance(value, list):
        return [later(one, by) for one in value]
    return {name: later(one, by) for name, one in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, set[str]]:
    """The invariants that found each fault."""
    from expectations import validation

    everything: Rows = {table: [] for table in CORRECT}
    for copy_number, (fault, _) in enumerate(FAULTS.values()):
        rows = copy.deepcopy(CORRECT)
        fault(rows)
        for table, there in rows.items():
            everything[table] += later(there, copy_number * APART)
    with interpreted(spark), pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "EXAMPLES", 100)
        checks = check(frames(spark, everything), PIPELINE, COUNTS)
    names, invariants = list(FAULTS), defaultdict(set)
    for one in checks:
        # The run's sums cannot be right with so many faults; they have tests of their own.
        for line in one.details.splitlines() if one.suite != "run" else ():
            start = datetime.fromisoformat(json.loads(line)["window_start"])
            invariants[names[(start - at(0)) // APART]].add(f"{one.suite}.{one.expectation}")
    return invariants


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_laws_about_it_and_no_other(found: dict[str, set[str]], name: str) -> None:
    assert found[name] == FAULTS[name][1]


TUMBLING = [
    s
    for s in load()
    if s.pipeline.windows.kind == "tumbling" and s.late and any(pane.timing == "late" for pane in s.panes)
]
SCENARIOS = TUMBLING[:: len(TUMBLING) // 6]


@pytest.mark.parametrize("end", [EndOfInput.CLOSE, pytest.param(EndOfInput.KEEP_OPEN, marks=pytest.mark.soak)])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_what_flink_emits_breaks_no_law(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    outcome = reference.replay(scenario.rows, pipeline, until=scenario.until)
    rows = {table: getattr(outcome, table) for table in SCHEMAS}
    assert broken(spark, rows, pipeline, outcome.counts) == set()


@pytest.mark.parametrize(("slow", "fast", "broken"), [(10, 20.5, 0), (20.5, 30, 0), (20.4, 20.6, 1)])
def test_where_partitions_fall_idle_windows_fire_at_the_watermark_of_one(
    spark: SparkSession, slow: float, fast: float, broken: int
) -> None:
    pipeline = replace(PIPELINE, watermark=replace(PIPELINE.watermark, idle_timeout_ms=1_000))
    partitions = [{"source_partition": "0", "watermark": at(slow)}, {"source_partition": "1", "watermark": at(fast)}]
    rows = copy.deepcopy(CORRECT)
    change("watermarks", 1, partition_watermarks=partitions)(rows)
    staged = Staged(frames(spark, rows), pipeline, COUNTS)
    invariant = next(
        invariant
        for invariant in watermarks.invariants(pipeline)
        if invariant.name == "the_watermark_is_that_of_a_partition"
    )
    with interpreted(spark):
        assert watermarks.rows(staged).where(~F.expr(invariant.condition)).count() == broken
    staged.release()


def test_every_law_about_rows_has_a_fault() -> None:
    invariants = {
        f"{s.name}.{invariant.name}"
        for s in SUITES
        if s.name not in {"source", "run"}
        for invariant in s.invariants(PIPELINE)
    }
    # The drawn late events have no columns of their source: the catalogue of corruptions has some that do.
    invariants -= {"late_events.late_events_are_as_their_columns_say"}
    assert invariants == set().union(*(broken for _, broken in FAULTS.values()))
