"""Invariants of sliding windows: exactly the invariants about a corruption report it, and none what Flink emits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from expectations.run_context import RunContext
from spark_jobs.pipeline.model import EndOfInput
from spark_jobs.tables.interval import Interval, joined
from tests.expectations.corruptions import Corruption, cases
from tests.expectations.corruptions.good_runs import good_run, sliding
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.expectations.corruptions.staged_run import StagedRun
from tests.sampling import sampled
from tests.vectors.scenarios import Scenario, load

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SLIDING = [scenario for scenario in load() if scenario.pipeline.windows.kind == "sliding" and scenario.late]
GAPS = [scenario for scenario in SLIDING if set(scenario.recorded["unassigned"]) & set(scenario.late)]
OVERLAPPING = [
    scenario for scenario in SLIDING if scenario.pipeline.windows.slide_ms < scenario.pipeline.windows.size_ms
]
SCENARIOS = [*GAPS[:1], *OVERLAPPING[:: len(OVERLAPPING) // 3]]


@pytest.mark.parametrize("end", [sampled(end, quick=end is EndOfInput.CLOSE) for end in EndOfInput])
@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SCENARIOS[:2], id=s.id) for s in SCENARIOS])
def test_no_invariant_reports_what_flink_emits(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    assert reported_by(spark, sliding(scenario, end)) == set()


@pytest.mark.parametrize("corruption", cases("sliding", quick=lambda number, _: number % 3 == 0))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by


def over(run: StagedRun, starts: list[datetime]) -> StagedRun:
    """Return what a run over the windows of these starts stages, and none between them."""
    slide = timedelta(milliseconds=run.pipeline.windows.period_ms)
    part = joined([Interval(start, start + slide) for start in starts])
    assert part is not None
    rows = {
        table: [row for row in table_rows if row["window_start"] in starts] for table, table_rows in run.rows.items()
    }
    return replace(run, rows=rows, context=RunContext(stretches=part.stretches))


def test_a_window_alone_shares_late_rows_with_windows_that_a_run_over_stretches_leaves_alone(
    spark: SparkSession,
) -> None:
    run = good_run("sliding")
    starts = sorted(row["window_start"] for row in run.rows["watermarks"])
    late_starts = {row["window_start"] for row in run.rows["late_events"]}
    shared = [row["window_start"] for row in run.rows["window_results"] if row["too_late_count"]]
    # The late rows of these windows are in the table with newer windows.
    alone = next(start for start in shared if start not in late_starts)
    count_late_rows = "window_results.results_count_the_rows_they_missed"
    assert count_late_rows not in reported_by(spark, over(run, [alone, starts[-1]]))
    # With all windows that a row of it may belong to, the late rows are complete, before a stretch apart as well.
    reach = timedelta(milliseconds=run.pipeline.windows.size_ms)
    around = [start for start in starts if alone - reach < start < alone + reach]
    whole = over(run, [*around, starts[-1]])
    assert count_late_rows not in reported_by(spark, whole)
    results = [
        {**row, "too_late_count": row["too_late_count"] + (row["window_start"] == alone)}
        for row in whole.rows["window_results"]
    ]
    assert count_late_rows in reported_by(spark, replace(whole, rows={**whole.rows, "window_results": results}))
