"""A table that is staged without Delta's writer is the table that Delta's writer would make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.tables import commit_files, staged_parts
from spark_jobs.tables.objects import Objects

pytestmark = pytest.mark.spark

OPTION, MEASURED = "delta.dataSkippingStatsColumns", ("at", "timing", "n")
ROWS = """
    SELECT at, timing, n, struct(n AS of, array(timing) AS texts) AS page,
           map(coalesce(timing, ''), CAST(n AS DECIMAL(20, 3))) AS sizes, CAST(n AS DOUBLE) / 3 AS third
    FROM (SELECT CAST(at AS TIMESTAMP) AS at, CAST(timing AS STRING) AS timing, n
          FROM VALUES {values} AS t(at, timing, n))
"""
MOMENTS = """('2024-05-01 10:00:00.123999', 'late', 3), ('1969-12-31 23:59:59.999001', 'on_time', -7),
             ('0900-01-01 00:00:00', 'a', 0), ('9999-12-31 23:59:59.999999', 'zz', 9007199254740993)"""
NULLS = "('2024-05-01', NULL, 3), (NULL, NULL, 4), ('2024-06-01 00:00:00.001', NULL, 5)"


def rows_of(spark: SparkSession, values: str) -> DataFrame:
    return spark.sql(ROWS.format(values=values)).coalesce(1)


def by_delta(rows: DataFrame, home: Path, part: str) -> None:
    writer = rows.write.format("delta").mode("append").option(OPTION, ",".join(MEASURED))
    writer.option("txnAppId", part).option("txnVersion", 0).save(str(home))


def without_delta(rows: DataFrame, home: Path, part: str) -> None:
    staged_parts.stage(rows, Objects(str(home)), part, {OPTION: ",".join(MEASURED)}, MEASURED)


def logged(home: Path) -> Iterator[tuple[str, Any]]:
    """Yield what the log has of a table, without names, ids and times of writing."""
    for action in commit_files.actions(Objects(str(home))):
        match action:
            case {"protocol": protocol}:
                yield "protocol", protocol
            case {"metaData": metadata}:
                yield "columns", json.loads(metadata["schemaString"])
                yield "settings", metadata["configuration"]
            case {"add": add}:
                statistics = json.loads(add["stats"])
                yield "statistics", {name: statistics.get(name) or {} for name in ("minValues", "maxValues")}
                yield "rows", statistics["numRecords"]
                yield "nulls", {name: statistics["nullCount"].get(name, 0) for name in MEASURED}
                assert (home / add["path"]).stat().st_size == add["size"]
                assert add["dataChange"]
            case {"txn": mark}:
                yield "part", (mark["appId"], mark["version"])


def as_text(entries: Iterator[tuple[str, Any]]) -> list[str]:
    return sorted(json.dumps(entry, sort_keys=True) for entry in entries)


@pytest.mark.parametrize("values", [MOMENTS, NULLS], ids=["moments", "nulls"])
def test_the_log_is_that_of_delta_s_writer(spark: SparkSession, tmp_path: Path, values: str) -> None:
    rows = rows_of(spark, values)
    for part in ("slice-0/on-time", "slice-1/on-time"):
        by_delta(rows, tmp_path / "delta", part)
        without_delta(rows, tmp_path / "ours", part)
    assert as_text(logged(tmp_path / "ours")) == as_text(logged(tmp_path / "delta"))


def test_delta_reads_the_table(spark: SparkSession, tmp_path: Path) -> None:
    home = tmp_path / "ta ble [1] 100%"
    rows = rows_of(spark, f"{MOMENTS}, {NULLS}")
    without_delta(rows, home, "one")
    without_delta(rows.limit(0), home, "none")
    without_delta(rows.where("n = 3"), home, "more")
    table = spark.read.format("delta").load(str(home))
    assert table.schema.simpleString() == rows.schema.simpleString()
    assert sorted(map(repr, table.collect())) == sorted(map(repr, [*rows.collect(), *rows.where("n = 3").collect()]))
    assert table.where("at >= '2024-05-01 10:00:00.123999' AND at < '2025-01-01'").count() == 3


def test_a_part_is_staged_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of(spark, MOMENTS)
    for _ in range(2):
        without_delta(rows, tmp_path / "ours", "part")
    assert len([*commit_files.commits(Objects(str(tmp_path / "ours")))]) == 1
    assert len([*(tmp_path / "ours").rglob("*.parquet")]) == 1


def test_parts_that_create_the_table_at_once_are_all_in_it(spark: SparkSession, tmp_path: Path) -> None:
    rows, parts = rows_of(spark, MOMENTS), [f"slice-{i}" for i in range(4)]
    with ThreadPoolExecutor(len(parts)) as pool:
        for staged in [pool.submit(without_delta, rows, tmp_path / "ours", part) for part in parts]:
            staged.result()
    assert sorted(value[0] for kind, value in logged(tmp_path / "ours") if kind == "part") == parts
    assert spark.read.format("delta").load(str(tmp_path / "ours")).count() == 16


class Written:
    """Rows whose job leaves files: two results, and what attempts of tasks left that failed or were overtaken."""

    schema = T.StructType([T.StructField("n", T.LongType())])
    results = ("part-00000-a.snappy.parquet", "part-00001-a.snappy.parquet")
    leftovers = (
        "_temporary/0/_temporary/attempt_1/part-00000-a.snappy.parquet",
        "_temporary/0/task_2/part-00001-a.snappy.parquet",
        ".part-00001-a.snappy.parquet",
        "_part-00001-a.snappy.parquet",
    )

    @property
    def write(self) -> Written:
        return self

    def option(self, *_: str) -> Written:
        return self

    def parquet(self, folder: str) -> None:
        for name in (*self.results, *self.leftovers):
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"n": [1, 2, 3]}), Path(folder, name))


def test_files_of_failed_and_overtaken_tasks_are_no_rows(tmp_path: Path) -> None:
    rows: Any = Written()
    staged_parts.stage(rows, Objects(str(tmp_path)), "part", {}, ["n"])
    added = [value["add"] for value in commit_files.actions(Objects(str(tmp_path))) if "add" in value]
    assert sorted(add["path"].split("/", 1)[1] for add in added) == sorted(Written.results)


def test_rows_that_fail_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    wrong = spark.range(3).select(F.expr("raise_error('wrong')").cast("string").alias("timing"))
    with pytest.raises(Exception, match="wrong"):
        without_delta(wrong, tmp_path / "ours", "part")
    assert [*(tmp_path / "ours").glob("*")] == []


@pytest.mark.parametrize(
    ("micros", "text", "least"),
    [
        (2**62, "x" * 32, {"timing": "x" * 32}),
        (0, "x" * 33, {"at": "1970-01-01T00:00:00.000Z"}),
    ],
    ids=["after the year 9999", "a text that Delta would cut"],
)
def test_a_value_that_has_no_whole_text_is_not_measured(
    spark: SparkSession, tmp_path: Path, micros: int, text: str, least: dict[str, str]
) -> None:
    rows = spark.range(1).select(F.timestamp_micros(F.lit(micros)).alias("at"), F.lit(text).alias("timing"))
    without_delta(rows, tmp_path / "ours", "part")
    (entry,) = (value for name, value in logged(tmp_path / "ours") if name == "statistics")
    assert entry == {"minValues": least, "maxValues": least}


@pytest.mark.parametrize(
    ("kind", "is_plain"),
    [
        ("a TIMESTAMP, b STRUCT<c: MAP<STRING, ARRAY<DECIMAL(3, 1)>>>, d BINARY", True),
        ("a TIMESTAMP_NTZ", False),
        ("a STRUCT<b: ARRAY<VARIANT>>", False),
        ("a STRING COLLATE UNICODE_CI", False),
        ("a INTERVAL DAY TO SECOND", False),
        ("a VARCHAR(3)", False),
        ("a VOID", False),
    ],
)
def test_columns_that_need_a_feature_are_left_to_delta(spark: SparkSession, kind: str, *, is_plain: bool) -> None:
    schema = spark.createDataFrame([], kind).schema if "VARCHAR" not in kind else None
    if schema is None:
        schema = spark.sql("SELECT 'a' AS a").select(F.col("a").alias("a", metadata={"of": "varchar"})).schema
    assert staged_parts.can_commit(schema) is is_plain


def test_a_comment_of_a_column_needs_no_feature_of_delta() -> None:
    field = T.StructField("page", T.StringType())
    commented = T.StructField("page", T.StringType(), metadata={"comment": "the page"})
    generated = T.StructField("page", T.StringType(), metadata={"delta.generationExpression": "'x'"})
    assert [staged_parts.can_commit(T.StructType([f])) for f in (field, commented, generated)] == [True, True, False]
