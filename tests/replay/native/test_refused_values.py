"""A value that the native engine computes or decodes, and Spark does not, is left to Spark alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.runs.either_engine import by_either_engine
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables.native_scan_texts import checked_bytes, checked_texts

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("comet")]

# Two texts in Latin-1: none is UTF-8, and both are one text after a lossy decoding.
ODD, ODDER = "X'4DFC6C6C'", "X'4DFD6C6C'"


@pytest.fixture(autouse=True)
def _comet_after(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.set(COMET_ENABLED, "true")


@pytest.fixture(name="path", scope="module")
def _path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("refused") / "rows")
    before = spark.conf.get(COMET_ENABLED, "false")
    spark.conf.set(COMET_ENABLED, "false")
    odd = f"case id % 3 when 0 then {ODD} when 1 then {ODDER} else X'4D' end"
    rows = spark.range(90).selectExpr(
        "id", "id % 3 as n", "10L as total", f"{odd} as code", f"cast({odd} as string) as name", "'x' as plain"
    )
    rows.coalesce(1).write.parquet(path)
    spark.conf.set(COMET_ENABLED, str(before))
    return path


def by_either_and_alone(spark: SparkSession, rows: DataFrame) -> tuple[list[str], list[str]]:
    """Return the rows of a plan by either engine, and by Spark alone; the first attempt fails."""
    lines: list[str] = []

    def work() -> list[str]:
        return sorted(map(str, rows.select("*").collect()))

    either = by_either_engine(work, spark, lines.append)
    assert len(lines) == 1
    assert spark.conf.get(COMET_ENABLED) == "false"
    return either, work()


@pytest.mark.parametrize(
    "condition", ["n <> 0 and total / n > 1", "case when n <> 0 and total div n > 1 then true else false end"]
)
def test_a_guarded_division_passes_by_spark_alone(spark: SparkSession, path: str, condition: str) -> None:
    either, alone = by_either_and_alone(spark, spark.read.parquet(path).drop("name").where(condition))
    assert len(either) == 60
    assert either == alone


def test_a_value_that_spark_refuses_too_fails_and_comet_stays(spark: SparkSession, path: str) -> None:
    rows = spark.read.parquet(path).drop("name").where("total / n > 1")
    lines: list[str] = []
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        by_either_engine(lambda: rows.select("*").collect(), spark, lines.append)
    assert len(lines) == 1
    assert spark.conf.get(COMET_ENABLED) == "true"


def test_bytes_that_are_no_utf_8_stay_different_keys(spark: SparkSession, path: str) -> None:
    key = "cast(Code as string)"

    def work() -> list[int]:
        rows = checked_bytes(spark.read.parquet(path), [key])
        counted = rows.groupBy(F.expr(key).alias("key")).count()
        return [row["count"] for row in counted.collect()]

    lines: list[str] = []
    assert by_either_engine(work, spark, lines.append) == [30, 30, 30]
    assert len(lines) == 1


def test_bytes_that_nobody_reads_are_not_decoded(spark: SparkSession, path: str) -> None:
    rows = checked_bytes(spark.read.parquet(path), ["cast(code as string)"])
    counted = rows.groupBy("plain").count()
    assert [tuple(row) for row in counted.collect()] == [("x", 90)]
    assert "Project" not in str(counted._jdf.queryExecution().executedPlan().toString()).replace("CometProject", "")


def test_bytes_that_no_expression_names_are_read_as_they_are(spark: SparkSession, path: str) -> None:
    rows = spark.read.parquet(path).drop("name")
    same = checked_bytes(rows, ["cast(plain as string)", "count(*)"])
    assert [row["count"] for row in same.groupBy("code").count().collect()] == [30, 30, 30]
    assert spark.conf.get(COMET_ENABLED) == "true"


def test_texts_of_rows_that_spark_reads_stay_different_keys(spark: SparkSession, path: str) -> None:
    def work() -> list[int]:
        rows = checked_texts(spark.read.option("mergeSchema", "true").parquet(path).drop("code"))
        return [row["count"] for row in rows.repartition(2, "id").groupBy("name").count().collect()]

    scanning = "spark.comet.scan.enabled"
    spark.conf.set(scanning, "false")
    lines: list[str] = []
    try:
        assert by_either_engine(work, spark, lines.append) == [30, 30, 30]
    finally:
        spark.conf.unset(scanning)
    assert len(lines) == 1


def test_checked_rows_are_the_same_rows(spark: SparkSession) -> None:
    rows = spark.sql(
        "select named_struct('a.b', array('x', null), 'c', map('k', X'4D')) as `of page`, 'y' as s, X'4D' as x, "
        "cast(null as array<string>) as none, 1 as n union all select null, null, null, array('z'), 2"
    )
    never_null = spark.sql("select 'y' as s, X'4D' as x")
    assert not any(field.nullable for field in never_null.schema)
    for check in (checked_texts, lambda rows: checked_bytes(rows, rows.columns)):
        assert check(never_null).schema == never_null.schema
        same = check(rows)
        assert same.schema == rows.schema
        assert sorted(map(str, same.collect())) == sorted(map(str, rows.collect()))
