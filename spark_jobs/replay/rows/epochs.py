"""Epochs: the stretch between two emissions, which is a tick, a row, or a row among ticks.

A tick is an emission of `emit`. Law, with the position of `arrival_order`:

    ticks   a long: the tick that ends the epoch                   only ticks move the watermark
    rows    the position                                           only rows emit
    marks   (tick, is_tick, position); position null in a tick     rows and ticks emit

Epochs compare along the arrival order; a tick is after all rows that it ends. With per-event emission epochs are rows
if only the rows' times matter, and otherwise ticks of one row each. Without a watermark the only tick is in the far
future.
"""

from __future__ import annotations

from enum import StrEnum
from typing import cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Emit, EmitKind, Pipeline

# Later than every time that a table can hold, and in microseconds still a long.
_FAR_MS = 2**50


class Axis(StrEnum):
    """The kind of epochs."""

    TICKS = "ticks"
    ROWS = "rows"
    MARKS = "marks"


def axis(pipeline: Pipeline) -> Axis:
    """Return the kind of a pipeline's epochs; for several sources, a kind that is fine enough for all of them."""
    if pipeline.is_united:
        return _axis_of_all(pipeline)
    watermark = pipeline.watermark
    if watermark.is_absent:
        return Axis.TICKS
    if watermark.is_custom:
        return Axis.MARKS
    if watermark.is_punctuated:
        return Axis.MARKS if watermark.may_fall_idle else Axis.ROWS
    by_row = watermark.emit.kind is EmitKind.PER_EVENT and not watermark.may_fall_idle
    return Axis.ROWS if by_row else Axis.TICKS


def _axis_of_all(pipeline: Pipeline) -> Axis:
    if are_silenced(pipeline):
        return Axis.TICKS
    if are_merged(pipeline):
        return Axis.MARKS if any(watermark.emits_at_rows for watermark in pipeline.watermarks) else Axis.TICKS
    return axis(pipeline.alone(pipeline.sources[0]))


def are_silenced(pipeline: Pipeline) -> bool:
    """Return whether one of several sources holds the watermark at MIN: it has no watermark, and is never idle."""
    return pipeline.is_united and any(watermark.holds_at_min for watermark in pipeline.watermarks)


def are_merged(pipeline: Pipeline) -> bool:
    """Return whether the watermark of several sources is merged from partition changes (`union_channels`).

    Otherwise it is the minimum of closed forms (`union`). These exist for sources that are never idle, follow their
    rows alone, and emit either all at rows or all at ticks.
    """
    if not pipeline.is_united or are_silenced(pipeline):
        return False
    if any(watermark.idle_timeout_ms is not None or not watermark.follows_rows for watermark in pipeline.watermarks):
        return True
    return len({axis(pipeline.alone(united)) for united in pipeline.sources}) > 1


def ticks(pipeline: Pipeline) -> Emit:
    """Return the ticks as `every` or `every_n`; not for rows."""
    if pipeline.watermark.is_absent or are_silenced(pipeline):
        return Emit(EmitKind.EVERY, interval_ms=_FAR_MS)
    emit = pipeline.watermark.emit
    return Emit(EmitKind.EVERY_N, n=1) if emit.kind is EmitKind.PER_EVENT else emit


def of_row_among_ticks(tick: Column, position: Column) -> Column:
    """Return the epoch (marks) of a row before `tick`."""
    return F.struct(tick.alias("tick"), F.lit(False).alias("is_tick"), position.alias("position"))


def of_tick(tick: Column, groups: DataFrame, pipeline: Pipeline) -> Column:
    """Return the epoch of a tick in the census `groups`: the tick, or with marks a struct that sorts after its rows."""
    if axis(pipeline) is not Axis.MARKS:
        return tick
    kind = cast(T.StructType, groups.schema["first_epoch"].dataType)
    nowhere = F.lit(None).cast(kind["position"].dataType)
    return F.struct(tick.alias("tick"), F.lit(True).alias("is_tick"), nowhere.alias("position"))
