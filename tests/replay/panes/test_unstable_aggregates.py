"""Aggregates whose value follows the order of rows: each gets a warning, and a stable aggregate gets none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import parse
from spark_jobs.pipeline.model import Aggregate
from spark_jobs.replay.panes.unstable_aggregates import warnings
from tests.support.malformed_files import VALID_FILES

pytestmark = pytest.mark.spark

PIPELINE = parse(VALID_FILES[0])


def warned(spark: SparkSession, expression: str) -> list[str]:
    rows = spark.createDataFrame([], "id long, v double, price decimal(10, 2), name string")
    windows = replace(PIPELINE.windows, aggregates=(Aggregate("x", expression),))
    return list(warnings(rows, replace(PIPELINE, windows=windows)))


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("first(name)", "first"),
        ("max(id) + last(id, true)", "last"),
        ("collect_list(id)", "collect_list"),
        ("MAX_BY(name, v)", "max_by"),
        ("percentile_approx(v, 0.5)", "percentile_approx"),
    ],
)
def test_a_function_of_the_first_row_depends_on_the_order(spark: SparkSession, expression: str, function: str) -> None:
    (warning,) = warned(spark, expression)
    assert warning.startswith(f"windows.aggregates.x: {function}() depends on the order in which Spark reads rows")


@pytest.mark.parametrize(
    ("expression", "function"), [("sum(v)", "sum"), ("avg(v * 2)", "avg"), ("stddev(v)", "stddev")]
)
def test_a_sum_of_doubles_is_rounded_in_another_way(spark: SparkSession, expression: str, function: str) -> None:
    (warning,) = warned(spark, expression)
    assert warning.startswith(f"windows.aggregates.x: the last digits of {function}() over doubles depend on the order")


@pytest.mark.parametrize(
    "expression",
    [
        *("count(*)", "max(v)", "sum(id)", "sum(price)", "avg(CAST(v AS DECIMAL(20, 6)))", "count(DISTINCT name)"),
        *("array_sort(collect_list(id))", "percentile(v, 0.5)", "sum(if(v > 1, 1, 0))", "approx_count_distinct(name)"),
    ],
)
def test_a_stable_aggregate_has_no_warning(spark: SparkSession, expression: str) -> None:
    assert warned(spark, expression) == []
