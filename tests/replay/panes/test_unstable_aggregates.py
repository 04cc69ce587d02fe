"""Aggregates whose value follows the order of rows: each gets a warning, and any other aggregate gets none."""

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
        ("histogram_numeric(v, 5)", "histogram_numeric"),
        ("size(HISTOGRAM_NUMERIC(v, 5)) + count(*)", "histogram_numeric"),
        ("hll_sketch_agg(id)", "hll_sketch_agg"),
    ],
)
def test_a_summary_of_rows_depends_on_the_order(spark: SparkSession, expression: str, function: str) -> None:
    (warning,) = warned(spark, expression)
    assert warning.startswith(f"windows.aggregates.x: {function}() depends on the order in which Spark reads rows")


@pytest.mark.parametrize(
    "expression",
    [
        *("count(*)", "max(v)", "sum(id)", "sum(price)", "avg(CAST(v AS DECIMAL(20, 6)))", "count(DISTINCT name)"),
        *("array_sort(collect_list(id))", "percentile(v, 0.5)", "sum(if(v > 1, 1, 0))", "approx_count_distinct(name)"),
        *("first(name)", "max(id) + last(id, true)", "collect_list(id)", "MAX_BY(name, v)"),
        *("percentile_approx(v, 0.5)", "sum(v)", "avg(v * 2)", "stddev(v)"),
    ],
)
def test_a_stable_aggregate_has_no_warning(spark: SparkSession, expression: str) -> None:
    assert warned(spark, expression) == []
