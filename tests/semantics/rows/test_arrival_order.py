"""Arrival order: the clock first, then partition and tie-break columns, then the whole row."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import permutations
from typing import Any

from spark_jobs.semantics.rows.arrival_order import comparable, position


def test_the_clock_comes_first_then_declared_columns_then_the_others_by_name() -> None:
    in_order: list[tuple[int, dict[str, Any]]] = [
        (1, {"a": 9, "partition": "q", "tie": 9}),
        (2, {"a": 9, "partition": None, "tie": 9}),
        (2, {"a": 9, "partition": "p", "tie": 1}),
        (2, {"a": 1, "partition": "p", "tie": 2}),
        (2, {"a": 2, "partition": "p", "tie": 2}),
        (2, {"a": 0, "partition": "q", "tie": 0}),
    ]
    for shuffled in list(permutations(in_order))[::37]:
        assert sorted(shuffled, key=lambda pair: position(pair[1], (pair[0],), ("partition", "tie"))) == in_order


def test_the_order_of_a_rows_columns_does_not_matter() -> None:
    assert position({"b": 1, "a": 2}, (0,), ()) == position({"a": 2, "b": 1}, (0,), ()) == (0, (1, 2), (1, 1), (0, 0))


def test_minus_zero_comes_before_zero_where_nothing_else_differs() -> None:
    minus, plus = {"a": -0.0, "b": 1}, {"a": 0.0, "b": 1}
    assert position(minus, (0,), ()) < position(plus, (0,), ())
    assert position(plus, (0,), ()) < position({**minus, "b": 2}, (0,), ())
    nested = [{"a": [1.5, {"z": zero}]} for zero in (-0.0, 0.0)]
    assert position(nested[0], (0,), ()) < position(nested[1], (0,), ())


def test_missing_values_come_first_and_nan_last() -> None:
    values = [float("nan"), 3.5, None, float("inf"), -1.0]
    assert str(sorted(values, key=comparable)) == "[None, -1.0, 3.5, inf, nan]"


def test_values_that_spark_groups_together_compare_equal() -> None:
    assert comparable(0.0) == comparable(-0.0)
    assert comparable(float("nan")) == comparable(float("nan"))
    assert comparable([1, None]) == comparable((1, None))
    assert comparable({"b": -0.0}) == comparable({"b": 0.0})
    assert comparable({"a": 9, "b": 1}) < comparable({"a": 10, "b": 0})
    assert comparable({"b": 1, "a": 2}) < comparable({"b": 2, "a": 1})
    assert len({comparable({"a": [1]}), comparable({"a": [1]})}) == 1


def test_lists_compare_item_by_item() -> None:
    assert comparable([1, 2]) < comparable([1, 3])
    assert comparable([None]) < comparable([0])
    assert comparable([1]) < comparable([1, None])


def test_other_types_compare_in_their_natural_order() -> None:
    assert comparable(Decimal("1.5")) < comparable(Decimal(2))
    assert comparable(date(2024, 1, 1)) < comparable(date(2024, 1, 2))
    assert comparable("B") < comparable("a")
