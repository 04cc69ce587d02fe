"""Stable aggregates: functions of the order of rows take it from the arrival order, and ties have a rule.

    first, last, any_value      of the first or last row by its position (`rows.arrival_order`); any_value is first
    collect_list, array_agg     the values in arrival order
    collect_set                 different values, in the order of their first arrival
    listagg, string_agg         the values in arrival order, or within the given order ties in arrival order
    max_by, min_by              of several rows with the extreme, max_by takes the last, min_by the first
    mode                        of several most frequent values, the least
    percentile_approx           the exact percentile: the value of rank ceil(n * p)
    min, max, percentile, ...   of doubles: 0.0 stands for -0.0, which Spark takes for equal

Rows carry their position as a struct (`ORDER`). Rows with equal positions are identical.
"""

from __future__ import annotations

from pyspark.sql import types as T

from spark_jobs.replay.floats.array_sum import let
from spark_jobs.replay.floats.calls import Call
from spark_jobs.replay.floats.numbers import filtered
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import holds_map

_ORDER = f"`{c.ORDER}`"
_BY_POSITION = "(a, b) -> case when a.o < b.o then -1 when a.o > b.o then 1 else 0 end"

FIRSTS = frozenset(("any_value", "first", "first_value"))
LASTS = frozenset(("last", "last_value"))
LISTS = frozenset(("array_agg", "collect_list"))
TEXTS = frozenset(("listagg", "string_agg"))
BY_ORDER = FIRSTS | LASTS | LISTS | TEXTS | {"collect_set", "max_by", "min_by"}
PERCENTILES = frozenset(("approx_percentile", "percentile_approx"))
#: Functions of a value alone, for which 0.0 and -0.0 are one value or two.
OF_VALUES = frozenset(("max", "median", "min", "mode", "percentile"))
NAMES = BY_ORDER | PERCENTILES | OF_VALUES


def listed(value: str, call: Call, kind: T.DataType | None = None) -> str:
    """Return the values of a call that are not null, in arrival order, as an array. None is a type that has an order.

    Spark does not order maps: then positions alone are compared.
    """
    entries = f"collect_list(named_struct('o', {_ORDER}, 'v', {value})){filtered(call, f'({value}) is not null')}"
    by_position = f", {_BY_POSITION}" if kind is not None and holds_map(kind) else ""
    ordered = f"array_sort({entries}{by_position})"
    # A list of Spark's own is known to contain no null.
    values = f"array_compact(transform({ordered}, s -> s.v))"
    return f"array_distinct({values})" if call.is_distinct else values


def stable(call: Call, kind: T.DataType) -> str | None:  # noqa: PLR0911  one for each function
    """Return a call of `NAMES` as SQL that has one value in every order; None if it has one already, or is not known.

    `kind` is the type of the first argument.
    """
    value, *rest = call.arguments
    match call.name:
        case name if name in FIRSTS | LASTS:
            return _of_row(call, value, rest)
        case name if name in LISTS and not rest:
            return listed(value, call, kind)
        case "collect_set" if not rest:
            return f"array_distinct({listed(value, call)})"
        case name if name in TEXTS and len(rest) < 2 and isinstance(kind, T.StringType):
            return _text(call, value, rest[0] if rest else "''")
        case "max_by" | "min_by" if len(rest) == 1:
            ordering = f"if(({rest[0]}) is null, null, named_struct('y', {rest[0]}, 'o', {_ORDER}))"
            return f"{call.name}({value}, {ordering}){filtered(call)}"
        case name if name in PERCENTILES and rest:
            return _percentile(call, _positive_zero(value, kind), rest[0])
        case name if name in OF_VALUES and call.within is None:
            return _of_values(call, value, rest, kind)
        case _:
            return None


def _of_values(call: Call, value: str, rest: list[str], kind: T.DataType) -> str | None:
    arguments = [_positive_zero(value, kind), *rest]
    if call.name == "mode" and not rest:
        arguments.append("true")
    if arguments == [value, *rest]:
        return None
    distinct = "distinct " if call.is_distinct else ""
    return f"{call.name}({distinct}{', '.join(arguments)}){filtered(call)}"


def _positive_zero(value: str, kind: T.DataType) -> str:
    """Return the value, and 0.0 for -0.0."""
    match kind:
        case T.DoubleType():
            return f"({value}) + 0.0D"
        case T.FloatType():
            return f"({value}) + cast(0 as float)"
        case _:
            return value


def _of_row(call: Call, value: str, rest: list[str]) -> str | None:
    if rest and rest[0].lower() not in ("true", "false"):
        return None
    ignores = call.ignores_nulls or (bool(rest) and rest[0].lower() == "true")
    function = "min_by" if call.name in FIRSTS else "max_by"
    return f"{function}({value}, {_ORDER}){filtered(call, f'({value}) is not null' if ignores else None)}"


def _text(call: Call, value: str, separator: str) -> str | None:
    if call.within is None:
        joined = f"array_join(v, {separator})"
        return let(listed(value, call), "v", f"if(size(v) = 0, null, {joined})")
    if call.is_distinct:
        # Values that are equal in the given order are equal.
        return None
    return f"{call.name}({value}, {separator}) within group ({call.within}, {_ORDER}){filtered(call)}"


def _percentile(call: Call, value: str, share: str) -> str:
    """Return the exact percentile of one share, or of an array of shares."""
    ranked = "get(s.l, greatest(cast(ceil(size(s.l) * {share}) as int), 1) - 1)"
    distinct = "distinct " if call.is_distinct else ""
    values = f"sort_array(collect_list({distinct}{value}){filtered(call)})"
    shares = f"named_struct('l', {values}, 'p', {share})"
    if not share.lower().replace(" ", "").startswith("array("):
        return let(shares, "s", ranked.format(share="s.p"))
    each = f"array_compact(transform(s.p, share -> {ranked.format(share='share')}))"
    return let(shares, "s", f"if(size(s.l) = 0, null, {each})")
