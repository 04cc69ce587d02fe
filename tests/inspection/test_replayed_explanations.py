"""An explanation from the source is what the streaming job did with the row, and what Spark explains of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain.explanations import INVALID, LEFT_OUT, ExplainedRow, LifeStep, Step, WindowLife
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import of_source
from spark_jobs.explain.windows import explain_window
from spark_jobs.inspection import explained_job
from spark_jobs.inspection.bounded_source import Deadline, NotReplayedError
from spark_jobs.inspection.inspections import RowChoice
from spark_jobs.inspection.replayed_explanations import ReplayedSource
from spark_jobs.inspection.row_choices import has_value, is_choice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.engine import until_micros
from spark_jobs.semantics.rows.instants import micros, table_time, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob
from tests.explain.judged_rows import assert_verdicts_are_the_jobs
from tests.explain.test_life import job_of
from tests.explain.test_window_life import panes_of, rows_of, start_ms
from tests.sampling import sampled
from tests.support import history, recorded_triggers
from tests.support.engine import frame_of
from tests.support.recorded_on_spark import ALL, chosen, combinations, schema_of
from tests.vectors.scenarios import Scenario

SAMPLE = [*chosen(ALL, 240, combinations), *chosen(recorded_triggers.ALL, 80, recorded_triggers.combinations)]
QUICK = SAMPLE[::8]
CASES = [sampled(s, quick=s in QUICK, id=s.id) for s in SAMPLE]
WITH_WINDOWS = [scenario for scenario in SAMPLE if scenario.panes]
LIVES = [sampled(s, quick=s in WITH_WINDOWS[::8], id=s.id) for s in WITH_WINDOWS]
ON_SPARK = [sampled(s, quick=False, id=s.id) for s in SAMPLE[::4]]


def replayed(scenario: Scenario) -> ReplayedSource:
    until_us = None if scenario.until is None else micros(scenario.until)
    return ReplayedSource(scenario.pipeline, scenario.rows[::-1], Deadline.within(60), until_us=until_us)


def explained(scenario: Scenario) -> list[ExplainedRow]:
    return replayed(scenario).rows(lambda row, event: True, len(scenario.rows) + 1)


def panes_with(job: StreamingJob, index: int) -> Iterator[tuple[Any, ...]]:
    for fired in job.fired:
        if any(event.row["index"] == index for event in fired.pane.rows):
            at, watermark = table_time_us(fired.clock_us), table_time(fired.pane.watermark)
            yield fired.pane.index, fired.pane.timing.value, at, watermark, len(fired.pane.rows)


@pytest.mark.parametrize("scenario", CASES)
def test_the_explanation_of_each_row_is_the_job_s(scenario: Scenario) -> None:
    job, rows = job_of(scenario, scenario.pipeline), explained(scenario)
    assert_verdicts_are_the_jobs(rows, scenario, job)
    for row in rows:
        assert sorted(
            (p.pane_index, p.timing, p.fired_at, p.watermark, p.row_count) for w in row.windows for p in w.panes or ()
        ) == sorted(panes_with(job, row.row["index"]))


@pytest.mark.parametrize("scenario", LIVES)
def test_a_window_s_life_is_the_job_s(scenario: Scenario) -> None:
    job, pipeline = job_of(scenario, scenario.pipeline), scenario.pipeline
    fired = max(job.fired, key=lambda each: (each.pane.index, each.clock_us))
    key, window = fired.pane.rows[0].row["key"], fired.pane.window
    life = replayed(scenario).window(window.start, {"key": key})
    assert life is not None
    rows, panes = steps_of(life)
    if pipeline.windows.is_session:
        assert set(rows) <= set(rows_of(job, key, None))
        assert set(panes) <= set(panes_of(job, key, None))
        assert panes_of(job, key, window)[0] in panes
    else:
        assert rows == rows_of(job, key, window)
        assert panes == panes_of(job, key, window)
        closes = job.calendar.closes(window, pipeline.windows.lateness_ms)
        assert [(step.at, step.watermark) for step in life.steps or () if step.step is Step.CLOSED] == (
            [] if closes is None else [(table_time_us(closes.clock_us), table_time(closes.watermark))]
        )


def steps_of(life: WindowLife) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return the rows and the panes of a life."""
    steps: list[LifeStep] = list(life.steps or ())
    rows = [
        (step.row["index"], step.watermark, start_ms(step), step.verdict)
        for step in steps
        if step.step is Step.ROW and step.row is not None
    ]
    panes = [
        (start_ms(step), step.pane.pane_index, step.pane.timing, step.at, step.watermark)
        for step in steps
        if step.pane is not None
    ]
    return rows, panes


@pytest.mark.spark
@pytest.mark.parametrize("scenario", ON_SPARK)
def test_spark_explains_the_same(session: SparkSession, scenario: Scenario) -> None:
    events = frame_of(session, scenario.rows[::-1], schema_of(scenario))
    stream = of_source(events, scenario.pipeline, until_us=until_micros(scenario.until))
    by_spark = explain_rows(stream, [F.lit(True)], most=len(scenario.rows) + 1)
    assert list(map(without_values, explained(scenario))) == list(map(without_values, by_spark))
    for row in by_spark[:: max(1, len(by_spark) // 3)]:
        for window in row.windows[-1:]:
            start = micros(window.window_start) // 1000
            key = {"key": row.row["key"]}
            assert replayed(scenario).window(start, key) == explain_window(stream, start, key)


def without_values(row: ExplainedRow) -> ExplainedRow:
    """Return an explanation whose sequences are tuples, without the order of partitions and places outside windows."""
    if row.fate in (INVALID, LEFT_OUT):
        row = replace(row, rows_before=None, watermark=None, partitions=None)
    windows = tuple(replace(window, panes=tuple(window.panes or ())) for window in row.windows)
    partitions = None if row.partitions is None else sorted(row.partitions, key=lambda each: each.source_partition)
    return replace(row, windows=windows, partitions=partitions)


ROWS = history.events(400)


def of_history(pipeline: Pipeline, **more: Any) -> ReplayedSource:
    return ReplayedSource(pipeline, ROWS, Deadline.within(60), **more)


def test_rows_without_a_place_come_first_with_their_reason() -> None:
    source = of_history(history.pipeline("rows"))
    rows = source.rows(lambda row, event: True, 1000)
    assert [row.fate for row in rows[:3]] == [INVALID] * 3
    assert [row.reason for row in rows[:3]] == [
        "event_time_missing",
        "event_time_in_future",
        "arrival_time_missing",
    ]
    left_out = [row for row in rows if row.fate == LEFT_OUT]
    assert {row.row["id"] for row in left_out} == {
        row["id"] for row in ROWS if row["reading"] is not None and row["reading"] > 47
    } - {10, 20, 30}
    # They move the watermark, so that they have a place.
    assert all(row.rows_before is not None for row in left_out)


def test_the_watermark_of_each_partition_is_that_before_the_row() -> None:
    (row,) = of_history(history.pipeline("rows")).rows(has_value("id", "300"), 9)
    assert row.partitions is not None
    earlier = [each for each in ROWS[:300] if each["happened_at"] is not None and each["stored_at"] is not None]
    emitted = [each for each in earlier if each["id"] not in (10, 20, 30) and before_tick(each, ROWS[300])]
    expected = {
        site: max(each["happened_at"] for each in emitted if each["site"] == site)
        for site in ("east", "north", "south")
    }
    watermarks = {each.source_partition: each.watermark for each in row.partitions}
    assert watermarks == {
        site: floored(newest) - timedelta(seconds=10, milliseconds=1) for site, newest in expected.items()
    }
    assert [each.source_partition for each in row.partitions if each.holds_back] == [
        min(expected, key=expected.__getitem__)
    ]


def before_tick(row: dict[str, Any], of: dict[str, Any]) -> bool:
    """Return whether an emission every 30 seconds lies between the arrivals of two rows."""
    ticks = [micros(each["stored_at"]) // 30_000_000 for each in (row, of)]
    return ticks[0] < ticks[1]


def floored(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_a_choice_finds_its_row_by_times_and_texts() -> None:
    of_123 = ROWS[123]
    choice = RowChoice(
        micros(of_123["happened_at"]),
        micros(of_123["stored_at"]),
        {"site": of_123["site"], "device": of_123["device"] or "null"},
    )
    source = of_history(history.pipeline("rows"))
    assert [row.row["id"] for row in source.rows(is_choice(choice), 9)] == [123]
    for other in (
        replace(choice, event_us=choice.event_us + 1),
        replace(choice, arrival_us=None),
        replace(choice, values={**choice.values, "device": "x"}),
        replace(choice, values={"no_such_column": "x"}),
    ):
        assert source.rows(is_choice(other), 9) == []


def test_rows_that_arrived_after_the_run_do_not_belong_to_it() -> None:
    end = micros(ROWS[200]["stored_at"])
    source = of_history(history.pipeline("rows"), belongs=lambda us: us is None or us < end, until_us=end)
    assert source.rows(has_value("id", "199"), 9) != []
    assert source.rows(has_value("id", "200"), 9) == []


def test_work_beyond_a_limit_is_given_up_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReplayedError, match="takes more than 10 seconds"):
        ReplayedSource(history.pipeline("rows"), ROWS, Deadline.within(-1))
    sliding = history.pipeline("rows", windows__kind="sliding", windows__size="1 day", windows__slide="1 second")
    with pytest.raises(NotReplayedError, match=r"windows, and a page judges at most 500,000"):
        of_history(sliding)
    monkeypatch.setattr(explained_job, "MOST_IN_PANES", 50)
    with pytest.raises(NotReplayedError, match="have more than 50 rows together"):
        of_history(history.pipeline("rows")).rows(has_value("id", "1"), 9)


def test_what_the_reference_does_not_read_is_a_reason() -> None:
    casting = history.pipeline("rows", source__where="cast(reading as int) > 3")
    with pytest.raises(NotReplayedError, match="the reference does not read 'cast") as refused:
        of_history(casting)
    assert "Python function" not in str(refused.value)
