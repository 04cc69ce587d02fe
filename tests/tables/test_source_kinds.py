"""Every kind of Delta table has a plain table's rows at a pinned version, and needless files are skipped."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.plan.check import fits
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables import commits, delta_rs, source
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.source_size import has_few_rows
from tests.sampling import sampled
from tests.support import history, many_files, table_kinds
from tests.support.engine import in_order, rows_of
from tests.support.table_kinds import KINDS, Kind

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(300)
CUT = history.START + timedelta(seconds=5 * 250)
_QUICK = {"deleted_rows", "mapped_by_name"}
CASES = [sampled(name, quick=name in _QUICK, id=name) for name in KINDS]


@pytest.fixture(name="engines")
def _engines(spark: SparkSession) -> Iterator[list[str]]:
    """The values of Comet's switch on this machine: Spark alone, and Comet if it runs here."""
    before = str(spark.conf.get(COMET_ENABLED, "false"))
    yield ["false", "true"] if before == "true" else ["false"]
    spark.conf.set(COMET_ENABLED, before)


def original(rows: DataFrame, kind: Kind) -> DataFrame:
    """Return the history's columns of a table, under their names and types in the history."""
    names = {name: kind.names.get(name, name) for name in history.SCHEMA.names}
    return rows.select(
        *(F.col(f"`{names[name]}`").cast(kind_of).alias(name) for name, kind_of in table_kinds.COLUMNS.items())
    )


def take_rows_away(spark: SparkSession, table: str) -> None:
    """Commit later versions, in which half of the rows are gone and the rest is in other files."""
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id % 2 = 0")  # noqa: S608  an own path
    spark.sql(f"OPTIMIZE delta.`{table}`")


def assert_plans_agree(spark: SparkSession, kind: Kind, table: str, lake: Lake) -> None:
    """Delta-rs plans what Spark plans, or leaves it to Spark."""
    pipeline = history.pipeline(table, **kind.settings)
    without_spark = DeltaRsTables(pipeline, lake, partial(fits, spark, pipeline))
    if kind.needs_spark:
        with pytest.raises(NeedsSparkError):
            plan(without_spark, Interval())
    else:
        assert plan(without_spark, Interval()) == plan(SparkTables(spark, pipeline, lake), Interval())
    rows = delta_rs.row_count(table, most_files=100)
    assert rows is None or rows >= len(ROWS), "a table is taken for small"


@pytest.mark.parametrize("name", CASES)
def test_a_pinned_version_has_the_rows_of_a_plain_table(
    spark: SparkSession, engines: list[str], name: str, tmp_path: Path, lake: Lake
) -> None:
    kind, table = KINDS[name], str(tmp_path / "ro ws")
    kind.make(spark, table, ROWS)
    assert_plans_agree(spark, kind, table, lake)
    version = source.pinned_version(spark, table)
    take_rows_away(spark, table)
    assert source.pinned_version(spark, table) > version
    late = [row for row in ROWS if row["stored_at"] is not None and row["stored_at"] >= CUT]
    for comet in engines:
        spark.conf.set(COMET_ENABLED, comet)
        for entirely in (False, True):
            every = source.read(spark, table, version, entirely=entirely)
            assert in_order(rows_of(original(every, kind))) == in_order(ROWS), (comet, entirely)
        every = source.read(spark, table, version)
        assert ("CometNativeScan" in plan_of(every)) == (comet == "true" and kind.is_native)
        part = every.where(F.col(f"`{kind.names.get('stored_at', 'stored_at')}`") >= F.lit(CUT))
        assert in_order(rows_of(original(part, kind))) == in_order(late)
        selected, all_files = (source.files_of(spark, [rows]) for rows in (part, every))
        assert selected.count == all_files.count == 1 if kind.is_one_file else 0 < selected.count < all_files.count
        sizes = [source.size_of(spark, table, version, files) for files in (selected, all_files)]
        assert sizes[0] == sizes[1] if kind.is_one_file else 0 < sizes[0] < sizes[1]


#: Kinds whose commits changed or removed rows, or whose log has lost its first commits.
_REFUSED = {
    *("deleted_rows", "deleted_rows_of_a_partition", "updated_rows", "column_of_a_dropped_name", "row_tracking"),
    *("deleted_by_delta_rs", "checkpoints_with_sidecars", "checkpoint_of_several_parts", "checkpoint_of_one_part"),
    *("replaced", "restored"),
}


@pytest.mark.parametrize("name", CASES)
def test_commits_have_the_rows_that_they_added(spark: SparkSession, name: str, tmp_path: Path) -> None:
    kind, table = KINDS[name], str(tmp_path / "ro ws")
    kind.make(spark, table, ROWS)
    version = source.pinned_version(spark, table)
    if name in _REFUSED:
        with pytest.raises(SourceError) as refused:
            commits.read(spark, table, version)
        assert refused.value.code == ErrorCode.COMMITS_UNKNOWN
        return
    rows = commits.read(spark, table, version)
    if name == "change_data_feed":
        rows = rows.where("id < 1000000")
    assert in_order(rows_of(original(rows, kind))) == in_order(ROWS)


def test_a_feed_across_a_renamed_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "rows")
    properties = "'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'"
    spark.sql(f"CREATE TABLE delta.`{table}` (id LONG, unit STRING) USING delta TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (1, 'm')")  # noqa: S608
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN unit TO length_unit")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (2, 'km')")  # noqa: S608
    with pytest.raises(SourceError, match="version 2 renamed or dropped the column unit") as refused:
        commits.read(spark, table, 3)
    assert refused.value.code == ErrorCode.COMMITS_UNKNOWN


def compacted(spark: SparkSession, table: str, columns: str, values: Sequence[str]) -> None:
    """Make a table that maps its columns, with a commit for each of the values, and compact it."""
    properties = "'delta.columnMapping.mode' = 'name'"
    spark.sql(f"CREATE TABLE delta.`{table}` ({columns}) USING delta TBLPROPERTIES ({properties})")
    for row in values:
        spark.sql(f"INSERT INTO delta.`{table}` VALUES ({row})")  # noqa: S608  own rows
    spark.sql(f"OPTIMIZE delta.`{table}`")


def test_commits_before_a_compaction_have_the_newest_names_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "rows")
    compacted(spark, table, "id LONG, unit STRING, gone STRING", ["1, 'm', 'x'", "2, 'km', 'y'"])
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN unit TO length_unit")
    spark.sql(f"ALTER TABLE delta.`{table}` DROP COLUMN gone")
    spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMN unit STRING")
    rows = commits.read(spark, table, source.pinned_version(spark, table))
    assert {*rows.columns} == {"id", "length_unit", "unit", "_commit_version", "_commit_timestamp"}
    of_rows = rows.select("id", "length_unit", "unit", "_commit_version").orderBy("id").collect()
    assert [tuple(row) for row in of_rows] == [(1, "m", None, 1), (2, "km", None, 2)]


def test_commits_before_a_field_of_a_struct_was_renamed_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "rows")
    compacted(spark, table, "id LONG, of STRUCT<unit: STRING>", ["1, struct('m')", "2, struct('km')"])
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN of.unit TO length_unit")
    with pytest.raises(SourceError, match=r"the field of\.unit of version 2 has the name length_unit now") as refused:
        commits.read(spark, table, source.pinned_version(spark, table))
    assert refused.value.code == ErrorCode.COMMITS_UNKNOWN


def plan_of(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def test_a_plan_over_few_files_of_very_many_counts_these_alone(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    """The files are 20,000, and their paths alone would be over a MiB."""
    table = many_files.land(tmp_path / "rows", 20_000)
    first, end = many_files.FIRST, many_files.FIRST + many_files.EXISTING
    tracemalloc.start()
    try:
        pipeline = history.pipeline(table)
        assert not has_few_rows(pipeline)
        assert DeltaRsTables(pipeline, lake, lambda columns: True).newest_versions == {"": 10}
        rows = source.read(spark, table, source.pinned_version(spark, table), entirely=True)
        stored = F.col("stored_at")
        part = rows.where((stored > F.lit(many_files.minute(first))) & (stored < F.lit(many_files.minute(end))))
        assert part.count() == many_files.EXISTING
        files = source.files_of(spark, [part])
        existing = sum(file.stat().st_size for file in Path(table).glob("*.parquet"))
        assert (files.count, source.size_of(spark, table, 10, files)) == (many_files.EXISTING, existing)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
