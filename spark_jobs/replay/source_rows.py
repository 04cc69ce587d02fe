"""The rows of a replay: prepared, placed in the order of arrival, and those that the windows of a slice need.

Rows that have their place and epoch already, such as the rows of both inputs of a join, are `PlacedRows`. `SourceRows`
prepares and places the rows of a source.
"""

from __future__ import annotations

from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.floats.compiled import reads_order
from spark_jobs.replay.rows import arrival_order, left_out
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.rows.prepare import fills_windows, moves_watermark, prepare
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import rounds
from spark_jobs.replay.windows.slice import Slice


class PlacedRows:
    """Prepared rows with place and epoch; `prepared` and `placed` are the same rows."""

    def __init__(self, prepared: DataFrame, pipeline: Pipeline) -> None:
        self._rows, self._pipeline = prepared, pipeline

    @cached_property
    def prepared(self) -> DataFrame:
        """The rows with their times, validity and window."""
        return self._rows

    @cached_property
    def placed(self) -> DataFrame:
        """The prepared rows with their epochs."""
        return self.prepared

    @cached_property
    def moving(self) -> DataFrame:
        """The placed rows that move the watermark."""
        return self.placed.where(moves_watermark(self._pipeline))

    @cached_property
    def filling(self) -> DataFrame:
        """The placed rows that fill windows."""
        return self.placed.where(fills_windows())

    def filling_of(self, part: Slice) -> DataFrame:
        """Return the placed rows that fill windows of the slice."""
        return self.filling.where(part.reaches_row(self._pipeline.windows))

    def prepared_of(self, part: Slice) -> DataFrame:
        """Return the prepared rows that fill windows of the slice; they may lack epochs."""
        return self.prepared.where(fills_windows() & part.reaches_row(self._pipeline.windows))


class SourceRows(PlacedRows):
    """The rows of `events`, which have the columns of the source, in any order.

    `arrived` are all rows that have arrived, where `events` are only those that matter to a run that goes on. Raises
    TimeFieldError for a time column of another type than declared.
    """

    def __init__(
        self, events: DataFrame, pipeline: Pipeline, store: Store, *, arrived: DataFrame | None = None
    ) -> None:
        events = _completed(events, pipeline)
        super().__init__(prepare(events, pipeline), pipeline)
        self._events, self._store, self._arrived = events, store, arrived

    @cached_property
    def prepared(self) -> DataFrame:
        """The rows with their times, validity and window, and duplicates left out."""
        return self._without_duplicates(self._rows)

    def _without_duplicates(self, rows: DataFrame) -> DataFrame:
        if not self._pipeline.deduplicates:
            return rows
        firsts, copies = self._first_rows
        position = arrival_order.position(rows, self._pipeline)
        return left_out.without_duplicates(rows, position, firsts, copies=copies)

    @cached_property
    def _first_rows(self) -> tuple[DataFrame, bool]:
        """The first rows of repeated identities, and whether some are identical."""
        every, among = self._rows, None
        if self._arrived is not None:
            every, among = prepare(_completed(self._arrived, self._pipeline), self._pipeline), self._rows
        position = arrival_order.position(every, self._pipeline)
        firsts = self._store.keep("first_rows", lambda: left_out.first_rows(every, position, among))
        return firsts, left_out.have_copies(firsts)

    @cached_property
    def placed(self) -> DataFrame:
        """The prepared rows with their epochs."""
        rows = self.prepared
        if self._pipeline.replay.in_rounds:
            read = self._store.keep("rounds", lambda: rounds.rounds(rows, self._pipeline))
            rows = rounds.placed(rows, read, self._pipeline)
        return arrival_order.with_epoch(self._ordered(rows), self._pipeline)

    def filling_of(self, part: Slice) -> DataFrame:
        """Return the placed rows that fill windows of the slice; rows that are numbered must all be read for it."""
        if arrival_order.is_numbered(self._pipeline) or self._pipeline.replay.in_rounds:
            return super().filling_of(part)
        return arrival_order.with_epoch(self.prepared_of(part), self._pipeline)

    def _ordered(self, rows: DataFrame) -> DataFrame:
        """Return rows with `ORDER` if aggregates read it."""
        if not reads_order(self._pipeline):
            return rows
        return rows.withColumn(c.ORDER, arrival_order.position(rows, self._pipeline))

    def prepared_of(self, part: Slice) -> DataFrame:
        """Return the prepared rows that fill windows of the slice, without epochs; with `ORDER` if aggregates read it.

        It reads no more than `reaching`.
        """
        pipeline = self._pipeline
        if pipeline.replay.in_rounds and reads_order(pipeline):
            # The position of a row depends on the rounds.
            return super().filling_of(part)
        read = reaching(self._events, pipeline, part)
        rows = self.prepared if read is self._events else self._without_duplicates(prepare(read, pipeline))
        return self._ordered(rows.where(fills_windows() & part.reaches_row(pipeline.windows)))


def reaching(events: DataFrame, pipeline: Pipeline, part: Slice) -> DataFrame:
    """Return the source rows among which are all that fill windows of the slice.

    If the event time is a plain timestamp, only files that can hold such rows are read. An expression has no
    statistics: then the result is `events`.
    """
    event_time = pipeline.source.event_time.expression
    is_time = isinstance({f.name: f.dataType for f in events.schema}.get(event_time), T.TimestampType)
    if not is_time or (part.start_ms is None and part.end_ms is None):
        return events
    return events.where(_may_reach(F.col(quoted(event_time)), part, pipeline.windows.longest_ms))


def _may_reach(event_time: Column, part: Slice, longest_ms: int) -> Column:
    """Return whether a window of at most `longest_ms` with this time may be in the slice; Delta skips files by it."""
    return reduce(Column.__or__, (_may_be_between(event_time, *piece, longest_ms) for piece in part.pieces_ms))


def _may_be_between(event_time: Column, start_ms: int | None, end_ms: int | None, longest_ms: int) -> Column:
    is_between = F.lit(True)
    if start_ms is not None:
        is_between = is_between & (event_time >= F.timestamp_millis(F.lit(start_ms)))
    if end_ms is not None:
        is_between = is_between & (event_time < F.timestamp_millis(F.lit(end_ms + longest_ms)))
    return is_between


def _completed(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return source rows with computed columns; those of several sources are computed source by source."""
    return events if pipeline.sources else with_computed(events, pipeline.source)
