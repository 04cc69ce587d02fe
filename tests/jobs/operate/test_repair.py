"""Repair: closed windows that missed too many rows are published with them, and no other window changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepResult
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.operate.repair import find, repair
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import LateData, Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import ARRIVALS, FULL, REPAIR
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.engine import in_order
from tests.support.pipelines import SHAPES, sliding
from tests.support.runs import publish
from tests.support.whole_run import assert_published, published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TEN_MINUTES = timedelta(minutes=10)
FIRST, SECOND = (history.START + timedelta(hours=hours) for hours in (2, 4))
TABLES = ("panes", "window_results", "late_events")


def repairing(table: str, **settings: str) -> Pipeline:
    """A pipeline that is published whatever share of its rows came too late."""
    return history.pipeline(table, quality__max_too_late_ratio="1", **settings)


def lenient(pipeline: Pipeline) -> Pipeline:
    return replace(pipeline, windows=replace(pipeline.windows, late_data=LateData.UPDATE))


def late_rows_by_window(late_events: Iterable[Mapping[str, Any]]) -> Counter[datetime]:
    return Counter(row["window_start"] for row in late_events)


def taken_in(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> StepResult:
    """A repair of whatever is due."""
    return repair(Runner(spark, pipeline, lake), find(spark, pipeline, lake), pipeline)


def assert_published_with_repairs(
    spark: SparkSession, lake: Lake, faithful: reference.Replay, repaired: Mapping[datetime, reference.Replay]
) -> None:
    """Assert that windows that start at a moment of `repaired` have its results, and all others those of `faithful`."""
    tables = published(spark, lake)
    for name in TABLES:
        other_rows = [row for row in getattr(faithful, name) if row["window_start"] not in repaired]
        own = [
            row for start, outcome in repaired.items() for row in getattr(outcome, name) if row["window_start"] == start
        ]
        assert tables[name] == in_order([*other_rows, *own]), name
    for name in ("watermarks", "invalid_events"):
        assert tables[name] == in_order(getattr(faithful, name)), name


@pytest.mark.soak
def test_only_windows_that_lack_too_many_rows_are_repaired(spark: SparkSession, table: str, lake: Lake) -> None:
    rows = history.events()
    faithful = reference.replay(rows, history.pipeline(table))
    missing = late_rows_by_window(faithful.late_events)
    limit = sorted(missing.values())[-3]
    pipeline = repairing(table, repair__max_too_late_rows=str(limit))
    Runner(spark, pipeline, lake).run(Interval())
    due = find(spark, pipeline, lake)
    over = {start: n for start, n in missing.items() if n > limit}
    assert 0 < len(over) < len(missing)
    assert (due.windows, due.too_late) == (len(over), sum(over.values()))
    intervals = [Interval(stretch.start, stretch.end) for stretch in due.stretches]
    starts = {
        start: [interval.contains(Interval(start, start + TEN_MINUTES)) for interval in intervals] for start in missing
    }
    assert {start for start, matches in starts.items() if any(matches)} == set(over)
    assert {sum(matches) for start, matches in starts.items() if start in over} == {1}
    before = published(spark, lake)
    outcome = repair(Runner(spark, pipeline, lake), due, pipeline)
    assert (outcome.state, outcome.counts) == (
        "done",
        {"repaired_windows": len(over), "repaired_rows": sum(over.values())},
    )
    assert "A repair: " in Path(str(outcome.report)).read_text(encoding="utf-8")
    assert [step.step for step in outcome.following] == ["plan", "replay", "audit", "publish", "report"]
    assert all(step.figures["seconds"] > 0 for step in outcome.following)
    full = reference.replay(rows, lenient(pipeline))
    assert_published_with_repairs(spark, lake, faithful, dict.fromkeys(over, full))
    assert late_rows_by_window(map(dict, published(spark, lake)["late_events"])) == missing - Counter(over)
    # Nothing is left to do, and a backfill of all windows restores the results of the job.
    assert taken_in(spark, pipeline, lake).state == "unchanged"
    for interval in intervals:
        run_steps(spark, pipeline, lake, interval)
    assert published(spark, lake) == before


@pytest.mark.soak
def test_runs_over_later_arrivals_continue_after_a_repair(spark: SparkSession, table: str, lake: Lake) -> None:
    rows = history.events()
    pipeline = repairing(table, repair__max_too_late_ratio="0")
    publish(spark, pipeline, lake, Interval(), arrived_to=FIRST)
    due = {
        start: replay_until(rows, lenient(pipeline), FIRST)
        for start in late_rows_by_window(replay_until(rows, pipeline, FIRST).late_events)
    }
    assert find(spark, pipeline, lake).windows == len(due) > 0
    taken_in(spark, pipeline, lake)
    assert_published_with_repairs(spark, lake, replay_until(rows, pipeline, FIRST), due)
    kinds = [run.kind for run in ledger.published(spark, lake)]
    assert (kinds[0], set(kinds[1:])) == (ARRIVALS, {REPAIR})

    publish(spark, pipeline, lake, Interval(), arrived_to=SECOND)
    assert ledger.published(spark, lake)[-1].arrived_from == FIRST
    # What has come since for windows that were repaired has come too late, and for a window without rows it is new.
    faithful = replay_until(rows, pipeline, SECOND)
    late = [row for row in faithful.late_events if row["window_start"] in due and row["arrival_time"] >= FIRST]
    since = Counter((row["device"], row["window_start"]) for row in late)
    repaired = {}
    for start, outcome in due.items():
        results = [
            {**row, "too_late_count": row["too_late_count"] + since[row["device"], row["window_start"]]}
            for row in outcome.window_results
        ]
        repaired[start] = replace(outcome, window_results=results, late_events=late)
    assert late
    assert_published_with_repairs(spark, lake, faithful, repaired)


@pytest.mark.soak
def test_windows_are_repaired_again_with_what_has_come_since(spark: SparkSession, table: str, lake: Lake) -> None:
    rows = history.events()
    pipeline = repairing(table, repair__max_too_late_ratio="0")
    for cut in (FIRST, SECOND):
        run_steps(spark, pipeline, lake, arrived_to=cut)
        taken_in(spark, pipeline, lake)
    faithful, full = (replay_until(rows, each, SECOND) for each in (pipeline, lenient(pipeline)))
    assert_published_with_repairs(spark, lake, faithful, dict.fromkeys(late_rows_by_window(faithful.late_events), full))
    assert {run.kind for run in ledger.published(spark, lake)} == {ARRIVALS, REPAIR}


@pytest.mark.soak
def test_overlapping_windows_each_count_their_missing_rows(spark: SparkSession, table: str, lake: Lake) -> None:
    shape = {**SHAPES["overlapping"], "windows__allowed_lateness": "0s", "repair__max_too_late_rows": "0"}
    pipeline = sliding(table, quality__max_too_late_ratio="1", **shape)
    size, slide = (timedelta(milliseconds=ms) for ms in (pipeline.windows.size_ms, pipeline.windows.slide_ms))
    Runner(spark, pipeline, lake).run(Interval())
    faithful = reference.replay(history.events(), pipeline)
    missing_rows = Counter[datetime]()
    for row in faithful.late_events:
        start = row["window_start"]
        while start + size > row["event_time"].replace(microsecond=row["event_time"].microsecond // 1000 * 1000):
            missing_rows[start] += 1
            start -= slide
    due = find(spark, pipeline, lake)
    assert due.too_late == sum(missing_rows.values()) > len(faithful.late_events)
    assert all(stretch.windows == (stretch.end - stretch.start) // slide for stretch in due.stretches)
    taken_in(spark, pipeline, lake)
    assert_published_with_repairs(
        spark, lake, faithful, dict.fromkeys(missing_rows, reference.replay(history.events(), lenient(pipeline)))
    )


def test_repair_without_limit_or_published_run_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    with pytest.raises(InputError, match=r"Set repair.max_too_late_rows or repair.max_too_late_ratio"):
        find(spark, history.pipeline(table), lake)
    pipeline = repairing(table, repair__max_too_late_rows="0")
    with pytest.raises(InputError, match="nothing is published in"):
        find(spark, pipeline, lake)


@pytest.mark.soak
def test_repair_leaves_windows_of_other_settings_unchanged(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = repairing(table, repair__max_too_late_rows="0")
    other = repairing(table, repair__max_too_late_rows="0", windows__allowed_lateness="10 minutes")
    hour = Interval(history.START + timedelta(hours=1), history.START + timedelta(hours=2))
    Runner(spark, pipeline, lake).run(Interval())
    Runner(spark, other, lake).run(hour, restate=True)
    of_other = reference.replay(history.events(), other)
    faithful = reference.replay(history.events(), pipeline)
    restated = {
        start
        for start in late_rows_by_window(of_other.late_events)
        if hour.contains(Interval(start, start + TEN_MINUTES))
    }
    due = find(spark, pipeline, lake)
    assert due.restated == len(restated) > 0
    assert "other settings" in due.in_words()
    taken_in(spark, pipeline, lake)
    inside = [history.START + timedelta(hours=1) + i * TEN_MINUTES for i in range(6)]
    missing = set(late_rows_by_window(faithful.late_events)) - set(inside)
    full = reference.replay(history.events(), lenient(pipeline))
    tables = published(spark, lake)
    for name in TABLES:
        expected_rows = []
        for replay, starts in ((of_other, inside), (full, missing)):
            expected_rows += [row for row in getattr(replay, name) if row["window_start"] in starts]
        expected_rows += [row for row in getattr(faithful, name) if row["window_start"] not in {*inside, *missing}]
        assert tables[name] == in_order(expected_rows), name


@pytest.mark.soak
def test_rows_that_are_only_counted_make_a_repair_due(spark: SparkSession, table: str, lake: Lake) -> None:
    settings = {"windows__late_data": "drop", "windows__accumulation": "discarding"}
    pipeline = repairing(table, repair__max_too_late_ratio="0.05", **settings)
    Runner(spark, pipeline, lake).run(Interval())
    faithful = reference.replay(history.events(), pipeline)
    counted, rows = Counter[datetime](), Counter[datetime]()
    for result in faithful.window_results:
        counted[result["window_start"]] += result["too_late_count"]
    for pane in faithful.panes:
        rows[pane["window_start"]] += pane["row_count"]
    over = [start for start, n in counted.items() if n / (n + rows[start]) > 0.05]
    assert find(spark, pipeline, lake).windows == len(over) > 0
    taken_in(spark, pipeline, lake)
    assert_published_with_repairs(
        spark, lake, faithful, dict.fromkeys(over, reference.replay(history.events(), lenient(pipeline)))
    )


@pytest.mark.soak
def test_second_whole_run_undoes_repairs(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = repairing(table, repair__max_too_late_rows="0")
    first = Runner(spark, pipeline, lake).run(Interval())
    taken_in(spark, pipeline, lake)
    again = Runner(spark, pipeline, lake).run(Interval())
    assert again[0].run_id != first[0].run_id
    assert_published(spark, lake, reference.replay(history.events(), pipeline))
    assert ledger.published(spark, lake)[-1].kind == FULL
