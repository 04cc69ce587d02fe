"""A pipeline's own expectations: types by name, mistakes named before anything runs, values kept private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations import AuditError, Check, check
from spark_jobs.pipeline.model import Expectation
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, frames, interpreted

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def quick(spark: SparkSession) -> Iterator[None]:
    with interpreted(spark):
        yield


def expectation(kind: str, table: str = "panes", **arguments: Any) -> Expectation:
    return Expectation(kind, table, arguments)


def answers(spark: SparkSession, *declared: Expectation) -> list[Check]:
    pipeline = replace(PIPELINE, quality=replace(PIPELINE.quality, expectations=declared))
    return [c for c in check(frames(spark, CORRECT), pipeline, COUNTS) if c.suite == "pipeline"]


def mistake(spark: SparkSession, *declared: Expectation) -> str:
    with pytest.raises(AuditError) as error:
        answers(spark, *declared)
    return str(error.value)


def test_expectations_are_answered_in_the_order_of_the_file(spark: SparkSession) -> None:
    checks = answers(
        spark,
        expectation("expect_column_values_to_be_between", column="flights", min_value=1, max_value=3),
        expectation("expect_table_row_count_to_be_between", "window_results", min_value=1),
        expectation("expect_column_max_to_be_between", column="row_count", max_value=4, description="No rush."),
        expectation("expect_rows_to_satisfy", "window_results", condition="row_count <= 4 OR carrier = '{'"),
        expectation(
            "unexpected_rows_expectation", unexpected_rows_query="SELECT carrier FROM {batch} WHERE flights = 5"
        ),
        expectation("expect_column_to_exist", column="delay"),
        expectation("expect_column_values_to_not_be_null", "window_results", column="carrier", mostly=0.5),
    )
    assert [(c.expectation, c.success, c.observed, c.unexpected_count, c.details) for c in checks] == [
        ("expect_column_values_to_be_between(panes.flights)", False, "3 of 6 values", 3, "4\n5\n4"),
        ("expect_table_row_count_to_be_between(window_results)", True, "4", None, ""),
        ("expect_column_max_to_be_between(panes.row_count)", False, "5", None, ""),
        ("expect_rows_to_satisfy(window_results)", False, "1 rows", 1, checks[3].details),
        ("unexpected_rows_expectation(panes)", False, "1 rows", 1, "carrier=AA"),
        ("expect_column_to_exist(panes.delay)", False, "not as expected", None, ""),
        ("expect_column_values_to_not_be_null(window_results.carrier)", True, "2 of 4 values", 2, ""),
    ]
    assert checks[2].description == "No rush."
    assert checks[0].description == "column='flights', min_value=1, max_value=3"
    assert "carrier=AA" in checks[3].details
    assert "row_count=5" in checks[3].details


def test_a_table_without_rows_breaks_no_expectation_of_its_values(spark: SparkSession) -> None:
    declared = (
        expectation("expect_column_values_to_be_in_set", "invalid_events", column="reason", value_set=["no_time"]),
        expectation("expect_column_values_to_not_be_null", "invalid_events", column="reason"),
        expectation("expect_column_value_lengths_to_be_between", "invalid_events", column="reason", min_value=3),
        expectation("expect_rows_to_satisfy", "invalid_events", condition="reason = 'no_time'"),
    )
    pipeline = replace(PIPELINE, quality=replace(PIPELINE.quality, expectations=declared))
    tables = {name: rows.limit(0) for name, rows in frames(spark, CORRECT).items()}
    checks = [c for c in check(tables, pipeline, dict.fromkeys(COUNTS, 0)) if c.suite == "pipeline"]
    assert [(c.success, c.observed, c.unexpected_count) for c in checks] == [
        (True, "0 of 0 values", 0),
        (True, "0 of 0 values", 0),
        (True, "0 of 0 values", 0),
        (True, "0 rows", 0),
    ]


def test_columns_of_the_source_are_looked_at_and_not_shown(spark: SparkSession) -> None:
    checks = answers(
        spark,
        expectation("expect_column_values_to_be_in_set", "late_events", column="passenger", value_set=["nobody"]),
        expectation("expect_column_most_common_value_to_be_in_set", "late_events", column="passenger", value_set=["x"]),
        expectation("expect_column_value_lengths_to_equal", "invalid_events", column="passenger", value=3),
        expectation(
            "unexpected_rows_expectation",
            "late_events",
            unexpected_rows_query="SELECT passenger, late_by_ms FROM {batch}",
        ),
        expectation("expect_rows_to_satisfy", "late_events", condition="passenger = 'nobody'"),
        expectation("expect_column_max_to_be_between", "late_events", column="late_by_ms", max_value=12_000),
    )
    assert [c.success for c in checks] == [False] * 6
    assert "Ada" not in str(checks)
    assert checks[0].observed == "2 of 2 values"
    assert checks[1].observed == "not shown: it may hold columns of the source"
    assert set(checks[3].details.splitlines()) == {"late_by_ms=11000", "late_by_ms=13000"}
    assert checks[5].observed == "13000"


BETWEEN = "expect_column_values_to_be_between"


MISTAKES = [
    (
        expectation("expect_column_values_to_be_betwen", column="flights"),
        "Great Expectations has no type 'expect_column_values_to_be_betwen'",
        f"; did you mean '{BETWEEN}'?",
    ),
    (
        expectation(BETWEEN, column="flights", min_valu=1),
        f"{BETWEEN} takes no argument 'min_valu', only ",
        "; did you mean 'min_value'?",
    ),
    (
        expectation(BETWEEN, column="flights", severity="warning"),
        f"{BETWEEN} takes no argument 'severity', only ",
        "strict_max",
    ),
    (expectation(BETWEEN, min_value=1), f"{BETWEEN}: column: field required", ""),
    (expectation(BETWEEN, column="flights"), f"{BETWEEN}: min_value and max_value cannot both be None", ""),
    (
        expectation(BETWEEN, column="flights", mostly="most", min_value=1),
        f"{BETWEEN}: mostly: found 'most', value is not a valid ",
        "",
    ),
    (
        expectation(BETWEEN, column="flight", min_value=1),
        f"{BETWEEN}: panes has no column 'flight', only carrier, ",
        "; did you mean 'flights'?",
    ),
    (
        expectation("expect_rows_to_satisfy", condition="flight > 1"),
        "expect_rows_to_satisfy: condition: [UNRESOLVED_COLUMN.WITH_SUGGESTION]",
        "",
    ),
    (
        expectation("expect_rows_to_satisfy", condition="flights +"),
        "expect_rows_to_satisfy: condition: [PARSE_SYNTAX_ERROR] Syntax error at or near ",
        "",
    ),
    (
        expectation("unexpected_rows_expectation", unexpected_rows_query="SELECT * FROM {batch"),
        "unexpected_rows_expectation: unexpected_rows_query: found 'SELECT * FROM {batch', ",
        "",
    ),
    (
        expectation("expect_table_row_count_to_equal", "result", value=1),
        "no staged table 'result', only watermarks, panes, ",
        "; did you mean 'window_results'?",
    ),
]


def test_each_wrong_type_argument_or_column_is_one_line_with_the_nearest_name(spark: SparkSession) -> None:
    message = mistake(spark, *(wrong for wrong, *_ in MISTAKES))
    for number, (line, (_, begins, ends)) in enumerate(zip(message.splitlines(), MISTAKES, strict=True)):
        assert line.startswith(f"quality.expectations[{number}]: {begins}")
        assert line.endswith(ends)


def test_an_expectation_that_cannot_be_computed_is_a_mistake_and_no_failure(spark: SparkSession) -> None:
    message = mistake(
        spark,
        expectation("expect_table_row_count_to_equal", value=6),
        expectation("unexpected_rows_expectation", unexpected_rows_query="SELECT flight FROM {batch}"),
    )
    assert message.startswith(
        "quality.expectations[1]: unexpected_rows_expectation(panes) cannot be computed: [UNRESOLVED_COLUMN"
    )
    assert len(message.splitlines()) == 1
