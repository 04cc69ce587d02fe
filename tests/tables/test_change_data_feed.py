"""The change data feed of published tables: after each kind of run it has the rows that went and came, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables import commit_files, delta_log, ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import Objects
from tests.support import history
from tests.support.aged_lake import strictly
from tests.support.engine import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

PART = Interval(history.START + timedelta(minutes=10), history.START + timedelta(minutes=30))
CUTS = (history.START + timedelta(minutes=40), history.START + timedelta(minutes=60))
Rows = Counter[str]


def take(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval | None = None,
    arrived_to: datetime | None = None,
    repair: Mapping[str, int] | None = None,
) -> str:
    """Plan, replay and publish a run; returns its id."""
    runner = Runner(spark, pipeline, lake)
    run_id = runner.begin(interval or Interval(), arrived_to, repair=repair)[0].run.run_id
    runner.step(StepName.REPLAY, runner.find(run_id))
    run = runner.find(run_id)
    versions = publishing.publish(spark, lake, run, results=pipeline.results)
    assert run.finished_at is not None
    step = ledger.Step(StepName.PUBLISH, "done", run.finished_at, run.finished_at, versions=versions)
    ledger.record(spark, lake, run, step)
    return run_id


def counted(rows: DataFrame) -> Rows:
    return Counter(str(sorted(row.items())) for row in rows_of(rows))


class Reader:
    """A reader downstream, which follows each table by its feed, and checks the feed by the table."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self._spark, self._lake = spark, lake
        self._state: dict[str, tuple[int, Rows]] = {}

    def follow(self) -> dict[str, Rows]:
        """Read the feed of each table since the last call; returns the rows that went, by table."""
        deletes_by_table = {}
        for table in PUBLISHABLE:
            path = self._lake.path(table)
            newest = delta_log.version(self._spark, path)
            version, before = self._state.get(table, (-1, Counter()))
            if newest is None or newest == version:
                continue
            after = counted(self._spark.read.format("delta").option("versionAsOf", newest).load(path))
            deletes, inserts = (self._changes(path, version + 1, newest, kind) for kind in ("delete", "insert"))
            assert deletes == before - after, table
            assert inserts == after - before, table
            self._state[table], deletes_by_table[table] = (newest, after), deletes
        return deletes_by_table

    def _changes(self, path: str, first: int, last: int, kind: str) -> Rows:
        reader = self._spark.read.format("delta").option("readChangeFeed", "true")
        changes = reader.option("startingVersion", first).option("endingVersion", last).load(path)
        assert {row[0] for row in changes.select("_change_type").distinct().collect()} <= {"insert", "delete"}
        return counted(
            changes.where(f"_change_type = '{kind}'").drop("_change_type", "_commit_version", "_commit_timestamp")
        )


def actions_of(lake: Lake, table: str, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in commit_files.actions(Objects(lake.path(table))) if kind in action]


@pytest.mark.soak
def test_a_reader_follows_what_runs_change(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    table = history.land(spark, history.events(900), tmp_path / "rows")
    pipeline = history.pipeline(table, results__change_data_feed="true")
    reader = Reader(spark, lake)
    take(spark, pipeline, lake, arrived_to=CUTS[0])
    assert not any(reader.follow().values()), "the first run takes nothing away"
    resumed = take(spark, pipeline, lake, arrived_to=CUTS[1])
    assert ledger.find(spark, lake, resumed).arrived_from == CUTS[0]  # type: ignore[union-attr]
    assert any(reader.follow().values()), "late rows revise results"
    take(spark, pipeline, lake, PART)
    assert reader.follow()["panes"]
    carried = [add for add in actions_of(lake, "panes", "add") if "-carried-" in add["path"]]
    assert carried
    assert actions_of(lake, "panes", "cdc")
    take(spark, pipeline, lake, PART, repair={"windows": 2, "rows": 2})
    assert reader.follow()["window_results"]
    maintain(spark, lake, strictly(9))
    assert not any(reader.follow().values()), "compaction changes nothing"
    Runner(spark, pipeline, lake).rollback(resumed)
    assert reader.follow()["window_results"]
    take(spark, pipeline, lake)
    assert reader.follow()["window_results"]


@pytest.mark.soak
def test_an_existing_lake_gets_the_feed_with_the_next_run_and_keeps_it(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    table = history.land(spark, history.events(300), tmp_path / "rows")

    def feed() -> str | None:
        version = delta_log.version(spark, lake.path("panes"))
        assert version is not None
        _, (action,) = delta_log.state_at(spark, lake.path("panes"), version)
        setting: str | None = action["metaData"]["configuration"].get("delta.enableChangeDataFeed")
        return setting

    first = take(spark, history.pipeline(table), lake)
    assert feed() is None
    with_feed = history.pipeline(table, results__change_data_feed="true")
    take(spark, with_feed, lake, PART)
    assert feed() == "true"
    take(spark, history.pipeline(table), lake)
    assert feed() == "true", "a file without the key changes nothing"
    Runner(spark, with_feed, lake).rollback(first)
    assert feed() == "true"
    settings = {"results__change_data_feed": "false", "windows__allowed_lateness": "10 minutes"}
    take(spark, history.pipeline(table, **settings), lake)
    assert feed() == "false"
