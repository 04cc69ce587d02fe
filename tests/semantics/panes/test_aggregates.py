"""Aggregates: SQL's treatment of null, and a refusal of what the reference does not know."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.semantics.panes.aggregates import UnreadableAggregateError, aggregation
from spark_jobs.semantics.rows.expressions import UnreadableExpressionError
from spark_jobs.semantics.spec import Floats

NAN = float("nan")


def of(sql: str, *values: Any) -> Any:
    return aggregation(sql)([{"x": value, "y": 1} for value in values])


@pytest.mark.parametrize(
    ("sql", "values", "result"),
    [
        ("count(*)", [1, None], 2),
        ("COUNT(1)", [1, None], 2),
        ("count( x )", [1, None, 0], 2),
        ("count(distinct x)", [1, 1, None, 2], 2),
        ("count(DISTINCT x)", [NAN, NAN, -0.0, 0.0], 2),
        ("sum(x)", [1, None, 2], 3),
        ("sum(x + y)", [1, None, 2], 5),
        ("sum(x)", [None, None], None),
        ("sum(x)", [], None),
        ("min(x)", [3, None, -1], -1),
        ("max(x)", [3, None, -1], 3),
        ("max(x)", [1.0, NAN], NAN),
        ("min(x)", [NAN, 1.0], 1.0),
        ("min(x)", ["b", "a"], "a"),
        ("max(x)", [None], None),
        ("avg(x)", [1, 2, None], 1.5),
        ("mean(x)", [Decimal("1.10"), Decimal("1.20")], Decimal("1.15")),
        ("avg(x)", [None], None),
        ("collect_list(x)", [3, None, 1, 3], [3, 1, 3]),
        ("collect_list(x)", [], []),
        ("first(x)", [None, 1, 2], None),
        ("last(x)", [1, 2, 3], 3),
        ("any_value(x)", [3, 1], 3),
        ("sum(x)", [1e100, 1.0, -1e100], 1.0),
        ("sum(x)", [-0.0], 0.0),
        ("sum(x)", [1, 0.5], 1.5),
        ("max(x)", [-0.0, -1.0], 0.0),
        ("stddev_pop(x)", [1, None, 3], 1.0),
        ("variance(x)", [1.0], None),
        ("count(x)", [], 0),
        ("count(*)", [], 0),
        ("count(case when x > 1 then 1 end)", [1, 2, 3], 2),
    ],
)
def test_value(sql: str, values: list[Any], result: Any) -> None:
    assert repr(of(sql, *values)) == repr(result)


@pytest.mark.parametrize(
    "sql",
    [
        "skewness(x)",
        "sum(distinct x)",
        "sum(x) / count(*)",
        "x",
        "percentile(x, 0.5)",
        "count(*) filter (where x > 1)",
        "count(x) + (y)",
        "sum(x) + abs(y)",
    ],
)
def test_unknown_aggregates_are_refused_not_guessed(sql: str) -> None:
    with pytest.raises(ValueError, match="pass a Python function for it"):
        aggregation(sql)


def test_doubles_are_added_as_declared() -> None:
    rows = [{"x": value} for value in (1e100, 1.0, -1e100)]
    assert aggregation("sum(x)")(rows) == 1.0
    assert aggregation("sum(x)", Floats.ARRIVAL_ORDER)(rows) == 0.0
    assert aggregation("avg(x)", Floats.ARRIVAL_ORDER)(rows) == 0.0
    assert aggregation("sum(x)", Floats.ARRIVAL_ORDER)([{"x": None}]) is None


def test_several_arguments_are_refused_not_taken_for_one() -> None:
    with pytest.raises(UnreadableExpressionError, match="row value misused"):
        of("count(x, y)", 1)
    with pytest.raises(UnreadableExpressionError, match="row value misused"):
        of("first(x, true)", 1)


@pytest.mark.parametrize("value", ["3", True])
def test_sums_of_what_is_no_number_are_refused(value: Any) -> None:
    with pytest.raises(UnreadableAggregateError, match="expected a number"):
        of("sum(x)", value)
    with pytest.raises(UnreadableAggregateError, match="expected a number"):
        of("avg(x)", value)
