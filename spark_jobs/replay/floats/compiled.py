"""The compiled pipeline: its aggregates as SQL with the same bits for any order of rows, files, tasks and slices.

Each call of an aggregate in the text of a pipeline file is replaced by what the modules of this package define:

    sums and averages of floating numbers    numbers, exact_sum     exact, rounded once; or in arrival order
    variance, correlation and their kin      moments
    functions of the order of rows           stable

All other aggregates stay: Spark computes them with the same bits in every order, or `unstable_aggregates` warns of
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Aggregate, Pipeline
from spark_jobs.replay.floats import moments, stable
from spark_jobs.replay.floats.array_sum import let, of_array
from spark_jobs.replay.floats.calls import Call, calls, replaced
from spark_jobs.replay.floats.compiled_aggregate import CompiledAggregate, over_parts
from spark_jobs.replay.floats.exact_sum import ExactSum, Grids
from spark_jobs.replay.floats.measured import Measured
from spark_jobs.replay.floats.numbers import (
    AVERAGES,
    SUMS,
    Number,
    as_double,
    averaged,
    is_floating,
    is_number,
    summed,
)
from spark_jobs.replay.panes import pane_columns

_ADDING = SUMS | AVERAGES | moments.OF_ONE.keys()
#: The aggregates that are replaced.
NAMES = _ADDING | moments.OF_TWO.keys() | stable.NAMES


def reads_order(pipeline: Pipeline) -> bool:
    """Return whether aggregates of the pipeline may read the position of rows (`columns.ORDER`)."""
    names = {call.name for aggregate in pipeline.windows.aggregates for call in calls(aggregate.expression, NAMES)}
    in_order = names & (_ADDING | moments.OF_TWO.keys()) if pipeline.windows.adds_as_arrived else frozenset()
    return bool(names & stable.BY_ORDER or in_order)


def measured(rows: DataFrame, pipeline: Pipeline) -> list[Measured]:
    """Return the values that the census measures for exact sums; `rows` are prepared.

    A value that uses a pane column has no value before its window fires, and is not measured.
    """
    if pipeline.windows.adds_as_arrived:
        return []
    called = [call for aggregate in pipeline.windows.aggregates for call in calls(aggregate.expression, _ADDING)]
    adding = {call.value(): call.arguments[0] for call in called if len(call.arguments) == 1 and not call.is_distinct}
    kinds = _kinds(rows, dict.fromkeys(adding.values()), pipeline)
    of_values = {value: kinds[argument] for value, argument in adding.items() if argument in kinds}
    floating = [value for value, kind in of_values.items() if is_floating(kind)]
    of_rows = (value for value in floating if not _uses_pane_columns(rows, value, pipeline))
    return [
        Measured(number, as_double(value, of_values[value]), isinstance(of_values[value], T.FloatType))
        for number, value in enumerate(of_rows)
    ]


def compiled(rows: DataFrame, pipeline: Pipeline, grids: Mapping[str, Grids]) -> Pipeline:
    """Return the pipeline with compiled aggregates; `rows` are prepared, `grids` is `measured.grids`."""
    own = pipeline.windows.aggregates
    texts = dict.fromkeys(text for a in own for call in calls(a.expression, NAMES) for text in _typed(call))
    if not texts:
        return pipeline
    compiling = _Compiling(_kinds(rows, texts, pipeline), grids, in_order=pipeline.windows.adds_as_arrived)
    return replace(pipeline, windows=replace(pipeline.windows, aggregates=tuple(map(compiling.aggregate, own))))


class _Compiling:
    """Compiles aggregates, by the types of the texts in their calls (`_typed`), and the grids of exact sums."""

    def __init__(self, kinds: Mapping[str, T.DataType], grids: Mapping[str, Grids], *, in_order: bool) -> None:
        self._kinds, self._grids, self._in_order = kinds, grids, in_order

    def aggregate(self, aggregate: Aggregate) -> Aggregate:
        """Return an aggregate compiled; if it is one call whose parts can be merged, by its parts."""
        text = aggregate.expression.strip()
        alone = [call for call in calls(text, SUMS | AVERAGES) if (call.start, call.stop) == (0, len(text))]
        for call in alone:
            total = self._added(call)
            if total is not None and total.can_be_merged:
                return CompiledAggregate.of_parts(aggregate.name, total.parts, total.total)
        return CompiledAggregate(aggregate.name, replaced(aggregate.expression, NAMES, self._call))

    def _call(self, call: Call) -> str | None:
        """Return a call as SQL with one value in every order; None if it has one."""
        if call.name in stable.NAMES:
            return stable.stable(call, self._kinds)
        if not call.arguments or call.arguments[0] not in self._kinds:
            return None
        if call.name in moments.OF_TWO:
            return self._of_two(call) if len(call.arguments) == 2 else None
        if len(call.arguments) != 1 or not is_number(self._kinds[call.arguments[0]]):
            return None
        if call.name in moments.OF_ONE:
            return self._of_one(call)
        total = self._added(call)
        return None if total is None else _text(total)

    def _added(self, call: Call) -> ExactSum | None:
        """Return a sum or an average; None if Spark's own has the same bits."""
        if len(call.arguments) != 1 or call.arguments[0] not in self._kinds:
            return None
        number = self._number(call)
        listed = stable.listed(number.double, call)
        return summed(call, number, listed) if call.name in SUMS else averaged(call, number, listed)

    def _number(self, call: Call) -> Number:
        kind = self._kinds[call.arguments[0]]
        grids = None if self._in_order else self._grids.get(as_double(call.value(), kind), Grids())
        return Number(f"({call.value()})", kind, grids)

    def _of_one(self, call: Call) -> str:
        number = self._number(call)
        distinct = "distinct " if call.is_distinct else ""
        values = f"sort_array(collect_list({distinct}{number.double}))"
        if self._in_order:
            values = stable.listed(number.double, call)
        mean = None if call.is_distinct else averaged(call, number, values)
        if mean is not None:
            return moments.of_one(call.name, values, _text(mean))
        exact = let(values, "v", f"if(size(v) = 0, null, {of_array('v')} / cast(size(v) as double))")
        return moments.of_one(call.name, values, exact)

    def _of_two(self, call: Call) -> str:
        # Without -0.0, which DISTINCT takes for 0.0.
        y, x = (f"(cast(({call.value(i)}) as double) + 0.0D)" for i in (0, 1))
        pair = f"if({x} is not null and {y} is not null, named_struct('x', {x}, 'y', {y}), null)"
        if self._in_order:
            return moments.of_two(call.name, stable.listed(pair, call))
        distinct = "distinct " if call.is_distinct else ""
        return moments.of_two(call.name, f"sort_array(collect_list({distinct}{pair}))")


def _typed(call: Call) -> list[str]:
    """Return the texts in a call whose types decide how it is compiled."""
    ordering = [call.sorted_by[0]] if call.sorted_by else []
    return [*call.arguments[:2], *ordering]


def _text(total: ExactSum) -> str:
    """Return a sum as SQL."""
    return f"({over_parts(total.parts, total.total)})"


def _uses_pane_columns(rows: DataFrame, argument: str, pipeline: Pipeline) -> bool:
    alone = replace(pipeline, windows=replace(pipeline.windows, aggregates=(Aggregate("value", argument),)))
    return bool(pane_columns.requested(rows.columns, alone))


def _kinds(rows: DataFrame, arguments: Sequence[str] | Mapping[str, None], pipeline: Pipeline) -> dict[str, T.DataType]:
    """Return the type of each argument; none for a text that Spark does not read as a value of a row."""
    texts = list(arguments)
    if not texts:
        return {}
    nulls = pane_columns.values(F.lit(0), F.lit(0), F.lit(None).cast("timestamp"))
    read = pane_columns.with_values(rows, nulls, pipeline)
    try:
        fields = read.select(*(F.expr(text).alias(f"value_{i}") for i, text in enumerate(texts))).schema.fields
        return {text: field.dataType for text, field in zip(texts, fields, strict=True)}
    except AnalysisException:
        alone = [_kinds(rows, [text], pipeline) for text in texts] if len(texts) > 1 else []
        return {text: kind for kinds in alone for text, kind in kinds.items()}
