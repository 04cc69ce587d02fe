"""Rows in the order of the commits that brought them, out of a change data feed and out of a table's history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION
from spark_jobs.tables import source
from spark_jobs.tables.errors import SourceError
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import Collected, frame_of, in_order, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(240)
BATCHES = [ROWS[i : i + 60] for i in range(0, 240, 60)]
FEED = "delta.enableChangeDataFeed"


def by_commit(table: str, **overrides: str) -> Pipeline:
    return history.pipeline(table, replay__order="commit", **overrides)


def landed(spark: SparkSession, path: Path, *, feed: bool = False) -> str:
    """The history in four commits."""
    for i, batch in enumerate(BATCHES):
        writer = frame_of(spark, batch, history.SCHEMA).repartition(2, "device").write.format("delta").mode("append")
        (writer.option(FEED, "true") if feed and i == 0 else writer).save(str(path))
    return str(path)


def brought(spark: SparkSession, table: str) -> dict[int, int]:
    """Which commit brought each row, by the row's id."""
    version = source.pinned_version(spark, table)
    rows = rows_of(source.events(spark, by_commit(table), {"": version}))
    assert all(row[COMMIT_TIMESTAMP] is not None for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row[COMMIT_VERSION] for row in rows}


IN_FOUR = {row["id"]: i for i, batch in enumerate(BATCHES) for row in batch}


@pytest.mark.parametrize("feed", [True, False], ids=["change data feed", "history"])
def test_each_row_has_the_commit_that_added_it(spark: SparkSession, tmp_path: Path, feed: bool) -> None:
    assert brought(spark, landed(spark, tmp_path / "events", feed=feed)) == IN_FOUR


def test_the_feed_and_the_history_give_the_same_times(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events")
    version = source.pinned_version(spark, table)
    feed_times = {
        r[COMMIT_VERSION]: r[COMMIT_TIMESTAMP] for r in rows_of(source.events(spark, by_commit(table), {"": version}))
    }
    history_rows = rows_of(DeltaTable.forPath(spark, table).history().select("version", "timestamp"))
    assert feed_times == {row["version"]: row["timestamp"] for row in history_rows}


def test_a_compaction_brings_no_row_and_hides_no_commit(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events")
    DeltaTable.forPath(spark, table).optimize().executeCompaction()
    history.land(spark, [{**ROWS[0], "id": 1000}], table)
    assert source.pinned_version(spark, table) == 5
    assert brought(spark, table) == {**IN_FOUR, 1000: 5}


def test_an_updated_row_arrives_again_and_a_deleted_one_stays_what_it_was(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events", feed=True)
    DeltaTable.forPath(spark, table).update("id = 7", {"id": "1007"})
    DeltaTable.forPath(spark, table).delete("id = 8")
    assert brought(spark, table) == {**IN_FOUR, 1007: 4}


def test_a_feed_that_was_turned_on_later_follows_the_history_before_it(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events")
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({FEED} = true)")
    history.land(spark, [{**ROWS[0], "id": 1000}], table)
    DeltaTable.forPath(spark, table).delete("id = 7")
    assert brought(spark, table) == {**IN_FOUR, 1000: 5}


def test_changed_rows_without_a_feed_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events")
    DeltaTable.forPath(spark, table).update("id = 7", {"reading": "1.0"})
    with pytest.raises(SourceError, match="version 4 changed or removed rows while no change data feed was on"):
        brought(spark, table)


def test_a_log_that_has_lost_its_beginning_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = landed(spark, tmp_path / "events")
    version = source.pinned_version(spark, table)
    (Path(table) / "_delta_log" / f"{0:020d}.json").unlink()
    with pytest.raises(SourceError, match="no longer contains version 0"):
        source.events(spark, by_commit(table), {"": version})


@pytest.mark.parametrize(
    ("emit", "arrival"),
    [
        sampled(
            *(emit, arrival),
            quick=i + arrival == 2 and arrival,
            judges=i + arrival == 2,
            id=f"{emit}-{'with' if arrival else 'without'} arrival",
        )
        for i, emit in enumerate(("per_event", "{every: 10 seconds}", "{every_n: 7}"))
        for arrival in (True, False)
    ],
)
def test_a_replay_in_commit_order_is_the_reference_s(spark: SparkSession, emit: str, arrival: bool) -> None:
    rows = committed()
    pipeline = by_commit("events", watermark__emit=emit, **({} if arrival else {"source__arrival_time": "null"}))
    outcome = Collected(replay(frame_of(spark, rows[::-1]), pipeline))
    expected = reference.replay(rows, pipeline)
    assert expected.counts["late"] > 0
    assert expected.counts["too_late"] > 0
    for name in ("panes", "window_results", "late_events", "invalid_events", "watermarks"):
        assert in_order(getattr(outcome, name)) == in_order(getattr(expected, name)), name


def test_rows_without_a_commit_are_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no column _commit_timestamp and no _commit_version"):
        replay(frame_of(spark, ROWS), by_commit("events"))
    with pytest.raises(ValueError, match="a row without _commit_version"):
        reference.replay(ROWS, by_commit("events"))


def committed() -> list[dict[str, Any]]:
    """The history in commits of 20 rows, 20 seconds apart; what arrives by them is later and coarser than before."""
    start = datetime(2024, 3, 30, 23, tzinfo=UTC)
    return [
        {**row, COMMIT_VERSION: i // 20, COMMIT_TIMESTAMP: start + timedelta(seconds=20 * (i // 20))}
        for i, row in enumerate(ROWS)
    ]
