"""The verdicts of explained rows, compared with what the streaming job of the reference did with them."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.explain.explanations import UNASSIGNED, ExplainedRow
from spark_jobs.semantics.rows.instants import micros, table_time
from spark_jobs.semantics.streaming_job import StreamingJob
from spark_jobs.semantics.windows.lateness import fate
from tests.vectors.scenarios import Scenario


def assert_verdicts_are_the_jobs(rows: Sequence[ExplainedRow], scenario: Scenario, job: StreamingJob) -> None:
    """Assert that all rows of a scenario are explained, each with its place, its fate, watermark and windows."""
    assert [row.row["index"] for row in rows] == [row["index"] for row in scenario.rows]
    assert [row.rows_before for row in rows] == list(range(len(rows)))
    for row, judged in zip(rows, job.judged, strict=True):
        lateness = fate(
            [v.lateness for v in judged.verdicts],
            judged.event.ts,
            scenario.pipeline.windows.lateness_ms,
            judged.watermark,
        )
        assert row.fate == (UNASSIGNED if lateness is None else lateness.value)
        assert row.watermark == table_time(judged.watermark)
        assert [(micros(w.window_start) // 1000, micros(w.window_end) // 1000, w.verdict) for w in row.windows] == [
            (v.window.start, v.window.end, v.lateness.value) for v in judged.verdicts
        ]
