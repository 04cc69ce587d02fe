"""Continued aggregates: computed from the state of a window when it fired, and the late rows after that.

Law: an aggregate is a state per row, a merge of states, and a result of the merged state. A late pane
of the aggregates below merges the on-time pane's state with the states of late rows. The on-time rows are not read
again. All other Spark aggregates are computed from the window's rows.

    count(*)  count(x)   1, or whether x is not null   sum       the state
    sum(x)               x                             sum       the state
    min(x)    max(x)     x                             min, max  the state
    avg(x)               x and whether it is not null  sum, sum  sum / count
    count_if(x)          whether x is true             sum       the state

So is an expression around such calls (`split_aggregates`), computed from their results. A call with FILTER is the call
of a value that is null in all other rows.

An aggregate of floating numbers is compiled first (`floats.compiled`). Its parts are then exact sums, and its result is
rounded once, from the merged parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.floats.calls import Call
from spark_jobs.replay.floats.compiled_aggregate import CompiledAggregate
from spark_jobs.replay.panes import pane_columns
from spark_jobs.replay.panes.split_aggregates import SplitAggregate, split
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.quoting import quoted

STATE = c.PREFIX + "state_"
ROW_COUNT = c.PREFIX + "row_count"

_AVERAGES = frozenset(("avg", "mean"))
_FUNCTIONS = _AVERAGES | {"count", "count_if", "max", "min", "sum"}
# Types that a table of panes can hold beside the results.
_STORED = (T.NumericType, T.BooleanType, T.DateType, T.TimestampType)

_QUOTIENT = "(case when {1} > 0 then {0} / cast({1} as double) end)"

Merge = Callable[[Column], Column]


@dataclass(frozen=True)
class Part:
    """One value of a state: for a single row, merged from several states, and as a Spark aggregate of all rows.

    Parts with the same `key` are equal.
    """

    key: str
    of_row: Column
    merge: Merge
    at_once: Column


@dataclass(frozen=True)
class Continued:
    """An aggregate that can be continued: the parts of its state, and its result from the merged parts.

    `result` takes the names of the columns that hold the merged parts. None: the only part is the result itself.
    """

    name: str
    parts: tuple[Part, ...]
    result: Callable[[list[str]], Column] | None = None


def aggregate_column(name: str) -> str:
    """Return the working name of a result column, which differs from all key and source columns."""
    return f"{c.PREFIX}aggregate_{name}"


def aggregated(pipeline: Pipeline) -> list[Column]:
    """Return the pipeline's aggregates under their working names, and `ROW_COUNT`."""
    results = [F.expr(a.expression).alias(aggregate_column(a.name)) for a in pipeline.windows.aggregates]
    return [*results, F.count("*").alias(ROW_COUNT)]


def continued(rows: DataFrame, pipeline: Pipeline) -> list[Continued] | None:
    """Return the pipeline's aggregates as continued aggregates, or None if one cannot be continued."""
    if pane_columns.requested(rows.columns, pipeline):
        return None
    own = pipeline.windows.aggregates
    by_parts = {a.name: _of_parts(a) for a in own if isinstance(a, CompiledAggregate) and a.parts}
    texts = [a.expression for a in own if a.name not in by_parts]
    splits = split(rows, texts, _FUNCTIONS)
    if splits is None:
        return None
    kinds = _kinds(rows, dict.fromkeys(_value(call) for aggregate in splits for call in aggregate.calls))
    of_text = dict(zip(texts, splits, strict=True))
    candidates = [by_parts.get(a.name) or _of_calls(a.name, of_text[a.expression], kinds) for a in own]
    aggregates = [a for a in candidates if a is not None]
    return aggregates if len(aggregates) == len(candidates) else None


def state_parts(aggregates: list[Continued]) -> dict[str, Part]:
    """Return the parts of all states by the columns that hold them; a part of several aggregates is held once."""
    columns = _columns(aggregates)
    return {columns[part.key]: part for a in aggregates for part in a.parts}


def at_once(aggregates: list[Continued]) -> dict[str, Column]:
    """Aggregates of rows that give all states, by name (`state_parts`), and `ROW_COUNT`."""
    return {**{name: part.at_once for name, part in state_parts(aggregates).items()}, ROW_COUNT: F.count("*")}


def merged(aggregates: list[Continued]) -> list[Column]:
    """Aggregates of states, and of `ROW_COUNT`, that merge them under their own names."""
    states = [part.merge(F.col(name)).alias(name) for name, part in state_parts(aggregates).items()]
    return [*states, F.sum(ROW_COUNT).alias(ROW_COUNT)]


def pane_states(aggregates: list[Continued]) -> dict[str, str]:
    """Return by state (`state_parts`) the column of a pane that holds it: a result, or the state's own column."""
    columns = _columns(aggregates)
    results = {columns[a.parts[0].key]: a.name for a in aggregates if a.result is None}
    return {name: results.get(name, name) for name in columns.values()}


def stored_columns(aggregates: list[Continued]) -> list[str]:
    """Return the states that a pane has to keep in addition to its results."""
    return [name for name, column in pane_states(aggregates).items() if name == column]


def finished(aggregates: list[Continued]) -> dict[str, Column]:
    """Return the results, by working name, from merged states (`state_parts`)."""
    columns = _columns(aggregates)
    states = {a.name: [columns[part.key] for part in a.parts] for a in aggregates}
    return {
        aggregate_column(a.name): F.col(states[a.name][0]) if a.result is None else a.result(states[a.name])
        for a in aggregates
    }


def _columns(aggregates: list[Continued]) -> dict[str, str]:
    """Return the column of each part's state, by the part's key."""
    keys = dict.fromkeys(part.key for a in aggregates for part in a.parts)
    return {key: f"{STATE}{i}" for i, key in enumerate(keys)}


def _of_parts(aggregate: CompiledAggregate) -> Continued:
    """Return a compiled aggregate as its parts, which are sums and counts."""
    parts = tuple(_count(text) if function == "count" else _sum(text) for function, text in aggregate.parts)
    if len(parts) == 1:
        return Continued(aggregate.name, parts)
    return Continued(aggregate.name, parts, lambda names: F.expr(aggregate.result.format(*names)))


def _of_calls(name: str, aggregate: SplitAggregate, kinds: Mapping[str, T.DataType]) -> Continued | None:
    """Return an aggregate continued as its calls; None if a call cannot be continued."""
    states = [state for call in aggregate.calls if (state := _of_call(call, kinds)) is not None]
    if len(states) < len(aggregate.calls) or not (aggregate.is_call or all(state.can_be_stored for state in states)):
        return None
    parts = tuple(part for state in states for part in state.parts)
    if aggregate.is_call and len(parts) == 1:
        return Continued(name, parts)

    def result(names: list[str]) -> Column:
        rest = iter(names)
        values = [state.result.format(*(quoted(next(rest)) for _ in state.parts)) for state in states]
        return F.expr(aggregate.over(values))

    return Continued(name, parts, result)


@dataclass(frozen=True)
class _State:
    """The state of one call: its parts, and its value as SQL over them, with the type and nullability of the call."""

    parts: tuple[Part, ...]
    result: str = "{0}"
    can_be_stored: bool = True


def _of_call(call: Call, kinds: Mapping[str, T.DataType]) -> _State | None:
    if call.is_distinct or call.within is not None or call.ignores_nulls or len(call.arguments) != 1:
        return None
    text = _value(call)
    if call.name in ("count", "count_if") and (text == "*" or text in kinds):
        return _State((_count(text),), "coalesce({0}, 0L)")
    kind = kinds.get(text)
    if call.name in ("min", "max") and kind is not None:
        merge: Merge = F.min if call.name == "min" else F.max
        return _State((Part(f"{call.name} {text}", F.expr(text), merge, merge(F.expr(text))),), "{0}", _is_stored(kind))
    # Decimal sums change their precision with every merge.
    if not isinstance(kind, (T.IntegralType, T.FloatType, T.DoubleType)):
        return None
    if call.name in _AVERAGES:
        number = F.expr(text).cast("double")
        return _State((Part(f"double {text}", number, F.sum, F.sum(number)), _count(text)), _QUOTIENT)
    wide = F.expr(text).cast("long" if isinstance(kind, T.IntegralType) else "double")
    return _State((Part(f"sum {text}", wide, F.sum, F.sum(F.expr(text))),))


def _value(call: Call) -> str:
    """Return what a call takes of a row as SQL: null in rows that do not fulfil a condition."""
    text = call.arguments[0] if call.arguments else "null"
    if call.name == "count_if":
        conditions = [f"({text})", *([] if call.condition is None else [f"({call.condition})"])]
        return f"case when {' and '.join(reversed(conditions))} then 1 end"
    if text == "*":
        return text if call.condition is None else f"case when ({call.condition}) then 1 end"
    return call.value() if call.arguments else text


def _kinds(rows: DataFrame, texts: Mapping[str, None]) -> dict[str, T.DataType]:
    """Return the types of values by their SQL; none if Spark does not read them all as values of a row."""
    values = [text for text in texts if not text.endswith("*")]
    try:
        fields = rows.select(*(F.expr(text).alias(f"{STATE}{i}") for i, text in enumerate(values))).schema.fields
    except AnalysisException:
        return {}
    return {text: field.dataType for text, field in zip(values, fields, strict=True)}


def _is_stored(kind: T.DataType) -> bool:
    return isinstance(kind, _STORED) or (isinstance(kind, T.StringType) and kind.isUTF8BinaryCollation())


def _sum(text: str) -> Part:
    return Part(f"sum {text}", F.expr(text), F.sum, F.sum(F.expr(text)))


def _count(text: str) -> Part:
    if text == "*":
        return Part("count *", F.lit(1).cast("long"), F.sum, F.count("*"))
    return Part(f"count {text}", F.expr(text).isNotNull().cast("long"), F.sum, F.count(F.expr(text)))
