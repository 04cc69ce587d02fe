"""Runs that publish at once: what a reader finds is always what runs one after the other give."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.publish.rollback import going_back
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.tables import delta_log, delta_transaction, ledger
from spark_jobs.tables import publishing as tables
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import rows_of
from tests.support.runs import named, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

HOUR = timedelta(hours=1)
FIRST = Interval(history.START + HOUR, history.START + 2 * HOUR)
SECOND = Interval(history.START + 2 * HOUR, history.START + 3 * HOUR)


class Lakes:
    """Copies of a lake with a published run over everything and two staged ones over an hour each, of other rows."""

    def __init__(self, spark: SparkSession, table: str, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.whole, lenient = (
            history.pipeline(table, watermark__out_of_orderness=bound) for bound in ("10s", "1 hour")
        )
        lake = Lake(str(folder / "first"), "readings")
        enter(spark, lake, self._replayed(self.whole, lake, Interval()))
        self._staged = [self._replayed(lenient, lake, interval) for interval in (FIRST, SECOND)]

    def staged(self, name: str) -> tuple[Lake, Run, Run]:
        shutil.copytree(self._folder / "first", self._folder / name)
        first, second = self._staged
        return Lake(str(self._folder / name), "readings"), first, second

    def _replayed(self, pipeline: Pipeline, lake: Lake, interval: Interval) -> Run:
        runner = Runner(self._spark, pipeline, lake)
        planned, _ = runner.plan(interval, restate=True)
        runner.step("replay", planned.run)
        return runner.find(planned.run.run_id)


@pytest.fixture(name="lakes", scope="module")
def _lakes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lakes:
    folder = tmp_path_factory.mktemp("lakes")
    return Lakes(spark, history.land(spark, history.events(2400), folder / "source"), folder)


def enter(spark: SparkSession, lake: Lake, run: Run) -> None:
    """Publish the run and enter that into the ledger, as the step does."""
    versions = publishing.publish(spark, lake, run)
    now = run.finished_at
    assert now is not None
    ledger.record(spark, lake, run, Step("publish", "done", now, now, versions=versions))


@pytest.fixture(name="one_after_the_other", scope="module")
def _one_after_the_other(spark: SparkSession, lakes: Lakes) -> dict[str, list[object]]:
    lake, first, second = lakes.staged("in order")
    before = published(spark, lake)
    enter(spark, lake, first)
    between = published(spark, lake)
    enter(spark, lake, second)
    after = published(spark, lake)
    assert before != between != after
    return after


@pytest.mark.soak
def test_a_publishing_that_died_is_finished_by_the_next(
    spark: SparkSession, lakes: Lakes, one_after_the_other: dict[str, list[object]]
) -> None:
    lake, first, second = lakes.staged("died")
    before = published(spark, lake)
    for name in ("late_events", "panes"):
        tables.publish(spark, lake, first.run_id, name, FIRST, named(spark, lake))
    assert published(spark, lake) == before, "what is not in the ledger is seen"
    enter(spark, lake, second)
    assert [run.run_id for run in ledger.published(spark, lake)][1:] == [first.run_id, second.run_id]
    assert published(spark, lake) == one_after_the_other


@pytest.mark.soak
def test_slow_publishing_records_the_versions_that_it_wrote(
    spark: SparkSession, lakes: Lakes, one_after_the_other: dict[str, list[object]]
) -> None:
    lake, first, second = lakes.staged("slow")
    base = named(spark, lake)
    tables.publish(spark, lake, first.run_id, "late_events", FIRST, base)
    enter(spark, lake, second)
    run = ledger.published(spark, lake)[1]
    # It has not seen that it was finished and that another run followed: it goes on from where it was.
    for name in ("panes", "window_results", "watermarks"):
        assert tables.publish(spark, lake, first.run_id, name, FIRST, base) == run.versions[name]
        assert delta_log.version(spark, lake.path(name)) > run.versions[name]  # type: ignore[operator]
    enter(spark, lake, first)
    assert ledger.published(spark, lake)[-1].run_id == second.run_id, "the later row of the earlier run counts"
    assert published(spark, lake) == one_after_the_other


@pytest.mark.soak
def test_runs_that_publish_at_once_never_mix(
    spark: SparkSession, lakes: Lakes, one_after_the_other: dict[str, list[object]]
) -> None:
    lake, *runs = lakes.staged("at once")
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(enter, spark, lake, run) for run in runs]:
            future.result()
    assert published(spark, lake) == one_after_the_other
    begun = ledger.published(spark, lake)
    assert {run.run_id for run in begun[1:]} == {run.run_id for run in runs}
    for name in set(RESULT_TABLES) - {"invalid_events"}:
        versions = [run.versions[name] for run in begun]
        assert versions == sorted(set(versions)), "two runs have a version of a table in common"


@pytest.mark.soak
def test_anothers_commit_in_between_is_built_upon(
    spark: SparkSession,
    lakes: Lakes,
    one_after_the_other: dict[str, list[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another writer replaces every file of a table, by files of the same rows, when a run is about to commit to it."""
    lake, *runs = lakes.staged("in between")
    commit, met = delta_transaction.Transaction.commit, Counter[str]()

    def overtaken(transaction: delta_transaction.Transaction, *arguments: Any) -> int:
        path = transaction._log.dataPath().toUri().getPath()
        met[path] += 1
        if met[path] == 1:
            DeltaTable.forPath(spark, path).update(set={"run_id": "run_id"})
        return commit(transaction, *arguments)

    monkeypatch.setattr(delta_transaction.Transaction, "commit", overtaken)
    for run in runs:
        enter(spark, lake, run)
    assert set(met.values()) == {3}, "no commit was tried again"
    assert published(spark, lake) == one_after_the_other


@pytest.mark.soak
def test_a_rollback_gives_back_what_was_published(spark: SparkSession, lakes: Lakes) -> None:
    lake, first, second = lakes.staged("back")
    runner, [whole] = Runner(spark, lakes.whole, lake), ledger.published(spark, lake)
    before = published(spark, lake)
    assert runner.rollback(whole.run_id).state == "unchanged"
    enter(spark, lake, first)
    between = published(spark, lake)
    assert runner.rollback(whole.run_id).state == "done"
    assert published(spark, lake) == before != between
    # Other runs continue from that state, and a run that was rolled back may be restored.
    enter(spark, lake, second)
    assert runner.rollback(first.run_id).state == "done"
    assert published(spark, lake) == between
    assert [run.kind for run in ledger.published(spark, lake)] == [
        "full",
        "backfill",
        "rollback",
        "backfill",
        "rollback",
    ]
    with pytest.raises(InputError, match=r"r0 is not published\. Published runs: r"):
        runner.rollback("r0")
    with pytest.raises(InputError, match="is a rollback: give --run"):
        runner.latest()


@pytest.mark.soak
def test_a_rollback_that_died_is_finished_by_the_next_run(spark: SparkSession, lakes: Lakes) -> None:
    lake, first, second = lakes.staged("half back")
    before, [whole] = published(spark, lake), ledger.published(spark, lake)
    enter(spark, lake, first)
    between, newest = published(spark, lake), ledger.published(spark, lake)[-1]
    back = going_back(whole, newest)
    now = whole.finished_at
    assert now is not None
    ledger.record(spark, lake, back, Step("plan", "done", now, now, versions=whole.versions))
    for name in ("late_events", "panes"):
        tables.restore(spark, lake, back.run_id, name, whole.versions[name], named(spark, lake))
    assert published(spark, lake) == between, "what is not in the ledger is seen"
    enter(spark, lake, second)
    undone = [run for run in ledger.published(spark, lake) if run.run_id == back.run_id]
    assert undone, "the rollback was not finished"
    for name in RESULT_TABLES:
        rows = read_published(spark, lake, name, run_id=back.run_id).drop("run_id")
        assert sorted((sorted(row.items()) for row in rows_of(rows)), key=str) == before[name]
