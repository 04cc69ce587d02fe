"""A snapshot is read by the native engine where its files have exactly its rows, and by Spark where they do not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables import native_scan, source

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _comet(spark: SparkSession) -> Iterator[None]:
    """Comet is on in this session."""
    before = spark.conf.get(COMET_ENABLED, "false")
    spark.conf.set(COMET_ENABLED, "true")
    yield
    spark.conf.set(COMET_ENABLED, str(before))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ev ent's [1]")


def events(spark: SparkSession, first: int = 0, count: int = 1000) -> DataFrame:
    return spark.range(first, first + count, numPartitions=2).select(
        F.timestamp_micros(F.col("id") * 1_000_000 + 1_700_000_000_000_000).alias("ts"),
        F.col("id"),
        F.struct((F.col("id") % 7).alias("of.page"), F.timestamp_micros(F.lit(10**15)).alias("seen.at")).alias("page"),
        (F.col("id") % 3).cast("string").alias("kind"),
    )


def write(rows: DataFrame, path: str, **options: str) -> None:
    partitions = options.pop("partitions", "")
    writer = rows.write.format("delta").mode("append").options(**options)
    (writer.partitionBy(partitions) if partitions else writer).save(path)


def newest(spark: SparkSession, path: str) -> DataFrame:
    return source.read(spark, path, source.pinned_version(spark, path))


def scan_is_native(rows: DataFrame) -> bool:
    return "CometNativeScan" in plan_of(rows)


def plan_of(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def as_spark_reads(spark: SparkSession, path: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, spark.read.format("delta").load(path).collect()), key=repr)


def test_plain_files_are_read_natively_with_the_same_rows(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    rows = newest(spark, path)
    assert scan_is_native(rows)
    assert rows.schema == spark.read.format("delta").load(path).schema
    assert sorted(map(tuple, rows.collect()), key=repr) == as_spark_reads(spark, path)


def entire(spark: SparkSession, path: str) -> DataFrame | None:
    return native_scan.entire(spark, path, source.pinned_version(spark, path))


def test_a_table_of_few_files_is_read_entirely_without_delta(spark: SparkSession, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (ts TIMESTAMP, id LONG NOT NULL, page STRUCT<`of.page`: LONG, "
        "`seen.at`: TIMESTAMP>, kind STRING COMMENT 'of the event') USING delta"
    )
    write(events(spark), path)
    write(events(spark, 5000), path)
    DeltaTable.forPath(spark, path).delete("id < 400")
    rows = entire(spark, path)
    assert rows is not None
    assert scan_is_native(rows)
    assert rows.schema == spark.read.format("delta").load(path).schema
    assert sorted(map(tuple, rows.collect()), key=repr) == as_spark_reads(spark, path)
    earlier = native_scan.entire(spark, path, 1)
    assert earlier is not None
    assert earlier.count() == 1000


def test_a_table_of_many_files_is_read_with_delta_s_index(spark: SparkSession, path: str) -> None:
    write(events(spark).repartition(33), path)
    assert entire(spark, path) is None
    assert source.read(spark, path, 0, entirely=True).count() == 1000


def test_a_missing_file_is_left_to_delta_s_error(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    next(Path(path).glob("*.parquet")).unlink()
    assert entire(spark, path) is None


def test_an_earlier_version_has_its_own_rows(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    write(events(spark, 5000), path)
    DeltaTable.forPath(spark, path).delete("id < 400")
    counts = [source.read(spark, path, version).count() for version in range(3)]
    assert counts == [1000, 2000, 1600]
    assert all(scan_is_native(source.read(spark, path, version)) for version in range(3))


def test_partition_columns_have_their_values(spark: SparkSession, path: str) -> None:
    write(events(spark).withColumn("day", F.to_date("ts")), path, partitions="day")
    write(events(spark, 0, 3).withColumn("day", F.lit(None).cast("date")), path)
    assert entire(spark, path) is None
    rows = newest(spark, path)
    assert scan_is_native(rows)
    assert sorted(map(tuple, rows.collect()), key=repr) == as_spark_reads(spark, path)


def test_a_partition_column_is_not_in_the_files(spark: SparkSession, path: str) -> None:
    write(events(spark), path, partitions="kind")
    assert entire(spark, path) is None
    assert {row.kind for row in source.read(spark, path, 0, entirely=True).select("kind").distinct().collect()} == {
        *("0", "1", "2")
    }


@pytest.mark.parametrize(("nulls", "is_native"), [(0, False), (None, False), (1000, True)])
def test_without_a_least_date_only_nulls_prove_that_none_is_old(
    spark: SparkSession, path: str, nulls: int | None, *, is_native: bool
) -> None:
    write(events(spark).coalesce(1), path)
    log = Path(path, "_delta_log", f"{0:020d}.json")
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "add" in action:
            statistics = json.loads(action["add"]["stats"])
            del statistics["minValues"]["ts"]
            statistics["nullCount"]["ts"] = nulls
            action["add"]["stats"] = json.dumps(statistics)
    log.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    log.with_name(f".{log.name}.crc").unlink()
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert (entire(spark, path) is not None) is is_native
    assert scan_is_native(newest(spark, path)) is is_native


def test_files_are_skipped_by_their_statistics(spark: SparkSession, path: str) -> None:
    write(events(spark, 9000).coalesce(1), path)
    kept_files = {*Path(path).glob("*.parquet")}
    write(events(spark, 0).coalesce(1), path)
    for file in {*Path(path).glob("*.parquet")} - kept_files:
        file.unlink()
    rows = newest(spark, path).where("id >= 9000")
    assert scan_is_native(rows)
    assert rows.count() == 1000


def delete_rows(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    DeltaTable.forPath(spark, path).delete("id = 5")


def map_columns(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN id TO number")


def widen_types(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN small INT")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN small TYPE BIGINT")


def add_old_date(spark: SparkSession, path: str) -> None:
    write(events(spark, 0, 1).withColumn("ts", F.lit("1503-01-01 00:00:00").cast("timestamp")), path)


def add_old_date_in_struct(spark: SparkSession, path: str) -> None:
    old = F.struct(F.lit(1).cast("long").alias("of.page"), F.lit("1503-01-01").cast("timestamp").alias("seen.at"))
    write(events(spark, 0, 1).withColumn("page", old), path)


def add_dates_in_array(spark: SparkSession, path: str) -> None:
    write(events(spark, 0, 1).withColumn("days", F.array(F.lit("2024-01-01").cast("date"))), path, mergeSchema="true")


def leave_statistics_out(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')")
    write(events(spark, 0, 1), path)


@pytest.mark.parametrize(
    "change",
    [
        delete_rows,
        map_columns,
        widen_types,
        add_old_date,
        add_old_date_in_struct,
        add_dates_in_array,
        leave_statistics_out,
    ],
    ids=lambda change: change.__name__,
)
def test_other_tables_are_read_by_spark(
    spark: SparkSession, path: str, change: Callable[[SparkSession, str], None]
) -> None:
    write(events(spark), path)
    change(spark, path)
    assert entire(spark, path) is None
    rows = newest(spark, path)
    assert not scan_is_native(rows)
    assert sorted(map(tuple, rows.collect()), key=repr) == as_spark_reads(spark, path)


def test_a_table_that_allows_deletion_vectors_and_has_none_is_native(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    delete_rows(spark, path)
    spark.sql(f"REORG TABLE delta.`{path}` APPLY (PURGE)")
    rows = newest(spark, path)
    assert scan_is_native(rows)
    assert rows.count() == 999


def test_a_copy_of_a_table_is_judged_by_its_own_files(spark: SparkSession, path: str, tmp_path: Path) -> None:
    write(events(spark), path)
    copy = str(tmp_path / "copy")
    shutil.copytree(path, copy)
    spark.sql(f"ALTER TABLE delta.`{copy}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for table in (path, copy):
        DeltaTable.forPath(spark, table).delete("id = 5")
    write(events(spark, 5000), path)
    versions = [source.pinned_version(spark, table) for table in (path, copy)]
    assert versions[0] == versions[1]
    # A count of all rows is that of the log.
    deleted = [source.read(spark, table, versions[0]).where("id = 5").count() for table in (path, copy)]
    assert deleted == [0, 0]
    assert [scan_is_native(newest(spark, table)) for table in (path, copy)] == [True, False]


def test_a_column_of_nulls_alone_has_no_old_dates(spark: SparkSession, path: str) -> None:
    write(events(spark).withColumn("gone", F.lit(None).cast("date")), path)
    assert scan_is_native(newest(spark, path))


def test_without_comet_the_rows_stay_delta_s(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    spark.conf.set(COMET_ENABLED, "false")
    rows = spark.read.format("delta").load(path)
    assert native_scan.native(rows) is rows


def test_a_view_is_no_table_of_files(spark: SparkSession, path: str) -> None:
    write(events(spark), path)
    rows = spark.read.format("delta").load(path).where("id > 3")
    read = native_scan.native(rows)
    assert not scan_is_native(read)
    assert sorted(map(tuple, read.collect()), key=repr) == sorted(map(tuple, rows.collect()), key=repr)
