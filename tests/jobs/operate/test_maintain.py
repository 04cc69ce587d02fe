"""Maintenance: fewer files, equal rows; what goes is what nothing needs, and what is gone is refused by name."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.operate.compare import compare
from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables import delta_log, ledger
from spark_jobs.tables import publishing as tables
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import LockedError, acquire
from spark_jobs.tables.published import NothingPublishedError, read_published
from tests.support import history
from tests.support.aged_lake import END, HOUR, SECOND, WornLake, WornLakes, strictly
from tests.support.arrivals import replay_until
from tests.support.runs import named, publish
from tests.support.whole_run import assert_published, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(name="lakes", scope="module")
def _lakes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> WornLakes:
    return WornLakes(spark, tmp_path_factory.mktemp("worn"))


def live_files(spark: SparkSession, worn: WornLake) -> dict[str, int]:
    """How many files the newest published state of each table has."""
    versions = ledger.published(spark, worn.lake)[-1].versions
    return {name: len(delta_log.sizes(spark, worn.lake.path(name), version)) for name, version in versions.items()}


@pytest.mark.soak
def test_a_lake_is_read_as_before_from_fewer_files(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    table = history.land(spark, history.events(200), tmp_path / "rows")
    strict, lenient = (history.pipeline(table, watermark__out_of_orderness=bound) for bound in ("10s", "1 hour"))
    first = publish(spark, strict, lake, Interval())
    publish(spark, lenient, lake, Interval(history.START, history.START + HOUR / 2), restate=True)
    before = published(spark, lake)
    outcome = maintain(spark, lake, strictly())
    assert (outcome.lost, len(outcome.kept)) == ([first], 1)
    assert {entry.after for entry in outcome.compacted} == {1}
    assert sum(entry.files for entry in outcome.unneeded) > 0
    assert published(spark, lake) == before
    with pytest.raises(InputError, match=f"go back to {first}: maintenance has removed its files"):
        Runner(spark, strict, lake).rollback(first)


@pytest.mark.soak
def test_maintenance_keeps_retained_runs_and_removes_unneeded_files(spark: SparkSession, lakes: WornLakes) -> None:
    worn = lakes.copy("kept")
    before, policy = worn.files, strictly(len(worn.runs))
    rows_before = {run: worn.published_rows(run) for run in worn.runs}
    assert max(live_files(spark, worn).values()) > 1
    foreseen = maintain(spark, worn.lake, policy, dry_run=True)
    assert again_at(worn).files == before, "a dry run has changed something"
    outcome = maintain(spark, worn.lake, policy)
    assert (outcome.dead, outcome.compacted, outcome.unneeded) == (foreseen.dead, foreseen.compacted, foreseen.unneeded)
    assert [entry.run_id for entry in outcome.dead] == [worn.dead]
    assert {entry.after for entry in outcome.compacted} == {1}
    assert set(live_files(spark, worn).values()) <= {0, 1}
    assert {run: worn.published_rows(run) for run in worn.runs} == rows_before
    again = maintain(spark, worn.lake, strictly(len(worn.runs)))
    assert not again.dead
    assert not again.compacted
    assert again.kept == worn.runs
    assert {run: worn.published_rows(run) for run in worn.runs} == rows_before
    # What is gone back to is what it was.
    assert Runner(spark, worn.pipeline, worn.lake).rollback(worn.runs[2]).state == "done"
    assert now_shown(worn) == rows_before[worn.runs[2]] != rows_before[worn.runs[-1]]


def again_at(worn: WornLake) -> WornLake:
    """The same one, that looks at its folder anew."""
    return replace(worn)


def now_shown(worn: WornLake) -> list[str]:
    """The rows of what is published now."""
    return worn.published_rows(ledger.published(worn.spark, worn.lake)[-1].run_id)


def but_runs(rows: list[str]) -> list[str]:
    """Rows whatever run has made them."""
    return sorted(re.sub(r'"run_id":"\w+"', "", row) for row in rows)


@pytest.mark.soak
def test_dead_run_is_discarded_and_may_begin_again(spark: SparkSession, lakes: WornLakes) -> None:
    worn = lakes.copy("dead")
    within = maintain(spark, worn.lake, strictly(retain=timedelta(days=30)), dry_run=True)
    assert (within.dead, within.unneeded, within.lost) == ([], [], [])
    [dead] = maintain(spark, worn.lake, strictly(4)).dead
    assert (dead.run_id, dead.why.split(",")[0]) == (worn.dead, "staged")
    assert not any(worn.dead in path for path in again_at(worn).files)
    run = ledger.find(spark, worn.lake, worn.dead)
    assert run is not None
    assert (run.state, run.discarded, run.finished_step("replay")) == ("discarded", True, None)
    with pytest.raises(InputError, match="is discarded; take its step replay"):
        Runner(spark, worn.pipeline, worn.lake).step("audit", run)
    before = now_shown(worn)
    hour = Interval(history.START, history.START + HOUR)
    assert publish(spark, worn.pipeline, worn.lake, hour, restate=True) == worn.dead
    again = ledger.find(spark, worn.lake, worn.dead)
    assert again is not None
    assert (again.state, again.discarded) == ("published", False)
    assert but_runs(now_shown(worn)) == but_runs(before)


@pytest.mark.soak
def test_lost_runs_are_refused_by_name_and_new_runs_continue(spark: SparkSession, lakes: WornLakes) -> None:
    worn = lakes.copy("lost")
    rows_before = worn.published_rows()
    outcome = maintain(spark, worn.lake, strictly())
    assert outcome.lost == worn.runs[:-1]
    # What is lost has lost its files, but those that the newest run took up.
    assert outcome.unneeded
    assert worn.published_rows() == rows_before
    runner, lost = Runner(spark, worn.pipeline, worn.lake), worn.runs[2]
    with pytest.raises(InputError, match=f"go back to {lost}: maintenance has removed its files"):
        runner.rollback(lost)
    with pytest.raises(NothingPublishedError, match=f"the files of the published run {lost}"):
        read_published(spark, worn.lake, "panes", run_id=lost)
    with pytest.raises(InputError, match=f"removed the files of run {lost}"):
        compare(spark, worn.pipeline, worn.lake, before=lost)
    assert [run.run_id for run in ledger.published(spark, worn.lake)] == worn.runs
    # The same command again begins a run of another name, and the same name each time.
    names = {plan(SparkTables(spark, worn.other, worn.lake), SECOND, restate=True).run.run_id for _ in range(2)}
    assert len(names) == 1
    assert not names & set(worn.runs)
    # As if nothing had happened: the next run continues, and publishes the results of one job.
    run_id = publish(spark, worn.pipeline, worn.lake, Interval(), arrived_to=END)
    assert ledger.find(spark, worn.lake, run_id).arrived_from is not None  # type: ignore[union-attr]
    assert_published(spark, worn.lake, replay_until(lakes.rows, worn.pipeline, END))


@pytest.mark.soak
def test_maintenance_waits_for_other_processes_and_finishes_their_publishing(
    spark: SparkSession, lakes: WornLakes
) -> None:
    worn = lakes.copy("others")
    with acquire(worn.lake, worn.dead, Interval(END)), pytest.raises(LockedError, match=f"found run {worn.dead}"):
        maintain(spark, worn.lake, strictly())
    hour = Interval(history.START, history.START + HOUR)
    tables.publish(spark, worn.lake, worn.dead, "late_events", hour, named(spark, worn.lake))
    outcome = maintain(spark, worn.lake, strictly())
    # The rollback was what readers saw when it began.
    assert (outcome.dead, outcome.kept) == ([], [worn.runs[-1], worn.dead])
    assert ledger.published(spark, worn.lake)[-1].run_id == worn.dead


@pytest.mark.soak
def test_maintenance_refuses_tables_with_rows_that_no_run_published(spark: SparkSession, lakes: WornLakes) -> None:
    worn = lakes.copy("foreign")
    rows_before, path = worn.published_rows(), worn.lake.path("panes")
    spark.read.format("delta").load(path).limit(1).write.format("delta").mode("append").save(path)
    with pytest.raises(InputError, match="has changed rows, and is of no run"):
        maintain(spark, worn.lake, strictly())
    assert worn.published_rows() == rows_before


@pytest.mark.soak
def test_versions_that_the_ledger_names_stay_readable_whatever_their_age(spark: SparkSession, lakes: WornLakes) -> None:
    worn = lakes.copy("old")
    for log in Path(worn.lake.home).glob("*/_delta_log/*.json"):
        number, age = int(log.stem), timedelta(days=400).total_seconds()
        moment = log.stat().st_mtime - age + number
        os.utime(log, (moment, moment))
    first = worn.runs[0]
    assert worn.published_rows(first) != worn.published_rows()
