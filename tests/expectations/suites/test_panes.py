"""Invariants of triggers other than the default: Flink's output violates none, each fault violates its own."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Accumulation, EndOfInput, Pipeline, Trigger, TriggerKind, Windows
from spark_jobs.semantics import reference
from tests.support.generated_run import SCHEMAS, Fault, Rows, at, broken, change, remove
from tests.support.recorded_on_spark import chosen
from tests.support.recorded_triggers import combinations
from tests.vectors.scenarios import Scenario, load_triggers

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

ALL = load_triggers()
SAMPLE = chosen(ALL, 2, combinations)
CASES = [pytest.param(s, id=s.id, marks=[] if s in SAMPLE else pytest.mark.soak) for s in ALL]


@pytest.mark.parametrize("end", [EndOfInput.CLOSE, pytest.param(EndOfInput.KEEP_OPEN, marks=pytest.mark.soak)])
@pytest.mark.parametrize("scenario", CASES)
def test_what_flink_emits_breaks_no_law(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    rows, counts = told(scenario.rows, pipeline, scenario.until)
    assert broken(spark, rows, pipeline, counts) == set()


def told(
    events: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None = None
) -> tuple[Rows, dict[str, int]]:
    """The tables of a replay, and the counts that a run reports of it."""
    outcome = reference.replay(events, pipeline, until=until)
    counts = outcome.counts
    if pipeline.windows.kind == "sliding":
        size, slide, offset = pipeline.windows.size_ms, pipeline.windows.slide_ms, pipeline.windows.offset_ms
        starts = [(ts - (ts - offset) % slide, ts - size) for ts in (event["ts"] for event in events)]
        pairs = sum(len(range(newest, oldest, -slide)) for newest, oldest in starts)
        counts = {**counts, "row_windows": pairs, "row_windows_dropped": dropped(events, pipeline, until)}
    return {table: getattr(outcome, table) for table in SCHEMAS}, counts


def dropped(events: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None) -> int:
    """How many pairs of a row and a window of it were too late: what a window that shows each row as it comes lacks."""
    each = replace(pipeline.windows, trigger=Trigger(TriggerKind.COUNT, n=1), accumulation=Accumulation.DISCARDING)
    shown = len(reference.replay(events, replace(pipeline, windows=each), until=until).panes)
    everything = replace(each, allowed_lateness_ms=2**50)
    return len(reference.replay(events, replace(pipeline, windows=everything), until=until).panes) - shown


STREAM = next(s for s in ALL if s.pipeline.windows.kind == "tumbling" and s.declared["strategy"]["kind"] == "bounded")
CONTINUOUS = Trigger(TriggerKind.CONTINUOUS, interval_ms=2)
COUNT = Trigger(TriggerKind.COUNT, n=2)


def stream(trigger: Trigger) -> tuple[list[dict[str, Any]], Pipeline]:
    """A stream of one key whose watermark follows each row at a distance of 2 ms, in windows of 10 ms."""
    windows = Windows(
        size_ms=10,
        key=("key",),
        allowed_lateness_ms=20,
        aggregates=STREAM.pipeline.windows.aggregates,
        trigger=trigger,
    )
    source = replace(STREAM.pipeline.source, source_partition=type(STREAM.pipeline.source.source_partition)())
    watermark = replace(type(STREAM.pipeline.watermark)(), out_of_orderness_ms=1)
    pipeline = replace(STREAM.pipeline, source=source, watermark=watermark, windows=windows)
    ts = (1, 2, 5, 7, 9, 12, 3, 14, 4, 25)
    told = {"partition": "p", "key": "k", "value": 1.0}
    return [{"index": i, "ts": t, "arrival_us": 1000 * i, **told} for i, t in enumerate(ts)], pipeline


def of(rows: Rows, timing: str) -> list[int]:
    """The places of the first window's panes of a timing."""
    first = min(pane["window_start"] for pane in rows["panes"])
    return [i for i, p in enumerate(rows["panes"]) if p["timing"] == timing and p["window_start"] == first]


def nth(of_timing: str, number: int, **values: Any) -> Fault:
    return lambda rows: change("panes", of(rows, of_timing)[number], **values)(rows)


FAULTS: dict[str, tuple[Trigger, Fault, str]] = {
    "an early pane told late": (
        CONTINUOUS,
        nth("early", 0, timing="late"),
        "panes.early_panes_come_first_and_late_ones_last",
    ),
    "two panes on time": (
        CONTINUOUS,
        nth("late", 0, timing="on_time"),
        "panes.early_panes_come_first_and_late_ones_last",
    ),
    "an early pane after its window's firing": (
        CONTINUOUS,
        nth("early", -1, fired_at=at(1)),
        "panes.panes_fire_as_the_calendar_says",
    ),
    "a pane on time before its watermark": (
        CONTINUOUS,
        lambda rows: change("panes", of(rows, "on_time")[0], watermark=rows["panes"][0]["watermark"])(rows),
        "panes.only_early_panes_fire_before_their_watermark",
    ),
    "an early pane that forgets rows": (
        CONTINUOUS,
        nth("early", 2, row_count=1),
        "panes.panes_hold_the_rows_of_the_pane_before",
    ),
    "a late pane that adds no row": (
        CONTINUOUS,
        lambda rows: change("panes", of(rows, "late")[0], row_count=rows["panes"][of(rows, "on_time")[0]]["row_count"])(
            rows
        ),
        "panes.panes_hold_the_rows_of_the_pane_before",
    ),
    "a lost early pane": (
        CONTINUOUS,
        lambda rows: remove("panes", of(rows, "early")[1])(rows),
        "panes.pane_numbers_have_no_gap_and_no_duplicate",
    ),
    "an early pane that was not counted": (
        CONTINUOUS,
        nth("early", -1, timing="on_time"),
        "run.reported_counts_are_what_is_staged",
    ),
    "a count that fires on time": (
        COUNT,
        nth("early", -1, timing="on_time"),
        "panes.panes_have_a_timing_of_their_trigger",
    ),
    "a count that fires one row too soon": (
        COUNT,
        nth("early", 0, row_count=1),
        "panes.panes_hold_the_rows_that_are_counted",
    ),
    "a count told early behind its window": (
        COUNT,
        nth("late", 0, timing="early"),
        "panes.only_early_panes_fire_before_their_watermark",
    ),
    "rows shown that no window took": (
        COUNT,
        change("window_results", 0, row_count=99),
        "run.no_window_shows_a_row_twice",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_breaks_its_law(spark: SparkSession, name: str) -> None:
    trigger, fault, invariant = FAULTS[name]
    events, pipeline = stream(trigger)
    correct, counts = told(events, pipeline)
    assert len(of(correct, "late")) > 0
    spoilt = copy.deepcopy(correct)
    fault(spoilt)
    assert invariant in broken(spark, spoilt, pipeline, counts)


@pytest.mark.parametrize("trigger", [CONTINUOUS, COUNT], ids=["continuous", "count"])
def test_the_stream_of_the_faults_breaks_no_law(spark: SparkSession, trigger: Trigger) -> None:
    events, pipeline = stream(trigger)
    rows, counts = told(events, pipeline)
    assert broken(spark, rows, pipeline, counts) == set()
