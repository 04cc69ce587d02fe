"""Stable aggregates: functions of the order of rows take it from the arrival order, and ties have a rule.

    first, last, any_value      of the first or last row by its position (`rows.arrival_order`); any_value is first
    collect_list, array_agg     the values in arrival order
    collect_set                 different values, in the order of their first arrival
    listagg, string_agg         the values in arrival order, or within the given order ties in arrival order
    max_by, min_by              of several rows with the extreme, max_by takes the last, min_by the first
    mode                        of several most frequent values, the least
    percentile_approx           the exact percentile: the value of rank ceil(n * p)
    min, max, percentile, ...   of doubles: 0.0 stands for -0.0, which Spark takes for equal, also inside a value; of
                                texts that a collation takes for equal, max takes the greatest by its bytes

Rows carry their position as a struct (`ORDER`). Rows with equal positions are identical. As Spark does, a
percentile casts a text to a double, and a list of texts casts all values but binary ones to texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import types as T

from spark_jobs.replay.floats.array_sum import let
from spark_jobs.replay.floats.calls import Call
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import holds_map
from spark_jobs.replay.rows.quoting import quoted

_ORDER = f"`{c.ORDER}`"
_BY_POSITION = "(a, b) -> case when a.o < b.o then -1 when a.o > b.o then 1 else 0 end"

FIRSTS = frozenset(("any_value", "first", "first_value"))
LASTS = frozenset(("last", "last_value"))
LISTS = frozenset(("array_agg", "collect_list"))
TEXTS = frozenset(("listagg", "string_agg"))
BY_ORDER = FIRSTS | LASTS | LISTS | TEXTS | {"collect_set", "max_by", "min_by"}
PERCENTILES = frozenset(("approx_percentile", "percentile_approx"))
EXTREMES = frozenset(("max", "min"))
#: Functions of the value that WITHIN GROUP sorts by.
SORTING = frozenset(("mode", "percentile_cont", "percentile_disc"))
#: Functions of a value alone, for which 0.0 and -0.0 are one value or two.
OF_VALUES = EXTREMES | SORTING | {"median", "percentile"}
NAMES = BY_ORDER | PERCENTILES | OF_VALUES

Kinds = Mapping[str, T.DataType]


def listed(value: str, call: Call, kind: T.DataType | None = None) -> str:
    """Return the values of a call that are not null, in arrival order, as an array. None is a type that has an order.

    Spark does not order maps: then positions alone are compared.
    """
    entries = f"collect_list(named_struct('o', {_ORDER}, 'v', {value})) filter (where ({value}) is not null)"
    by_position = f", {_BY_POSITION}" if kind is not None and holds_map(kind) else ""
    ordered = f"array_sort({entries}{by_position})"
    # A list of Spark's own is known to contain no null.
    values = f"array_compact(transform({ordered}, s -> s.v))"
    return f"array_distinct({values})" if call.is_distinct else values


def stable(call: Call, kinds: Kinds) -> str | None:
    """Return a call of `NAMES` as SQL that has one value in every order; None if it has one already, or is not known.

    `kinds` are the types of its arguments and of the value that it sorts by.
    """
    if call.within is not None and call.name in SORTING:
        return _sorting(call, kinds)
    if not call.arguments or call.arguments[0] not in kinds:
        return None
    kind = kinds[call.arguments[0]]
    return _of_order(call, kind) if call.name in BY_ORDER else _of_values(call, kind, kinds)


def _of_order(call: Call, kind: T.DataType) -> str | None:
    rest = call.arguments[1:]
    match call.name:
        case name if name in FIRSTS | LASTS:
            return _of_row(call, [word.lower() for word in rest])
        case name if name in LISTS and not rest:
            return listed(call.value(), call, kind)
        case "collect_set" if not rest:
            return f"array_distinct({listed(call.value(), call)})"
        case name if name in TEXTS and len(rest) < 2:
            return _text(call, kind, rest[0] if rest else "null")
        case "max_by" | "min_by" if len(rest) == 1:
            by = call.value(1)
            return f"{call.name}({call.value()}, if(({by}) is null, null, named_struct('y', {by}, 'o', {_ORDER})))"
        case _:
            return None


def _of_values(call: Call, kind: T.DataType, kinds: Kinds) -> str | None:
    value, *rest = call.arguments
    if call.name in PERCENTILES:
        return _percentile(call, kind, kinds.get(rest[0])) if rest else None
    sql = _normal(f"({call.value()})", _number(kind) if call.name in ("median", "percentile") else kind, kind)
    if call.name in EXTREMES and _has_collation(kind):
        return f"{call.name}_by({sql}, if({sql} is null, null, named_struct('v', {sql}, 't', cast({sql} as string))))"
    arguments = [sql, "true"] if call.name == "mode" else [sql, *rest]
    if arguments == [f"({value})", *rest]:
        return None
    distinct = "distinct " if call.is_distinct else ""
    return f"{call.name}({distinct}{', '.join(arguments)})"


def _sorting(call: Call, kinds: Kinds) -> str | None:
    """Return a call of a function whose value WITHIN GROUP sorts by."""
    if call.is_distinct or call.sorted_by is None or call.sorted_by[0] not in kinds:
        return None
    value, how = call.sorted_by
    kind = kinds[value]
    guarded = value if call.condition is None else f"case when ({call.condition}) then ({value}) end"
    sql = _normal(f"({guarded})", kind if call.name == "mode" else _number(kind), kind)
    return f"{call.name}({', '.join(call.arguments)}) within group (order by {sql} {how})"


def _number(kind: T.DataType) -> T.DataType:
    """Return the type as which Spark computes a percentile of values."""
    return T.DoubleType() if isinstance(kind, T.StringType) else kind


def _normal(value: str, kind: T.DataType, own: T.DataType) -> str:
    """Return a value as SQL with 0.0 for each -0.0, also in arrays and structs; cast to `kind` from its `own` type."""
    if own != kind:
        value = f"cast({value} as {kind.simpleString()})"
    return let(value, "e", _inside("e", kind, 0)) if isinstance(kind, T.StructType) else _inside(value, kind, 0)


def _inside(value: str, kind: T.DataType, depth: int, *, is_nullable: bool = True) -> str:
    if not _has_floats(kind):
        return value
    match kind:
        case T.ArrayType():
            item = _inside(f"e{depth}", kind.elementType, depth + 1, is_nullable=kind.containsNull)
            return f"transform({value}, e{depth} -> {item})"
        case T.StructType():
            fields = ", ".join(
                f"{_literal(f.name)}, {_inside(f'{value}.{quoted(f.name)}', f.dataType, depth, is_nullable=f.nullable)}"
                for f in kind
            )
            return f"if({value} is null, null, named_struct({fields}))" if is_nullable else f"named_struct({fields})"
        case _:
            return f"{value} + cast(0 as {kind.simpleString()})"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _has_floats(kind: T.DataType) -> bool:
    return any(isinstance(of, (T.FloatType, T.DoubleType)) for of in _inner(kind))


def _has_collation(kind: T.DataType) -> bool:
    return any(isinstance(of, T.StringType) and not of.isUTF8BinaryCollation() for of in _inner(kind))


def _inner(kind: T.DataType) -> Iterator[T.DataType]:
    """Yield the types of what a value consists of; arrays and structs are the types that Spark orders."""
    match kind:
        case T.ArrayType():
            yield from _inner(kind.elementType)
        case T.StructType():
            for field in kind:
                yield from _inner(field.dataType)
        case _:
            yield kind


def _of_row(call: Call, rest: list[str]) -> str | None:
    if rest and rest[0] not in ("true", "false"):
        return None
    function, value = "min_by" if call.name in FIRSTS else "max_by", call.value()
    conditions = [] if call.condition is None else [f"({call.condition})"]
    if call.ignores_nulls or rest[:1] == ["true"]:
        conditions.append(f"({value}) is not null")
    # Rows without a position are passed over.
    order = f"case when {' and '.join(conditions)} then {_ORDER} end" if conditions else _ORDER
    return f"{function}({value}, {order})"


def _text(call: Call, kind: T.DataType, separator: str) -> str | None:
    if isinstance(kind, (T.ArrayType, T.MapType, T.StructType, T.VariantType, T.NullType)):
        # Spark refuses them, or has no value.
        return None
    if call.within is not None:
        if call.is_distinct:
            # Values that are equal in the given order are equal.
            return None
        clause = "" if call.condition is None else f" filter (where {call.condition})"
        value = call.value()
        return f"{call.name}({value}, {separator}) within group ({call.within}, {_ORDER}){clause}"
    if isinstance(kind, T.BinaryType):
        before = f"ifnull(concat(a, ifnull({separator}, X'')), X'')"
        joined = f"aggregate(v, cast(null as binary), (a, x) -> concat({before}, x))"
        return let(listed(call.value(), call), "v", joined)
    value = call.value() if isinstance(kind, T.StringType) else f"cast(({call.value()}) as string)"
    joined = f"array_join(v, ifnull({separator}, ''))"
    return let(listed(value, call), "v", f"if(size(v) = 0, null, {joined})")


def _percentile(call: Call, kind: T.DataType, of_share: T.DataType | None) -> str:
    """Return the exact percentile of one share, or of an array of shares."""
    share = call.arguments[1]
    ranked = "get(s.l, greatest(cast(ceil(size(s.l) * {share}) as int), 1) - 1)"
    distinct = "distinct " if call.is_distinct else ""
    value = _normal(f"({call.value()})", _number(kind), kind)
    values = f"sort_array(collect_list({distinct}{value}))"
    shares = f"named_struct('l', {values}, 'p', {share})"
    if not isinstance(of_share, T.ArrayType):
        return let(shares, "s", ranked.format(share="s.p"))
    each = f"array_compact(transform(s.p, share -> {ranked.format(share='share')}))"
    return let(shares, "s", f"if(size(s.l) = 0, null, {each})")
