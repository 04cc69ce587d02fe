"""Every row's explanation on Spark is what the streaming job of the reference did with the row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain.explanations import ExplainedRow
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import of_source
from spark_jobs.replay.engine import until_micros
from spark_jobs.semantics.rows.instants import micros, table_time, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob
from tests.explain.judged_rows import assert_verdicts_are_the_jobs
from tests.explain.test_life import job_of
from tests.sampling import sampled
from tests.support import recorded_triggers
from tests.support.engine import frame_of
from tests.support.recorded_on_spark import ALL, chosen, combinations, schema_of
from tests.vectors.scenarios import Scenario

pytestmark = pytest.mark.spark

# Over all combinations of windows, watermarks, emissions and triggers.
SAMPLE = [*chosen(ALL, 240, combinations), *chosen(recorded_triggers.ALL, 80, recorded_triggers.combinations)]
QUICK = SAMPLE[::160]
CASES = [sampled(s, quick=s in QUICK, id=s.id) for s in SAMPLE]


def explained(session: SparkSession, scenario: Scenario) -> list[ExplainedRow]:
    events = frame_of(session, scenario.rows[::-1], schema_of(scenario))
    stream = of_source(events, scenario.pipeline, until_us=until_micros(scenario.until))
    return explain_rows(stream, [F.lit(True)], most=len(scenario.rows) + 1)


def panes_of(job: StreamingJob, index: int) -> Iterator[tuple[Any, ...]]:
    for fired in job.fired:
        if any(event.row["index"] == index for event in fired.pane.rows):
            yield (
                fired.pane.window.start,
                fired.pane.index,
                fired.pane.timing.value,
                table_time_us(fired.clock_us),
                table_time(fired.pane.watermark),
                len(fired.pane.rows),
            )


@pytest.mark.parametrize("scenario", CASES)
def test_the_explanation_of_each_row_is_the_job_s(session: SparkSession, scenario: Scenario) -> None:
    job, rows = job_of(scenario, scenario.pipeline), explained(session, scenario)
    assert_verdicts_are_the_jobs(rows, scenario, job)
    for row in rows:
        if not scenario.pipeline.windows.is_session:
            assert sorted(
                (micros(w.window_start) // 1000, p.pane_index, p.timing, p.fired_at, p.watermark, p.row_count)
                for w in row.windows
                for p in w.panes or ()
            ) == sorted(panes_of(job, row.row["index"]))
        else:
            assert sorted(
                (p.pane_index, p.timing, p.fired_at, p.watermark, p.row_count)
                for w in row.windows
                for p in w.panes or ()
            ) == sorted(pane[1:] for pane in panes_of(job, row.row["index"]))
