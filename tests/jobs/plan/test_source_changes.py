"""A source that changes under a run, or between two: deleted files, a log cleaned away, other rows, other columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import NothingPublishedError, read_published
from tests.support import history
from tests.support.engine import rows_of
from tests.support.runs import publish
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

HOUR = timedelta(hours=1)
# Where rows are too late, and behind it where none is.
PART = Interval(history.START - HOUR, history.START + HOUR / 2)
ROWS = history.events(900)


@pytest.fixture(name="path")
def _path(spark: SparkSession, tmp_path: Path) -> Path:
    """A table that grew in two commits."""
    for rows in (ROWS[:450], ROWS[450:]):
        history.land(spark, rows, tmp_path / "rows")
    return tmp_path / "rows"


@pytest.fixture(name="unguarded")
def _unguarded(spark: SparkSession) -> Iterator[None]:
    """Vacuums may delete what has just been replaced, and look for it in two tasks, where they would take 200."""
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


def now(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def rewrite(rows: DataFrame, path: Path) -> None:
    """Put `rows` in place of the table's, whatever their columns."""
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", value=True).save(str(path))


@pytest.mark.soak
def test_a_version_that_was_vacuumed_is_planned_again(
    spark: SparkSession, path: Path, lake: Lake, unguarded: None
) -> None:
    runner = Runner(spark, history.pipeline(str(path)), lake)
    planned, _ = runner.plan(Interval())
    table = DeltaTable.forPath(spark, str(path))
    table.delete("id = 5")
    table.vacuum(0)
    with pytest.raises(
        InputError, match=r"version 1 of '.*rows' was planned, found its file part-\S+parquet deleted"
    ) as e:
        runner.step("replay", planned.run)
    assert "by a vacuum: plan again to take the newest version" in str(e.value)
    assert ledger.runs(spark, lake)[-1].state == "failed"
    with pytest.raises(NothingPublishedError):
        read_published(spark, lake, "panes")
    publish(spark, history.pipeline(str(path)), lake, Interval())
    left = [row for row in ROWS if row["id"] != 5]
    assert_published(spark, lake, reference.replay(left, history.pipeline(str(path))))


@pytest.mark.soak
def test_a_file_that_the_newest_version_lacks_too_is_to_be_restored(
    spark: SparkSession, path: Path, lake: Lake
) -> None:
    runner = Runner(spark, history.pipeline(str(path)), lake)
    planned, _ = runner.plan(Interval())
    file = next(path.glob("part-*.parquet"))
    away = file.rename(file.with_suffix(".away"))
    with pytest.raises(InputError, match=rf"{file.name} deleted, which its newest version has too: restore the file"):
        runner.step("replay", planned.run)
    away.rename(file)
    assert runner.step("replay", runner.find(planned.run.run_id)).state == "done"


@pytest.mark.soak
def test_a_version_whose_log_is_cleaned_away_is_planned_again(spark: SparkSession, path: Path, lake: Lake) -> None:
    pipeline = history.pipeline(str(path))
    planned, _ = Runner(spark, pipeline, lake).plan(Interval())
    for row in ROWS[:9]:
        history.land(spark, [{**row, "id": row["id"] + 1000}], path)
    for version in range(10):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    assert list((path / "_delta_log").glob("*10.checkpoint*.parquet"))
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    runner = Runner(spark, pipeline, lake)
    with pytest.raises(InputError, match=r"version 1 of '.*rows' was planned, but can no longer be read: plan again"):
        runner.step("replay", runner.find(planned.run.run_id))
    again, outcome = runner.plan(Interval())
    assert (again.run.source_version, outcome.state) == (10, "done")
    assert runner.step("replay", again.run).state == "done"


@pytest.mark.soak
def test_a_column_more_is_null_in_rows_from_before(spark: SparkSession, path: Path, lake: Lake) -> None:
    publish(spark, history.pipeline(str(path)), lake, Interval())
    before = {row["id"]: row for row in late(spark, lake)}
    rewrite(now(spark, path).withColumn("unit", F.lit("m")), path)
    publish(spark, history.pipeline(str(path)), lake, PART)
    after = {row["id"]: row for row in late(spark, lake)}
    assert after == {key: {**row, "unit": "m" if inside(row) else None} for key, row in before.items()}
    assert {row["unit"] for row in after.values()} == {"m", None}
    # A source that has lost it again: what is there stays.
    rewrite(now(spark, path).drop("unit"), path)
    publish(spark, history.pipeline(str(path)), lake, PART)
    assert {row["id"]: row for row in late(spark, lake)} == {k: {**row, "unit": None} for k, row in before.items()}
    publish(spark, history.pipeline(str(path)), lake, Interval())
    assert {row["id"]: row for row in late(spark, lake)} == before


def test_a_column_that_is_used_and_gone_is_named_with_the_version(spark: SparkSession, path: Path, lake: Lake) -> None:
    rewrite(now(spark, path).withColumnRenamed("device", "device_id"), path)
    for interval in (Interval(), PART):
        with pytest.raises(
            InputError,
            match=r"(?s)windows.key: .* has no column 'device'.*did you mean 'device_id'.*version 2 of .*rows",
        ):
            plan(SparkTables(spark, history.pipeline(str(path)), lake), interval)


@pytest.mark.soak
def test_columns_of_another_type_are_replayed_whole(spark: SparkSession, path: Path, lake: Lake) -> None:
    publish(spark, history.pipeline(str(path)), lake, Interval())
    rewrite(now(spark, path).withColumn("device", F.ascii("device")), path)
    with pytest.raises(
        InputError, match=r"have another type in version 2 .*'device' was STRING and is INT now. Replay"
    ):
        plan(SparkTables(spark, history.pipeline(str(path)), lake), PART)
    publish(spark, history.pipeline(str(path)), lake, Interval())
    rewrite(now(spark, path).withColumn("device", F.col("device").cast("long")), path)
    with pytest.raises(InputError, match=r"'device' was INT and is BIGINT now"):
        plan(SparkTables(spark, history.pipeline(str(path)), lake), PART)
    publish(spark, history.pipeline(str(path)), lake, Interval())
    numbered = [{**row, "device": row["device"] and ord(row["device"])} for row in ROWS]
    assert_published(spark, lake, reference.replay(numbered, history.pipeline(str(path))))


@pytest.mark.soak
def test_partial_run_reads_the_newest_version_and_notes_changes(spark: SparkSession, path: Path, lake: Lake) -> None:
    pipeline = history.pipeline(str(path))
    publish(spark, pipeline, lake, Interval())
    assert not plan(SparkTables(spark, pipeline, lake), PART).note
    pinned, _ = Runner(spark, pipeline, lake).plan(Interval(PART.start, None))
    delta_table = DeltaTable.forPath(spark, str(path))
    delta_table.update("reading is not null", {"reading": F.col("reading") + 1})
    noted = plan(SparkTables(spark, pipeline, lake), PART)
    assert noted.run.source_version == 2
    assert f"are of version 1 of {path}; since then" in noted.note
    assert "2 taken away or rewritten" in noted.note
    # A run that was planned before reads what it was planned on.
    assert pinned.run.source_version == 1
    runner = Runner(spark, pipeline, lake)
    runner.step("replay", runner.find(pinned.run.run_id))
    assert runner.find(pinned.run.run_id).counts["on_time"] > 0
    before = results(spark, lake)
    publish(spark, pipeline, lake, PART)
    mended = [{**row, "reading": row["reading"] if row["reading"] is None else row["reading"] + 1} for row in ROWS]
    expected = {key(row): row["total"] for row in reference.replay(mended, pipeline).window_results}
    for window, total in results(spark, lake).items():
        assert total == (expected if inside({"window_start": window[1]}) else before)[window]


def late(spark: SparkSession, lake: Lake) -> list[dict[str, Any]]:
    return rows_of(read_published(spark, lake, "late_events").drop("run_id"))


def results(spark: SparkSession, lake: Lake) -> dict[tuple[Any, Any], Any]:
    return {key(row): row["total"] for row in rows_of(read_published(spark, lake, "window_results"))}


def key(row: dict[str, Any]) -> tuple[Any, Any]:
    return row["device"], row["window_start"]


def inside(row: dict[str, Any]) -> bool:
    assert PART.start is not None
    assert PART.end is not None
    return bool(PART.start <= row["window_start"] < PART.end)
