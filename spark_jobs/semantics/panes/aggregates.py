"""An aggregate is a value of a pane's rows, with SQL's treatment of null: nulls are left out.

    count(*), count(1)        rows; 0 for none
    count(x)                  rows where x is not null; count(distinct x) counts different values
    sum, min, max, avg        null if there are no values; NaN is the largest number; 0.0 stands for -0.0 in min and max
    stddev, variance, ...     of populations and samples (`floats.moments`)
    collect_list, array_agg   the values in arrival order
    first, last, any_value    x of the first or last row in arrival order, also null; any_value is first

`mean` is `avg`. The argument is an expression of one row. Doubles are added as `floats` declares: exactly, rounded once
(`floats.exact`), or one after the other in arrival order. An average is the sum as a double, divided by the number of
values; averages of decimals have Python's 28 digits. Any other aggregate is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from spark_jobs.semantics.floats.exact import exact_sum
from spark_jobs.semantics.floats.moments import added, deviation, variance
from spark_jobs.semantics.rows.arrival_order import comparable
from spark_jobs.semantics.rows.expressions import Expression
from spark_jobs.semantics.spec import Floats

Row = Mapping[str, Any]
Aggregation = Callable[[Sequence[Row]], Any]
Fold = Callable[[list[Any], Floats], Any]

_CALL = re.compile(r"\s*(?P<name>\w+)\s*\(\s*(?P<distinct>distinct\b)?(?P<argument>.*)\)\s*", re.IGNORECASE | re.DOTALL)


class UnreadableAggregateError(ValueError):
    """An aggregate that the reference cannot evaluate: pass a Python function in its place to `reference.replay`."""


def aggregation(sql: str, floats: Floats = Floats.EXACT) -> Aggregation:
    """Read an aggregate expression. Raises UnreadableAggregateError or UnreadableExpressionError."""
    call = _CALL.fullmatch(sql)
    name = call["name"].lower() if call else ""
    if call is None or not (name in _FUNCTIONS or name in _OF_ROWS) or (call["distinct"] and name != "count"):
        functions = ", ".join(sorted([*_FUNCTIONS, *_OF_ROWS]))
        raise UnreadableAggregateError(
            f"found the aggregate '{sql}', the reference has {functions} of one expression, and count(distinct ...); "
            "pass a Python function for it to reference.replay"
        )
    if name == "count" and call["argument"].strip() in ("*", "1"):
        return len
    argument = Expression(call["argument"].strip())
    if name in _OF_ROWS:
        at = _OF_ROWS[name]
        return lambda rows: argument.evaluate(rows[at])
    fold = _count_distinct if call["distinct"] else _FUNCTIONS[name]

    def aggregate(rows: Sequence[Row]) -> Any:
        values = (argument.evaluate(row) for row in rows)
        return fold([value for value in values if value is not None], floats)

    return aggregate


def _count_distinct(values: list[Any], _: Floats) -> int:
    return len({comparable(value) for value in values})


def _sum(values: list[Any], floats: Floats) -> Any:
    if not values:
        return None
    if not any(isinstance(value, float) for value in _numbers(values)):
        return sum(values)
    doubles = list(map(float, values))
    return exact_sum(doubles) if floats is Floats.EXACT else added(doubles)


def _average(values: list[Any], floats: Floats) -> Any:
    total = _sum(values, floats)
    if total is None or isinstance(total, Decimal):
        return None if total is None else total / len(values)
    return float(total) / len(values)


def _numbers(values: list[Any]) -> list[Any]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise UnreadableAggregateError(f"found {value!r} in a sum or average, expected a number")
    return values


def _extreme(choose: Callable[..., Any]) -> Fold:
    def fold(values: list[Any], _: Floats) -> Any:
        return _without_minus_zero(choose(values, key=comparable, default=None))

    return fold


def _without_minus_zero(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_minus_zero(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value


def _moment(formula: Callable[..., float | None], *, is_sample: bool) -> Fold:
    def fold(values: list[Any], floats: Floats) -> float | None:
        doubles = list(map(float, _numbers(values)))
        return formula(doubles, is_sample=is_sample, in_given_order=floats is Floats.ARRIVAL_ORDER)

    return fold


def _listed(values: list[Any], _: Floats) -> list[Any]:
    return values


def _count(values: list[Any], _: Floats) -> int:
    return len(values)


_FUNCTIONS: dict[str, Fold] = {
    "array_agg": _listed,
    "avg": _average,
    "collect_list": _listed,
    "count": _count,
    "max": _extreme(max),
    "mean": _average,
    "min": _extreme(min),
    **{name: _moment(deviation, is_sample=True) for name in ("std", "stddev", "stddev_samp")},
    "stddev_pop": _moment(deviation, is_sample=False),
    "sum": _sum,
    **{name: _moment(variance, is_sample=True) for name in ("variance", "var_samp")},
    "var_pop": _moment(variance, is_sample=False),
}

#: Functions of one row of a pane, by its index.
_OF_ROWS = {"any_value": 0, "first": 0, "first_value": 0, "last": -1, "last_value": -1}
