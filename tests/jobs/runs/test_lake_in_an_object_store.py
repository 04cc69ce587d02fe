"""A lake in an object store: after every operation its tables are those of a lake in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate import handover, handover_file
from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.operate.repair import find, repair
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables import leases, ledger, run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, report_name
from tests.support import history
from tests.support.aged_lake import strictly
from tests.support.arrivals import replay_until
from tests.support.object_store import BUCKET, object_store
from tests.support.places import found_by
from tests.support.runs import publish, published
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = 900
CUTS = tuple(history.START + timedelta(minutes=minutes) for minutes in (30, 55, 75))
HOUR = Interval(history.START, history.START + timedelta(hours=1))


@pytest.fixture(name="store", scope="module")
def _store(spark: SparkSession) -> Iterator[None]:
    """A running object store, which Spark and this process find."""
    with object_store() as variables, found_by(spark, variables):
        yield


def live(spark: SparkSession, lake: Lake, table: str) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """Do everything that a lake goes through; yield the published rows after each operation."""
    pipeline = history.pipeline(table, quality__max_too_late_ratio="1", repair__max_too_late_rows="3")
    other = history.pipeline(table, quality__max_too_late_ratio="1", watermark__out_of_orderness="1 hour")
    runner = Runner(spark, pipeline, lake)
    results = runner.run(Interval(), CUTS[0])
    yield "the first run", published(spark, lake)
    assert [result.step for result in results] == ["plan", "replay", "audit", "publish", "report"]
    page = lake.objects.read(report_name(results[-1].run_id))
    assert page is not None
    assert page.startswith(b"<!DOCTYPE html>")
    first = results[-1].run_id
    Runner(spark, pipeline, lake).run(Interval(), CUTS[1])
    yield "an increment", published(spark, lake)
    publish(spark, other, lake, HOUR, slices=3, restate=True)
    yield "an hour with another bound, in slices", published(spark, lake)
    Runner(spark, pipeline, lake).rollback(first)
    yield "a rollback", published(spark, lake)
    Runner(spark, pipeline, lake).run(Interval(), CUTS[2])
    yield "an increment behind a rollback", published(spark, lake)
    repair(Runner(spark, pipeline, lake), find(spark, pipeline, lake), pipeline)
    yield "a repair", published(spark, lake)
    # Readers may have begun before the compaction, so the next maintenance removes the compacted files.
    for _ in range(2):
        assert maintain(spark, lake, strictly(2)).removed[0] > 0
    assert maintain(spark, lake, strictly(2), dry_run=True).removed == (0, 0)
    yield "maintenance", published(spark, lake)
    handover_file.write(lake, handover.handover(spark, pipeline, lake))
    assert handover_file.read(lake, pipeline, ledger.published(spark, lake)) is not None
    assert leases.current(lake) == []


@pytest.mark.soak
def test_tables_are_those_of_a_lake_in_a_folder(spark: SparkSession, store: None, tmp_path: Path) -> None:
    rows = history.events(ROWS)
    in_folder = Lake(str(tmp_path / "lake"), "readings")
    in_store = Lake(f"s3a://{BUCKET}{tmp_path}/lake", "readings")
    tables = [history.land(spark, rows, f"{lake.root}/source") for lake in (in_folder, in_store)]
    pairs = zip(live(spark, in_folder, tables[0]), live(spark, in_store, tables[1]), strict=True)
    for (operation, expected), (_, rows_in_store) in pairs:
        assert rows_in_store == expected, operation
    # Nothing of the store is in a folder of this machine.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]


def test_a_run_in_a_store_publishes_what_the_reference_returns(
    spark: SparkSession, store: None, tmp_path: Path
) -> None:
    rows = history.events(ROWS)
    lake = Lake(f"s3a://{BUCKET}{tmp_path}/lake", "readings")
    table = history.land(spark, rows, f"{lake.root}/source")
    operation, _ = next(live(spark, lake, table))
    assert operation == "the first run"
    pipeline = history.pipeline(table, quality__max_too_late_ratio="1", repair__max_too_late_rows="3")
    assert_published(spark, lake, replay_until(rows, pipeline, CUTS[0]))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_does_not_answer_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LakeError, match=r"^s3a://nowhere/readings/runs cannot be read: .*127\.0\.0\.1:9"):
        run_history.newest(Lake("s3a://nowhere", "readings"), 10)
