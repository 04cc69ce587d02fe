"""Arrival slices: a run over the rows that have arrived before a moment, as a job would find the table then.

Law (semantics page, B7): what arrival slices that follow each other publish is what one run over all of them does. A
slice ends at a moment of the clock, not at its last row: emissions due until then happen, and what is open stays open.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import EndOfInput, Order, Pipeline, TimeField
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay import event_time, timestamps
from spark_jobs.semantics.arrival_order import COMMIT_TIMESTAMP
from spark_jobs.tables.ledger import Run

_CUT = (Order.ARRIVAL, Order.COMMIT)
_BY_COMMIT = TimeField(COMMIT_TIMESTAMP)


def require_slices(pipeline: Pipeline, arrived_to: datetime) -> None:
    """Raise InputError where rows have no arrival to be cut by, or may still arrive before `arrived_to`."""
    order, asked = pipeline.replay.order, f"--arrived-to: asked for {arrived_to.isoformat()}"
    if order not in _CUT:
        raise InputError(
            f"{asked}, found a replay in the order of {order}, where rows have no arrival: "
            "set replay.order to arrival or commit, or take the option away"
        )
    if arrived_to.microsecond % 1000:
        raise InputError(f"{asked}, expected whole milliseconds, as emissions have")
    if arrived_to > datetime.now(UTC):
        raise InputError(f"{asked}, which is still to come, and rows with it")


def taken(pipeline: Pipeline, run: Run) -> Pipeline:
    """The pipeline as the run takes it: where arrivals are cut off, the input has not ended."""
    if run.arrived_to is None:
        return pipeline
    return replace(pipeline, replay=replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN))


def until_us(run: Run) -> int | None:
    """How far the clock of the run's arrivals went, in microseconds; None: to the last row."""
    return None if run.arrived_to is None else timestamps.literal_millis(run.arrived_to) * 1000


def arrived(rows: DataFrame, pipeline: Pipeline, run: Run, source: int | None = None) -> DataFrame:
    """The source's rows that the run reads: those that arrived in time, and those that never say when they did.

    `source` is the number of the only source that the rows are of; else the column `source` tells, if there are some.
    """
    if run.arrived_to is None:
        return rows
    if pipeline.replay.order is Order.COMMIT:
        return rows.where(_before(rows, _BY_COMMIT, run.arrived_to))
    fields = [united.source.arrival_time for united in pipeline.sources] or [pipeline.source.arrival_time]
    if source is not None or not pipeline.sources:
        return rows.where(_before(rows, fields[source or 0], run.arrived_to))
    of_each = [
        (F.col(SOURCE) == united.name) & _before(rows, field, run.arrived_to)
        for united, field in zip(pipeline.sources, fields, strict=True)
    ]
    return rows.where(reduce(Column.__or__, of_each))


def arrived_inputs(
    left: DataFrame, right: DataFrame | None, pipeline: Pipeline, run: Run
) -> tuple[DataFrame, DataFrame | None]:
    """The rows that the run reads of the two inputs of a join; None for the second where one source is split."""
    return arrived(left, pipeline, run, 0), None if right is None else arrived(right, pipeline, run, 1)


def _before(rows: DataFrame, field: TimeField | None, end: datetime) -> Column:
    if field is None:
        return F.lit(True)
    value = F.expr(field.expression)
    if isinstance(rows.select(value.alias("value")).schema[0].dataType, T.TimestampType):
        # As it is, so that Delta can leave files out.
        return value.isNull() | (value < F.lit(end))
    read = event_time.micros(rows, field)
    return read.isNull() | (read < F.lit(timestamps.literal_millis(end) * 1000))
