"""Continued aggregates: computed from the state of a window when it fired, and the late rows after that.

Law: an aggregate is a state per row, a merge of states, and a result of the merged state. A late pane
of the aggregates below merges the on-time pane's state with the states of late rows. The on-time rows are not read
again. All other Spark aggregates are computed from the window's rows.

    count(*)  count(x)   1, or whether x is not null   sum       the state
    sum(x)               x                             sum       the state
    min(x)    max(x)     x                             min, max  the state
    avg(x)               x and whether it is not null  sum, sum  sum / count

An aggregate of floating numbers is compiled first (`floats.compiled`). Its parts are then exact sums, and its result is
rounded once, from the merged parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.floats.compiled_aggregate import CompiledAggregate
from spark_jobs.replay.panes import pane_columns
from spark_jobs.replay.rows import columns as c

STATE = c.PREFIX + "state_"
ROW_COUNT = c.PREFIX + "row_count"

_CALL = re.compile(r"\s*(count|sum|min|max|avg|mean)\s*\(\s*(.*?)\s*\)\s*", re.IGNORECASE | re.DOTALL)

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

    The only part is the result itself. `result` takes the names of the columns that hold the merged parts.
    """

    name: str
    parts: tuple[Part, ...]
    result: Callable[[list[str]], Column]


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
    candidates = [
        _of_parts(a) if isinstance(a, CompiledAggregate) and a.parts else _continued(rows, a.name, a.expression)
        for a in pipeline.windows.aggregates
    ]
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
    results = {columns[a.parts[0].key]: a.name for a in aggregates if len(a.parts) == 1}
    return {name: results.get(name, name) for name in columns.values()}


def stored_columns(aggregates: list[Continued]) -> list[str]:
    """Return the states that a pane has to keep in addition to its results."""
    return [name for name, column in pane_states(aggregates).items() if name == column]


def finished(aggregates: list[Continued]) -> dict[str, Column]:
    """Return the results, by working name, from merged states (`state_parts`)."""
    columns = _columns(aggregates)
    return {aggregate_column(a.name): a.result([columns[part.key] for part in a.parts]) for a in aggregates}


def _columns(aggregates: list[Continued]) -> dict[str, str]:
    """Return the column of each part's state, by the part's key."""
    keys = dict.fromkeys(part.key for a in aggregates for part in a.parts)
    return {key: f"{STATE}{i}" for i, key in enumerate(keys)}


def _of_parts(aggregate: CompiledAggregate) -> Continued:
    """Return a compiled aggregate as its parts, which are sums and counts."""
    parts = tuple(_count(text) if function == "count" else _sum(text) for function, text in aggregate.parts)
    if len(parts) == 1:
        return Continued(aggregate.name, parts, _first)
    return Continued(aggregate.name, parts, lambda names: F.expr(aggregate.result.format(*names)))


def _sum(text: str) -> Part:
    return Part(f"sum {text}", F.expr(text), F.sum, F.sum(F.expr(text)))


def _continued(rows: DataFrame, name: str, expression: str) -> Continued | None:
    call = _CALL.fullmatch(expression)
    if call is None or not _one_argument(call[2]):
        return None
    function, text = call[1].lower(), call[2]
    if function == "count":
        return Continued(name, (_count(text),), _first)
    value = F.expr(text)
    if function in ("min", "max"):
        merge: Merge = F.min if function == "min" else F.max
        return Continued(name, (Part(f"{function} {text}", value, merge, merge(value)),), _first)
    kind = rows.select(value.alias("value")).schema[0].dataType
    # Decimal sums change their precision with every merge.
    if not isinstance(kind, (T.IntegralType, T.FloatType, T.DoubleType)):
        return None
    if function == "sum":
        wide = value.cast("long" if isinstance(kind, T.IntegralType) else "double")
        return Continued(name, (Part(f"sum {text}", wide, F.sum, F.sum(value)),), _first)
    number = value.cast("double")
    return Continued(name, (Part(f"double {text}", number, F.sum, F.sum(number)), _count(text)), _quotient)


def _count(text: str) -> Part:
    if text == "*":
        return Part("count *", F.lit(1).cast("long"), F.sum, F.count("*"))
    return Part(f"count {text}", F.expr(text).isNotNull().cast("long"), F.sum, F.count(F.expr(text)))


def _quotient(names: list[str]) -> Column:
    total, count = map(F.col, names)
    return F.when(count > 0, total / count.cast("double"))


def _first(names: list[str]) -> Column:
    return F.col(names[0])


def _one_argument(text: str) -> bool:
    """Return whether the text is one argument, and ends with the call's closing bracket."""
    if re.match(r"(distinct|all)\b", text, re.IGNORECASE):
        return False
    depth = 0
    for sign in re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "", text):
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or (sign == "," and depth == 0):
            return False
    return depth == 0
