"""The life of a window on Spark has the rows, panes and closing of the streaming job of the reference."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.explain.explanations import LifeStep, Step
from spark_jobs.explain.streams import of_source
from spark_jobs.explain.windows import explain_window
from spark_jobs.replay.engine import until_micros
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob
from spark_jobs.semantics.windows.window_assigners import TimeWindow
from tests.explain.test_explained_rows import SAMPLE
from tests.explain.test_life import job_of
from tests.sampling import sampled
from tests.support.engine import frame_of
from tests.support.recorded_on_spark import schema_of
from tests.vectors.scenarios import Scenario

pytestmark = pytest.mark.spark

WITH_WINDOWS = [scenario for scenario in SAMPLE if scenario.panes]
QUICK = WITH_WINDOWS[::160]
CASES = [sampled(s, quick=s in QUICK, id=s.id) for s in WITH_WINDOWS]


def rows_of(job: StreamingJob, key: object, window: TimeWindow | None) -> list[tuple[Any, ...]]:
    """Return the rows of a key that have a window, with their watermarks and verdicts; None: any window."""
    return [
        (j.event.row["index"], table_time(j.watermark), v.window.start, v.lateness.value)
        for j in job.judged
        for v in j.verdicts
        if j.event.row["key"] == key and window in (None, v.window)
    ]


def panes_of(job: StreamingJob, key: object, window: TimeWindow | None) -> list[tuple[Any, ...]]:
    panes = [(fired.pane, fired.clock_us) for fired in job.fired if fired.pane.rows[0].row["key"] == key]
    return [
        (pane.window.start, pane.index, pane.timing.value, table_time_us(clock_us), table_time(pane.watermark))
        for pane, clock_us in panes
        if window in (None, pane.window)
    ]


def start_ms(step: LifeStep) -> int:
    return round(step.window_start.timestamp() * 1000)


@pytest.mark.parametrize("scenario", CASES)
def test_a_window_s_life_is_the_job_s(session: SparkSession, scenario: Scenario) -> None:
    job, pipeline = job_of(scenario, scenario.pipeline), scenario.pipeline
    fired = max(job.fired, key=lambda each: (each.pane.index, each.clock_us))
    key, window = fired.pane.rows[0].row["key"], fired.pane.window
    events = frame_of(session, scenario.rows[::-1], schema_of(scenario))
    stream = of_source(events, pipeline, until_us=until_micros(scenario.until))
    life = explain_window(stream, window.start, {"key": key})
    assert life is not None
    assert life.steps is not None
    rows = [
        (step.row["index"], step.watermark, start_ms(step), step.verdict)
        for step in life.steps
        if step.step is Step.ROW and step.row is not None
    ]
    panes = [
        (start_ms(step), step.pane.pane_index, step.pane.timing, step.at, step.watermark)
        for step in life.steps
        if step.pane is not None
    ]
    if pipeline.windows.is_session:
        # Other components of the key have other sessions.
        assert set(rows) <= set(rows_of(job, key, None))
        assert set(panes) <= set(panes_of(job, key, None))
        assert panes_of(job, key, window)[0] in panes
    else:
        assert rows == rows_of(job, key, window)
        assert panes == panes_of(job, key, window)
        assert life.row_count == len(rows)
    closes = job.calendar.closes(window, pipeline.windows.lateness_ms)
    closings = [(step.at, step.watermark) for step in life.steps if step.step is Step.CLOSED]
    if not pipeline.windows.is_session:
        assert closings == ([] if closes is None else [(table_time_us(closes.clock_us), table_time(closes.watermark))])
