"""Frames of a few rows need no task, and no Python worker."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.local_rows import local_rows, no_rows

pytestmark = pytest.mark.spark


def operators(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_rows_are_a_part_of_the_plan(spark: SparkSession) -> None:
    rows = [("a", 1, True, datetime(2024, 1, 2, tzinfo=UTC)), ("b", None, None, None)]
    frame = local_rows(spark, rows, "name string, number long, is_new boolean, moment timestamp")
    assert "LocalTableScan" in operators(frame)
    frame = frame.selectExpr("name", "number", "is_new", "unix_seconds(moment) AS moment")
    assert [tuple(row) for row in frame.collect()] == [("a", 1, True, 1_704_153_600), ("b", None, None, None)]


@pytest.mark.parametrize("schema", ["name string, number long", "pairs map<string, struct<x: double>>, other variant"])
def test_no_rows_have_every_column_and_vanish_from_the_plan(spark: SparkSession, schema: str) -> None:
    frame = no_rows(spark, schema)
    assert "LocalTableScan <empty>" in operators(frame)
    assert frame.schema == spark.createDataFrame([], schema).schema
    assert frame.collect() == []
