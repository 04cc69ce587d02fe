"""The rows that a run reads: prepared, each with its place in the order of arrival, and those of a slice's windows."""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs.stage.row_counts import windows_of
from spark_jobs.jobs.stage.slices import Slice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.prepare import fills_windows, moves_watermark, prepare, quoted
from spark_jobs.replay.watermark import rounds
from spark_jobs.tables.staging import Keep


class SourceRows:
    """The rows of `events`, which `source.events` or `arrival_slices.read` has given."""

    def __init__(self, events: DataFrame, pipeline: Pipeline, keep: Keep) -> None:
        self._events, self._pipeline, self._keep = events, pipeline, keep
        self.prepared = prepare(events, pipeline)

    @cached_property
    def placed(self) -> DataFrame:
        """The prepared rows with their epochs."""
        rows = self.prepared
        if rounds.are_made(self._pipeline):
            read = self._keep(rounds.rounds(rows, self._pipeline), "rounds")
            rows = rounds.placed(rows, read, self._pipeline)
        return arrival_order.with_epoch(rows, self._pipeline)

    @cached_property
    def moving(self) -> DataFrame:
        """Those that move the watermark."""
        return self.placed.where(moves_watermark(self._pipeline))

    @cached_property
    def filling(self) -> DataFrame:
        """Those that fill windows."""
        return self.placed.where(fills_windows())

    def filling_of(self, part: Slice) -> DataFrame:
        """Those that fill the slice's windows: of rows that are numbered all have to be read."""
        pipeline = self._pipeline
        if arrival_order.is_numbered(pipeline) or rounds.are_made(pipeline):
            return self.filling.where(part.reaches(*windows_of(pipeline)))
        return arrival_order.with_epoch(self.prepared_of(part), pipeline)

    def prepared_of(self, part: Slice) -> DataFrame:
        """Those that fill the slice's windows, without epochs; of a plain timestamp only files that can hold them."""
        pipeline, read = self._pipeline, self._events
        event_time, size = pipeline.source.event_time.expression, pipeline.windows.size_ms
        # An expression has no statistics.
        if isinstance({f.name: f.dataType for f in read.schema}.get(event_time), T.TimestampType):
            if part.start_ms is not None:
                read = read.where(F.col(quoted(event_time)) >= F.timestamp_millis(F.lit(part.start_ms)))
            if part.end_ms is not None:
                read = read.where(F.col(quoted(event_time)) < F.timestamp_millis(F.lit(part.end_ms + size)))
        rows = self.prepared if read is self._events else prepare(read, pipeline)
        return rows.where(fills_windows() & part.reaches(*windows_of(pipeline)))
