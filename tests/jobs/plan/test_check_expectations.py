"""An expectation that no audit could compute is refused before a run, with its place and the nearest name."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check import checked
from spark_jobs.pipeline import from_mapping

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SOURCE = {"event_time": "happened_at", "arrival_time": "stored_at", "source_partition": ["site"]}
WINDOWS = {"size": "1 minute", "key": ["device"], "aggregates": {"events": "count(*)", "most": "max(reading)"}}
JOIN = {"key": ["device"], "between": ["0s", "1 minute"], "second_when": "reading > 10"}


def check(spark: SparkSession, table: str, *expectations: dict[str, Any], **rest: Any) -> None:
    mapping = {"name": "x", "source": {"table": table, **SOURCE}, "watermark": {"out_of_orderness": "1s"}}
    checked(spark, from_mapping({**mapping, "quality": {"expectations": list(expectations)}, **rest}))


@pytest.mark.parametrize(
    ("expectation", "problem"),
    [
        ({"type": "expect_column_values_to_be_betwen", "column": "most"}, "did you mean '.*_to_be_between'"),
        ({"type": "expect_column_max_to_be_between", "colum": "most"}, "takes no argument 'colum'"),
        ({"type": "expect_column_max_to_be_between", "column": "mst", "max_value": 1}, "did you mean 'most'"),
        ({"type": "expect_rows_to_satisfy", "table": "late_events", "condition": "late_by > 0"}, "UNRESOLVED_COLUMN"),
        ({"type": "unexpected_rows_expectation", "unexpected_rows_query": "SELECT * FROM {batch"}, "found 'SELECT"),
        ({"type": "expect_rows_to_satisfy", "condition": "events >"}, "PARSE_SYNTAX_ERROR"),
    ],
)
def test_an_expectation_about_windows_is_checked_first(
    spark: SparkSession, table: str, expectation: dict[str, Any], problem: str
) -> None:
    good = {"type": "expect_column_values_to_not_be_null", "table": "late_events", "column": "reading", "mostly": 0.1}
    with pytest.raises(InputError, match=rf"quality\.expectations\[1\].*{problem}") as refused:
        check(spark, table, good, expectation, windows=WINDOWS)
    assert refused.value.code is ErrorCode.EXPECTATION_BROKEN
    check(spark, table, good, windows=WINDOWS)


def test_an_expectation_about_pairs_is_checked_first(spark: SparkSession, table: str) -> None:
    good = {"type": "expect_rows_to_satisfy", "condition": "left.device = right.device and fired_at is not null"}
    late = {"type": "expect_column_values_to_not_be_null", "table": "late_events", "column": "late_by_ms"}
    check(spark, table, good, late, join=JOIN)
    with pytest.raises(InputError, match=r"quality\.expectations\[0\].*FIELD_NOT_FOUND"):
        check(spark, table, {**good, "condition": "left.gadget is not null"}, join=JOIN)
