"""Each corruption of the staged tables of a whole run is reported by the invariants about it, and by no other."""

from __future__ import annotations

import pytest
from delta import DeltaTable
from pyspark.sql import SparkSession

from expectations.suites import SUITES
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.expectations.corruptions import CATALOGUE, Corruption, cases, of_runs
from tests.expectations.corruptions.good_runs import WHOLE_RUNS, good_run
from tests.expectations.corruptions.runner import corrupted, reported_by
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SAMPLE = {
    "a_window_dropped_with_its_result",
    "a_late_event_at_another_time",
    "firing_times_of_two_windows_swapped",
    "a_retraction_of_another_value",
}
# The pipeline declares how many rows may be too late; sessions have no calendar.
NOT_BY_ROWS = {"run.not_too_many_rows_are_too_late", "watermarks.sessions_are_no_shorter_than_the_gap"}
# These need a context or most of the rows: `suites/test_plausibility.py` has a run that each reports.
BY_CONTEXT = {
    "plausibility.the_run_has_windows",
    "plausibility.events_are_of_the_time_of_their_arrival",
    "plausibility.published_results_are_not_taken_away",
    "run.not_too_many_rows_are_invalid",
}


@pytest.mark.parametrize("kind", WHOLE_RUNS)
def test_no_invariant_reports_a_good_run(spark: SparkSession, kind: str) -> None:
    assert reported_by(spark, good_run(kind)) == set()


@pytest.mark.parametrize("corruption", cases(*WHOLE_RUNS, quick=lambda _, corruption: corruption.name in SAMPLE))
def test_the_invariants_about_a_corruption_report_it(spark: SparkSession, corruption: Corruption) -> None:
    assert reported_by(spark, corrupted(corruption)) == corruption.reported_by, corruption.why


# The schemas of a whole run are parsed by Spark.
@pytest.mark.usefixtures("spark")
def test_every_invariant_of_windows_has_a_corruption() -> None:
    invariants = {
        f"{suite.name}.{invariant.name}"
        for kind in WHOLE_RUNS
        for suite in SUITES
        for invariant in suite.invariants(good_run(kind).pipeline)
    }
    reporting = set().union(*(corruption.reported_by for corruption in of_runs(*WHOLE_RUNS)))
    assert invariants - reporting == NOT_BY_ROWS | BY_CONTEXT
    assert reporting <= invariants


def test_every_corruption_of_a_run_has_a_name_and_a_report() -> None:
    places = [(corruption.run, corruption.name) for corruption in CATALOGUE]
    assert len(places) == len(set(places))
    assert all(corruption.reported_by for corruption in CATALOGUE)


def test_a_run_whose_staged_results_are_changed_is_not_published(spark: SparkSession, table: str, lake: Lake) -> None:
    runner = Runner(spark, history.pipeline(table), lake)
    run_id = runner.begin(Interval())[0].run.run_id
    runner.step("replay", runner.find(run_id))
    DeltaTable.forPath(spark, lake.staged("window_results", run_id)).update("device = 'a'", {"total": "total + 1"})
    with pytest.raises(BlockedError, match="results_show_what_the_latest_pane_shows"):
        runner.step("audit", runner.find(run_id))
    with pytest.raises(InputError, match="only a run that passed its audit, or was accepted, is published"):
        runner.step("publish", runner.find(run_id))
