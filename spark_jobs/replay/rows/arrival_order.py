"""The total arrival order, and epochs: the stretches of it between two watermark emissions.

Law: position = (clock, source partition, tie columns, the whole row). Commit order adds the commit's version and the
event time after the clock. Offset order adds the partition and the offset, and a union of sources the source's number.
Of rows that differ only in values that Spark takes for equal, -0.0 comes before 0.0, and texts with a collation come by
their bytes. Rows with equal positions are identical, so their order has no effect.

Each identical row that emits a watermark is a separate epoch. The tick that ends a row's epoch is

    every D, phase P   floor((clock_ms - P) / D)
    every_n n          floor(rank / n)

and follows all its rows and precedes every row of the next epoch (semantics B3). `epochs` defines the kinds of epochs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import EmitKind, Order, Pipeline
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis, of_row_among_ticks, ticks
from spark_jobs.replay.rows.event_time import millis
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.prepare import moves_watermark
from spark_jobs.replay.rows.quoting import quoted

# Rows are numbered in stretches of this length, side by side.
_NUMBERING_STRETCH_US = 60_000_000
# Where rows are epochs they are grouped by stretches of this length; only stretches with a late row or a firing are
# sorted.
_GROUPING_STRETCH_US = 1_000_000

_PLACE, _STRETCH = c.PREFIX + "place", c.PREFIX + "stretch"
_SIZE, _START = c.PREFIX + "size", c.PREFIX + "start"


def position(prepared: DataFrame, pipeline: Pipeline) -> Column:
    """Return the row's position in the arrival order: a struct that compares field by field, nulls first.

    The last fields are the source's columns by name, which break ties of the declared columns, and what distinguishes
    equal values. Maps have no order in Spark and are compared entry by entry. Rows that have a position keep it.
    """
    if c.POSITION in prepared.columns:
        return F.col(c.POSITION)
    fields = [F.col(c.CLOCK_US).alias("clock_us")]
    if pipeline.replay.order is Order.COMMIT:
        fields += [F.col(c.COMMIT_VERSION).alias("commit_version"), F.col(c.EVENT_US).alias("event_us")]
    if pipeline.replay.order is Order.OFFSET:
        fields += [F.col(c.PARTITION).alias("partition"), F.col(c.OFFSET).alias("offset")]
    if pipeline.sources:
        fields += _of_sources(prepared, pipeline)
    return F.struct(*fields, *ties(prepared, pipeline))


def ties(prepared: DataFrame, pipeline: Pipeline) -> list[Column]:
    """Return the columns that order rows of equal clock or offset: `tie_0`, `tie_1` ..."""
    declared = [] if pipeline.sources else [*pipeline.source.source_partition.columns, *pipeline.source.tie_break]
    rest = sorted(f.name for f in prepared.schema if not f.name.startswith(c.PREFIX) and f.name not in declared)
    kinds = {f.name: f.dataType for f in prepared.schema}
    names = [*declared, *rest]
    fields = [*(_comparable(name, kinds[name]) for name in names), *distinguishing(names, kinds)]
    return [field.alias(f"tie_{i}") for i, field in enumerate(fields)]


def distinguishing(names: Sequence[str], kinds: Mapping[str, T.DataType]) -> list[Column]:
    """Return columns that order values which Spark takes for equal; none for types without such values."""
    return [_text(F.col(quoted(name)), kinds[name]) for name in names if _has_lookalikes(kinds[name])]


def _text(value: Column, kind: T.DataType) -> Column:
    """Return the text of a value, in which -0.0 comes before 0.0; of a number only if it is zero."""
    text = value.cast("string")
    return F.when(value == F.lit(0.0), text) if isinstance(kind, (T.FloatType, T.DoubleType)) else text


def _has_lookalikes(kind: T.DataType) -> bool:
    """Return whether values of the type may be equal and not identical, as 0.0 and -0.0, or A and a in a collation."""
    match kind:
        case T.MapType():
            return _has_lookalikes(kind.keyType) or _has_lookalikes(kind.valueType)
        case T.ArrayType():
            return _has_lookalikes(kind.elementType)
        case T.StructType():
            return any(_has_lookalikes(field.dataType) for field in kind)
        case T.StringType():
            return not kind.isUTF8BinaryCollation()
        case _:
            return isinstance(kind, (T.FloatType, T.DoubleType))


def _of_sources(prepared: DataFrame, pipeline: Pipeline) -> list[Column]:
    """Return the number of the row's source and that source's declared columns; columns of other sources are null."""
    kinds = {f.name: f.dataType for f in prepared.schema}
    fields = [F.col(c.SOURCE).alias("source")]
    for number, united in enumerate(pipeline.sources):
        for i, name in enumerate([*united.source.source_partition.columns, *united.source.tie_break]):
            own = F.when(F.col(c.SOURCE) == number, _comparable(name, kinds[name]))
            fields.append(own.alias(f"source_{number}_tie_{i}"))
    return fields


def with_epoch(
    prepared: DataFrame, pipeline: Pipeline, *, placed: bool = False, outrun: Column | None = None
) -> DataFrame:
    """Return `prepared` with `EPOCH` (`epochs`); null in rows that have no position in the arrival order.

    `placed`: the rows come from several sources, each row moves its source's watermark, and `POSITION` is set already.
    `outrun` is then `outrun_by_lag` of the sources.
    """
    counted = F.lit(True) if placed else moves_watermark(pipeline)
    place = F.col(c.POSITION) if placed else position(prepared, pipeline)
    outrun = outrun_by_lag(pipeline) if outrun is None else outrun
    if outrun is not None or emits_itself(pipeline) or c.CANDIDATE_MS in prepared.columns:
        prepared = _with_copies(prepared, place, counted & _emitting(prepared, outrun, pipeline))
        place = place.withField("copy", F.col(c.COPY))
    if axis(pipeline) is Axis.ROWS:
        return prepared.withColumn(c.EPOCH, F.when(counted, place))
    if is_numbered(pipeline):
        rows = _numbered(prepared, counted, place, pipeline)
    else:
        rows = prepared.withColumn(c.EPOCH, every(F.col(c.CLOCK_US), pipeline))
    if axis(pipeline) is Axis.TICKS:
        return rows
    return rows.withColumn(c.EPOCH, F.when(counted, of_row_among_ticks(F.col(c.EPOCH), place)))


def emits_itself(pipeline: Pipeline) -> bool:
    """Return whether rows carry watermarks, or a class makes them: an identical row after such a row may be late."""
    return candidates.carries(pipeline) or pipeline.watermark.is_custom or bool(_custom(pipeline))


def outrun_by_lag(pipeline: Pipeline) -> Column | None:
    """Return whether the clock that a row emits, less the lag, reaches its event time; None unless rows emit a lag.

    Then an identical row after it may be late. For any other row its windows are still open.
    """
    if axis(pipeline) is not Axis.ROWS or not pipeline.watermark.follows_clock:
        return None
    return candidates.lagging_ms(F.col(c.CLOCK_US), pipeline) >= F.col(c.TS_MS)


def _custom(pipeline: Pipeline) -> list[int]:
    """Return the numbers of the sources with a custom watermark generator."""
    return [n for n, united in enumerate(pipeline.sources) if united.watermark.is_custom]


def _emitting(prepared: DataFrame, outrun: Column | None, pipeline: Pipeline) -> Column:
    """Return whether a row may make an identical row after it late. For a join, either input may have such rows."""
    emitting = [] if outrun is None else [outrun]
    if c.CANDIDATE_MS in prepared.columns:
        marked = F.col(c.CANDIDATE_MS).isNotNull()
        emitting.append(marked | F.col(c.SOURCE).isin(_custom(pipeline)) if pipeline.sources else marked)
    return reduce(Column.__or__, emitting) if emitting else F.lit(True)


def _with_copies(prepared: DataFrame, place: Column, emitting: Column) -> DataFrame:
    """Return `prepared` with `COPY`: the number of an emitting row among identical rows; 0 for other rows.

    Other rows are not shuffled.
    """
    alike = Window.partitionBy(place).orderBy(F.lit(0))
    numbered = prepared.where(emitting).withColumn(c.COPY, F.row_number().over(alike))
    silent = prepared.where(~emitting).withColumn(c.COPY, F.lit(0))
    return numbered.unionByName(silent)


def is_numbered(pipeline: Pipeline) -> bool:
    """Return whether an epoch depends on the number of rows before it, so that all rows have to be read."""
    return axis(pipeline) is not Axis.ROWS and ticks(pipeline).kind is EmitKind.EVERY_N


def every(clock_us: Column, pipeline: Pipeline) -> Column:
    """Return the tick that ends the epoch of a clock value, for ticks by the clock."""
    emit = ticks(pipeline)
    since = millis(clock_us) - F.lit(emit.phase_ms)
    return _stretch(since, emit.interval_ms)


def emission_clock_us(epoch: Column, pipeline: Pipeline) -> Column:
    """Return the clock of the tick that ends `epoch`, for ticks by the clock: `(epoch + 1) * D + P`."""
    emit = ticks(pipeline)
    return ((epoch + F.lit(1)) * F.lit(emit.interval_ms) + F.lit(emit.phase_ms)) * F.lit(1000)


def bucket(epoch: Column, pipeline: Pipeline) -> Column:
    """Return a long that never falls along the arrival order, for grouping.

    It is the tick that ends the epoch. Where rows are epochs it is the stretch of the clock around the position.
    """
    if axis(pipeline) is Axis.ROWS:
        return _stretch(epoch.getField("clock_us"), _GROUPING_STRETCH_US)
    return epoch.getField("tick") if axis(pipeline) is Axis.MARKS else epoch


def bucket_of_row(pipeline: Pipeline) -> Column:
    """Return `bucket` of a prepared row with epoch that has a position, without computing the position."""
    if axis(pipeline) is Axis.ROWS:
        return _stretch(F.col(c.CLOCK_US), _GROUPING_STRETCH_US)
    return bucket(F.col(c.EPOCH), pipeline)


def _numbered(prepared: DataFrame, counted: Column, place: Column, pipeline: Pipeline) -> DataFrame:
    """Return the epochs of `every_n`, the only emission that has to number rows.

    Each stretch of the clock is numbered by a separate task, from the number of rows in the stretches before it.
    """
    stretch = _stretch(F.col(c.CLOCK_US), _NUMBERING_STRETCH_US)
    marked = prepared.withColumns({_STRETCH: F.when(counted, stretch), _PLACE: F.when(counted, place)})
    sizes = marked.where(counted).groupBy(_STRETCH).agg(F.count("*").alias(_SIZE))
    in_order = Window.orderBy(_STRETCH).rowsBetween(Window.unboundedPreceding, -1)
    starts = sizes.select(_STRETCH, F.coalesce(F.sum(_SIZE).over(in_order), F.lit(0)).alias(_START))
    within = Window.partitionBy(_STRETCH).orderBy(_PLACE)
    rank = F.col(_START) + F.row_number().over(within) - F.lit(1)
    n = F.lit(ticks(pipeline).n)
    return (
        marked.join(F.broadcast(starts), _STRETCH, "left")
        .withColumn(c.EPOCH, F.when(counted, F.call_function("div", rank, n)))
        .drop(_STRETCH, _START, _PLACE)
    )


def _stretch(clock: Column, length: int) -> Column:
    """`floor(clock / length)` in whole numbers."""
    return F.call_function("div", clock - F.pmod(clock, F.lit(length)), F.lit(length))


def _comparable(name: str, kind: T.DataType) -> Column:
    return _ordered(F.col(quoted(name)), kind)


def _ordered(value: Column, kind: T.DataType) -> Column:
    """Return a value that Spark can order: a MAP as an array of its entries, a VARIANT as JSON text."""
    if not holds_map(kind):
        return value
    match kind:
        case T.MapType():
            entry = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
            return _ordered(F.map_entries(value), T.ArrayType(entry))
        case T.ArrayType():
            return F.transform(value, lambda item: _ordered(item, kind.elementType))
        case T.StructType():
            fields = (_ordered(value[field.name], field.dataType).alias(field.name) for field in kind)
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return json_text(value)


def holds_map(kind: T.DataType) -> bool:
    """Return whether values of the type have a MAP or VARIANT inside, which Spark does not order."""
    if isinstance(kind, (T.MapType, T.VariantType)):
        return True
    if isinstance(kind, T.ArrayType):
        return holds_map(kind.elementType)
    return isinstance(kind, T.StructType) and any(holds_map(f.dataType) for f in kind.fields)
