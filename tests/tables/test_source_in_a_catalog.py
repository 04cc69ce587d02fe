"""A source that is given by its name is read through its catalog: no reading replaces the name by a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log, source
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.runs import publish
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(400)
NAME = "spark_catalog.stored.readings"


@pytest.fixture(name="path")
def _path(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The path of a table under `NAME`, with two commits of rows."""
    path = history.land(spark, ROWS[:300], tmp_path / "events")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS stored LOCATION '{tmp_path / 'schema'}'")
    spark.sql(f"CREATE TABLE {NAME} USING DELTA LOCATION '{path}'")
    history.land(spark, ROWS[300:], path)
    yield path
    spark.sql("DROP SCHEMA stored CASCADE")


@pytest.fixture(name="_never_by_path")
def _never_by_path(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Delta open no table at the path of the named table."""
    by_path = delta_log.log_of

    def guarded(spark: SparkSession, table: str) -> object:
        assert path not in table, f"{table} is opened by its path"
        return by_path(spark, table)

    monkeypatch.setattr(delta_log, "log_of", guarded)
    monkeypatch.setattr(source, "location", lambda spark, table: pytest.fail(f"the path of {table} is looked up"))


@pytest.mark.usefixtures("_never_by_path")
def test_every_reading_of_a_name_goes_through_its_catalog(spark: SparkSession, path: str) -> None:
    named = history.pipeline(NAME)
    versions = source.newest_versions(spark, named)
    assert versions == {"": 1}
    assert in_order(rows_of(source.read(spark, NAME, 1))) == in_order(ROWS)
    assert in_order(rows_of(source.read(spark, NAME, 0, entirely=True))) == in_order(ROWS[:300])
    assert source.table_ids(spark, named, versions)[""]
    changed = source.row_changes(spark, NAME, 0, 1)
    assert changed is not None
    (files,) = changed.added.values()
    assert in_order(rows_of(source.rows_of_files(spark, NAME, 1, files))) == in_order(ROWS[300:])
    read = source.files_of(spark, [source.read(spark, NAME, 1)])
    assert read.count == 2
    sizes = [file.stat().st_size for file in Path(path).glob("*.parquet")]
    assert source.size_of(spark, NAME, 1, read) == sum(sizes)
    assert source.size_of(spark, NAME, 0, read) in sizes
    assert source.first_version_with(spark, NAME, 1, source.rows_of_files(spark, NAME, 1, files)) == 1
    with pytest.raises(NeedsSparkError, match=f"the table {NAME} has a name of a catalog"):
        DeltaRsTables(named, Lake("unused", "readings"))


@pytest.mark.usefixtures("_never_by_path")
def test_commits_of_a_name_are_read_through_its_catalog(spark: SparkSession) -> None:
    by_commit = history.pipeline(NAME, replay__order="commit")
    rows = source.events(spark, by_commit, {"": 1})
    assert rows.where("_commit_version = 0").count() == 300
    assert rows.where("_commit_version = 1").count() == 100
    spark.sql(f"ALTER TABLE {NAME} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    DeltaTable.forName(spark, NAME).delete("id = 5")
    assert source.events(spark, by_commit, {"": 3}).count() == 400


def test_a_run_over_a_name_is_the_run_over_its_path(spark: SparkSession, path: str, lake: Lake) -> None:
    publish(spark, history.pipeline(NAME), lake, Interval())
    assert_published(spark, lake, reference.replay(ROWS, history.pipeline(path)))


def test_a_name_that_no_catalog_has_is_refused(spark: SparkSession, lake: Lake) -> None:
    with pytest.raises(SourceError, match=r"'stored\.nothing' is not a Delta table"):
        source.pinned_version(spark, "stored.nothing")
    with pytest.raises(ValueError, match=r"catalog that ends with this process .*catalogImplementation is in-memory"):
        Runner(spark, history.pipeline("stored.nothing", publish_to="stored"), lake).plan(Interval())
