"""An aggregate is a value of a pane's rows: count, sum, min, max, avg, collect_list, with SQL's treatment of null.

    count(*), count(1)    rows; 0 for none
    count(x)              rows where x is not null; count(distinct x) counts different values
    sum, min, max, avg    of the values that are not null; null if there are none; NaN is the largest number
    collect_list(x)       the values that are not null, in arrival order

`mean` is `avg`. The argument is an expression of one row. Sums of doubles add in arrival order; averages of decimals
have Python's 28 digits. Any other aggregate is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from spark_jobs.semantics.rows.arrival_order import comparable
from spark_jobs.semantics.rows.expressions import Expression

Row = Mapping[str, Any]
Aggregation = Callable[[Sequence[Row]], Any]

_CALL = re.compile(r"\s*(?P<name>\w+)\s*\(\s*(?P<distinct>distinct\b)?(?P<argument>.*)\)\s*", re.IGNORECASE | re.DOTALL)


class UnreadableAggregateError(ValueError):
    """An aggregate that the reference cannot evaluate: pass a Python function in its place to `reference.replay`."""


def aggregation(sql: str) -> Aggregation:
    """Read an aggregate expression. Raises UnreadableAggregateError or UnreadableExpressionError."""
    call = _CALL.fullmatch(sql)
    name = call["name"].lower() if call else ""
    if call is None or name not in _FUNCTIONS or (call["distinct"] and name != "count"):
        functions = ", ".join(sorted(_FUNCTIONS))
        raise UnreadableAggregateError(
            f"found the aggregate '{sql}', the reference has {functions} of one expression, and count(distinct ...); "
            "pass a Python function for it to reference.replay"
        )
    if name == "count" and call["argument"].strip() in ("*", "1"):
        return len
    argument = Expression(call["argument"].strip())
    fold = _count_distinct if call["distinct"] else _FUNCTIONS[name]

    def aggregate(rows: Sequence[Row]) -> Any:
        values = (argument.evaluate(row) for row in rows)
        return fold([value for value in values if value is not None])

    return aggregate


def _count_distinct(values: list[Any]) -> int:
    return len({comparable(value) for value in values})


def _sum(values: list[Any]) -> Any:
    return sum(_numbers(values)) if values else None


def _average(values: list[Any]) -> Any:
    return sum(_numbers(values)) / len(values) if values else None


def _numbers(values: list[Any]) -> list[Any]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise UnreadableAggregateError(f"found {value!r} in a sum or average, expected a number")
    return values


_FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "avg": _average,
    "collect_list": list,
    "count": len,
    "max": lambda values: max(values, key=comparable, default=None),
    "mean": _average,
    "min": lambda values: min(values, key=comparable, default=None),
    "sum": _sum,
}
