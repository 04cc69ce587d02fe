"""The total arrival order, and epochs: the stretches of it between two watermark emissions.

Law: position = (clock, source partition, tie columns, the whole row), in commit order with the commit's version and the
event time behind the clock, by offsets with partition and offset there, of several sources with the source's number.
Rows with equal positions are identical: their order cannot be seen, but that each of them that emits is an epoch of its
own, before the next. The tick that ends a row's epoch is

    every D, phase P   floor((clock_ms - P) / D)
    every_n n          floor(rank / n)

and follows all its rows and precedes every row of the next (B3). What epochs are is told by `epochs`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import EmitKind, Order, Pipeline
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis, of_row_among_ticks, ticks
from spark_jobs.replay.rows.event_time import millis
from spark_jobs.replay.rows.prepare import moves_watermark, quoted

# Rows are numbered in stretches of this length, side by side.
_NUMBERING_STRETCH_US = 60_000_000
# Where rows are epochs they are grouped by stretches of this length; only those that hold a late row or a firing are
# sorted.
_GROUPING_STRETCH_US = 1_000_000

_PLACE = c.PREFIX + "place"


def position(prepared: DataFrame, pipeline: Pipeline) -> Column:
    """The row's place in the arrival order: a struct that compares field by field, nulls first.

    The last fields are the source's columns by name: they break what the declared columns leave tied. Maps have no
    order in Spark and are compared as JSON text. Rows that have a place already keep it.
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
    """The columns that tell rows apart that are equal in clock or offset: `tie_0`, `tie_1` ..."""
    declared = [] if pipeline.sources else [*pipeline.source.source_partition.columns, *pipeline.source.tie_break]
    rest = sorted(f.name for f in prepared.schema if not f.name.startswith(c.PREFIX) and f.name not in declared)
    kinds = {f.name: f.dataType for f in prepared.schema}
    return [_comparable(name, kinds[name]).alias(f"tie_{i}") for i, name in enumerate([*declared, *rest])]


def _of_sources(prepared: DataFrame, pipeline: Pipeline) -> list[Column]:
    """The number of the row's source, and what that one declares; null for what others do."""
    kinds = {f.name: f.dataType for f in prepared.schema}
    fields = [F.col(c.SOURCE).alias("source")]
    for number, united in enumerate(pipeline.sources):
        for i, name in enumerate([*united.source.source_partition.columns, *united.source.tie_break]):
            own = F.when(F.col(c.SOURCE) == number, _comparable(name, kinds[name]))
            fields.append(own.alias(f"source_{number}_tie_{i}"))
    return fields


def with_epoch(prepared: DataFrame, pipeline: Pipeline, *, placed: bool = False) -> DataFrame:
    """`prepared` with `EPOCH`, of the kind that `epochs` says; null in rows that have no place in the order.

    `placed`: the rows may be of several sources, each moves its own watermark, and `POSITION` says where they stand.
    """
    counted = F.lit(True) if placed else moves_watermark(pipeline)
    place = F.col(c.POSITION) if placed else position(prepared, pipeline)
    if emits_itself(pipeline) or c.CANDIDATE_MS in prepared.columns:
        prepared = _told_apart(prepared, place, counted, pipeline)
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
    """Whether a row may emit a watermark that an identical row behind it is late for."""
    return candidates.carries(pipeline) or pipeline.watermark.is_custom or bool(_custom(pipeline))


def _custom(pipeline: Pipeline) -> list[int]:
    """The numbers of the sources whose watermark a class of the user's tells."""
    return [n for n, united in enumerate(pipeline.sources) if united.watermark.is_custom]


def _told_apart(prepared: DataFrame, place: Column, counted: Column, pipeline: Pipeline) -> DataFrame:
    """`prepared` with `COPY`: identical rows that may each emit are numbered; others have 0, and are not shuffled.

    Of two inputs either one may have rows that carry watermarks.
    """
    emits = counted
    if c.CANDIDATE_MS in prepared.columns:
        marked = F.col(c.CANDIDATE_MS).isNotNull()
        emits = emits & (marked | F.col(c.SOURCE).isin(_custom(pipeline)) if pipeline.sources else marked)
    alike = Window.partitionBy(place).orderBy(F.lit(0))
    numbered = prepared.where(emits).withColumn(c.COPY, F.row_number().over(alike))
    others = prepared.where(~emits).withColumn(c.COPY, F.lit(0))
    return numbered.unionByName(others)


def is_numbered(pipeline: Pipeline) -> bool:
    """Whether an epoch follows from how many rows come before it, so that each row must be read to know any."""
    return axis(pipeline) is not Axis.ROWS and ticks(pipeline).kind is EmitKind.EVERY_N


def every(clock_us: Column, pipeline: Pipeline) -> Column:
    """The tick that ends the epoch of a clock, for ticks by the clock."""
    emit = ticks(pipeline)
    since = millis(clock_us) - F.lit(emit.phase_ms)
    return _stretch(since, emit.interval_ms)


def emission_clock_us(epoch: Column, pipeline: Pipeline) -> Column:
    """When the tick that ends `epoch` happens, for ticks by the clock: `(epoch + 1) * D + P`."""
    emit = ticks(pipeline)
    return ((epoch + F.lit(1)) * F.lit(emit.interval_ms) + F.lit(emit.phase_ms)) * F.lit(1000)


def bucket(epoch: Column, pipeline: Pipeline) -> Column:
    """A long that never falls along the arrival order, for grouping.

    It is the tick that ends the epoch, or where rows are epochs the stretch of the clock around the position.
    """
    if axis(pipeline) is Axis.ROWS:
        return _stretch(epoch.getField("clock_us"), _GROUPING_STRETCH_US)
    return epoch.getField("tick") if axis(pipeline) is Axis.MARKS else epoch


def _numbered(prepared: DataFrame, counted: Column, place: Column, pipeline: Pipeline) -> DataFrame:
    """Epochs counted in rows: the one mode that has to number them.

    Each stretch of the clock is numbered on its own, side by side, and begins where the stretches before it end.
    """
    stretch = _stretch(F.col(c.CLOCK_US), _NUMBERING_STRETCH_US)
    marked = prepared.withColumns({c.PREFIX + "stretch": F.when(counted, stretch), _PLACE: F.when(counted, place)})
    sizes = marked.where(counted).groupBy(c.PREFIX + "stretch").agg(F.count("*").alias("size"))
    in_order = Window.orderBy(c.PREFIX + "stretch").rowsBetween(Window.unboundedPreceding, -1)
    starts = sizes.select(c.PREFIX + "stretch", F.coalesce(F.sum("size").over(in_order), F.lit(0)).alias("start"))
    within = Window.partitionBy(c.PREFIX + "stretch").orderBy(_PLACE)
    rank = F.col("start") + F.row_number().over(within) - F.lit(1)
    n = F.lit(ticks(pipeline).n)
    return (
        marked.join(F.broadcast(starts), c.PREFIX + "stretch", "left")
        .withColumn(c.EPOCH, F.when(counted, F.call_function("div", rank, n)))
        .drop(c.PREFIX + "stretch", "start", _PLACE)
    )


def _stretch(clock: Column, length: int) -> Column:
    """`floor(clock / length)` in whole numbers."""
    return F.call_function("div", clock - F.pmod(clock, F.lit(length)), F.lit(length))


def _comparable(name: str, kind: T.DataType) -> Column:
    column = F.col(quoted(name))
    return F.to_json(column) if _holds_map(kind) else column


def _holds_map(kind: T.DataType) -> bool:
    if isinstance(kind, (T.MapType, T.VariantType)):
        return True
    if isinstance(kind, T.ArrayType):
        return _holds_map(kind.elementType)
    return isinstance(kind, T.StructType) and any(_holds_map(f.dataType) for f in kind.fields)
