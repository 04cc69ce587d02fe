"""Invariants of triggers other than the default: exactly the invariants about a corruption report it.

None reports what Flink emits.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Accumulation, EndOfInput, Pipeline, Trigger, TriggerKind
from spark_jobs.semantics import reference
from tests.expectations.corruptions import Corruption, cases
from tests.expectations.corruptions.good_runs import TRIGGERED_RUNS, good_run, replayed
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.expectations.corruptions.staged_run import StagedRun
from tests.sampling import sampled
from tests.support.recorded_on_spark import chosen
from tests.support.recorded_triggers import combinations
from tests.vectors.scenarios import Scenario, load_triggers

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ALL = load_triggers()
SAMPLE = chosen(ALL, 2, combinations)
CASES = [sampled(recorded, quick=recorded in SAMPLE, id=recorded.id) for recorded in ALL]


@pytest.mark.parametrize("end", [sampled(end, quick=end is EndOfInput.CLOSE) for end in EndOfInput])
@pytest.mark.parametrize("scenario", CASES)
def test_no_invariant_reports_what_flink_emits(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    assert reported_by(spark, staged_run(scenario.rows, pipeline, scenario.until)) == set()


def staged_run(events: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None) -> StagedRun:
    """Return what a run over recorded events stages."""
    outcome = reference.replay(events, pipeline, until=until)
    counts = outcome.counts
    if pipeline.windows.kind == "sliding":
        size, slide, offset = pipeline.windows.size_ms, pipeline.windows.slide_ms, pipeline.windows.offset_ms
        starts = [(ts - (ts - offset) % slide, ts - size) for ts in (event["ts"] for event in events)]
        pairs = sum(len(range(newest, oldest, -slide)) for newest, oldest in starts)
        counts = {**counts, "row_windows": pairs, "row_windows_dropped": dropped(events, pipeline, until)}
    return replayed(outcome, pipeline, counts)


def dropped(events: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None) -> int:
    """Return how many pairs of a row and a window of it were too late.

    A window that fires for each row, and shows it alone, has a pane less for each of them.
    """
    each = replace(pipeline.windows, trigger=Trigger(TriggerKind.COUNT, n=1), accumulation=Accumulation.DISCARDING)
    panes = len(reference.replay(events, replace(pipeline, windows=each), until=until).panes)
    everything = replace(each, allowed_lateness_ms=2**50)
    return len(reference.replay(events, replace(pipeline, windows=everything), until=until).panes) - panes


@pytest.mark.parametrize("corruption", cases(*TRIGGERED_RUNS, quick=lambda number, _: number % 4 == 0))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by


@pytest.mark.parametrize("kind", TRIGGERED_RUNS)
def test_no_invariant_reports_the_stream_that_is_corrupted(spark: SparkSession, kind: str) -> None:
    run = good_run(kind)
    assert any(pane["timing"] == "late" for pane in run.rows["panes"])
    assert reported_by(spark, run) == set()
