"""One replay: events and a pipeline in, the published tables' contents out, nothing read or written before it is asked.

The steps are functions of DataFrames, so that a job can store what lies between two of them (the census, the calendar,
the late rows) and go on from what it stored.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import (
    complete_results,
    late_panes,
    on_time_panes,
    pane_contents,
    per_epoch,
    retractions,
    triggers,
)
from spark_jobs.replay.rows import arrival_order, timestamps, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import fills_windows, moves_watermark, prepare, source_columns
from spark_jobs.replay.sessions import complete_sessions, session_components, session_panes, session_scan
from spark_jobs.replay.supported import require_firing, require_support
from spark_jobs.replay.watermark import combined, rounds, timeline
from spark_jobs.replay.watermark.census import census, gathered, moving
from spark_jobs.replay.windows import late_events, lateness, window_slices
from spark_jobs.replay.windows.calendar import calendar

_CALENDAR_TIMES = ("window_start", "window_end", "fires_at", "watermark_at_fire", "closes_at")


class Replay:
    """The result: lazy DataFrames with the columns of the published tables, `run_id` apart.

    Nothing is read before the first of them is asked for. Then the census, the calendar and the late rows, each asked
    for by several of the others, are computed once and kept in Spark's storage as long as this object lives.
    """

    def __init__(self, events: DataFrame, pipeline: Pipeline, until_us: int | None) -> None:
        self._pipeline = pipeline
        self._until_us = until_us
        self._prepared = prepare(events, pipeline)

    @cached_property
    def _rows(self) -> DataFrame:
        placed = self._prepared
        if rounds.are_made(self._pipeline):
            read = rounds.rounds(self._prepared, self._pipeline).localCheckpoint()
            placed = rounds.placed(self._prepared, read, self._pipeline)
        return arrival_order.with_epoch(placed, self._pipeline)

    @cached_property
    def _moving(self) -> DataFrame:
        return self._rows.where(moves_watermark(self._pipeline))

    @cached_property
    def _filling(self) -> DataFrame:
        return self._rows.where(fills_windows())

    @cached_property
    def census(self) -> DataFrame:
        """Rows counted by source partition, epoch and window (see `census.census`)."""
        return gathered(census(self._rows, self._pipeline).localCheckpoint())

    @cached_property
    def timeline(self) -> DataFrame:
        """The advances of the combined watermark (see `timeline.advances`)."""
        told = (moving(self.census, self._pipeline), self._moving, self._pipeline)
        return timeline.advances(*told, until_us=self._until_us).localCheckpoint()

    @property
    def _advances(self) -> DataFrame | None:
        """The timeline, where it is all that tells the watermark."""
        return self.timeline if timeline.tells_all(self._pipeline) else None

    @cached_property
    def calendar(self) -> DataFrame:
        """When each window fires and closes (see `calendar.calendar`)."""
        told = (self.census, self._moving, self._pipeline)
        return calendar(*told, until_us=self._until_us, advances=self._advances).localCheckpoint()

    @cached_property
    def late_rows(self) -> DataFrame:
        """The rows behind the firing of a window of theirs (see `late_events.late_rows`)."""
        behind = late_events.behind(self._filling, self.calendar, self._pipeline)
        epochs = late_events.epochs(self.census, self.calendar, self._pipeline)
        if epochs is None:
            behind = behind.localCheckpoint()
            epochs = late_events.epochs_of(behind)
        missed = self._missed(epochs)
        return late_events.late_rows(behind, missed, self._pipeline).localCheckpoint()

    def _missed(self, epochs: DataFrame) -> DataFrame:
        told = (self.census, self._pipeline, self._moving)
        return late_events.missed_watermarks(epochs, *told, advances=self._advances)

    @cached_property
    def _on_time(self) -> DataFrame:
        return lateness.on_time(self._filling, self.calendar, self._pipeline.windows)

    @property
    def _several(self) -> DataFrame | None:
        """The late rows, where they may be on time for other windows of theirs."""
        return self.late_rows if window_assigners.overlap(self._pipeline.windows) else None

    @cached_property
    def _on_time_panes(self) -> DataFrame:
        return on_time_panes.on_time_panes(self._on_time, self._several, self.calendar, self._pipeline)

    @cached_property
    def _late_panes(self) -> DataFrame:
        late = window_slices.late_pairs(self.late_rows, self._pipeline)
        pairs = window_slices.on_time_pairs(self._on_time, self._several, self._pipeline)
        return late_panes.late_panes(late, pairs, self._on_time_panes, self._pipeline, self._emissions)

    @property
    def _emissions(self) -> DataFrame | None:
        """When late rows that are gathered fire."""
        if not per_epoch.gathers(self._pipeline):
            return None
        epochs = late_events.epochs_of(self.late_rows)
        return per_epoch.emissions(epochs, self.census, self._pipeline, until_us=self._until_us)

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing, and with retracting accumulation what it withdraws."""
        first, late = self._on_time_panes.select(self._late_panes.columns), self._late_panes
        every = first.unionByName(late)
        if not retractions.retracts(self._pipeline):
            return every
        return retractions.kept(every).unionByName(retractions.between(first, late, self._pipeline))

    @cached_property
    def window_results(self) -> DataFrame:
        """The latest pane of every (key, window)."""
        missed = window_slices.missed(self.late_rows, self._pipeline)
        return on_time_panes.window_results(self._on_time_panes, self._late_panes, missed, self._pipeline)

    @cached_property
    def complete_results(self) -> DataFrame:
        """What all rows of each window say, and what its result lacks (see `complete`); whatever `replay.mode` is."""
        book, results, pipeline = self.calendar, self.window_results, self._pipeline
        rows = self._prepared.where(fills_windows())
        if complete_results.results_lack_only_dropped_rows(source_columns(rows), pipeline):
            dropping = complete_results.dropping(self.late_rows, pipeline).localCheckpoint()
            return complete_results.of_dropping(rows, dropping, results, book, pipeline)
        shown = self.panes if pane_contents.discards(pipeline) else None
        return complete_results.of_all(rows, results, shown, book, pipeline)

    @cached_property
    def late_events(self) -> DataFrame:
        """The rows that no window took; none where they are dropped."""
        return late_events.late_events(self.late_rows, self._pipeline)

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The rows without a usable time."""
        return late_events.invalid_events(self._prepared, self._pipeline)

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar."""
        return watermarks(self.calendar, self._pipeline)

    @cached_property
    def drift(self) -> DataFrame:
        """How far partitions ran ahead of the slowest, in the order of offsets (see `rounds.drift`); else empty."""
        if not rounds.are_made(self._pipeline):
            return rounds.no_drift(self._prepared.sparkSession)
        return rounds.drift(self._prepared, self._pipeline)


class TriggeredReplay(Replay):
    """The result for windows that do not wait for their end: panes by the advances of the watermark, or by rows."""

    @cached_property
    def _firings(self) -> DataFrame:
        groups = moving(self.census, self._pipeline)
        in_time, late = triggers.accepted(self._on_time, self.late_rows, groups, self.timeline, self._pipeline)
        fire = triggers.by_timeline(self.timeline, groups, self._pipeline, until_us=self._until_us)
        return triggers.panes(in_time, late, fire, self._pipeline).localCheckpoint()

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing, and with retracting accumulation what it withdraws."""
        if not retractions.retracts(self._pipeline):
            return self._firings
        return retractions.kept(self._firings).unionByName(retractions.among(self._firings, self._pipeline))

    @cached_property
    def window_results(self) -> DataFrame:
        """The latest pane of every (key, window)."""
        missed = window_slices.missed(self.late_rows, self._pipeline)
        return pane_contents.window_results(self._firings, missed, self._pipeline)


class SessionReplay(Replay):
    """The result for session windows: clean components in SQL, the rows of all others scanned."""

    @cached_property
    def _census_moving(self) -> DataFrame:
        return moving(self.census, self._pipeline)

    @cached_property
    def _before(self) -> DataFrame:
        return timeline.before(self._census_moving, self.timeline, self._pipeline).localCheckpoint()

    @cached_property
    def components(self) -> DataFrame:
        """What each key's rows fall into (see `session_components.components`)."""
        return session_components.components(self._filling, self._before, self._pipeline).localCheckpoint()

    @cached_property
    def _unclean(self) -> DataFrame:
        return session_components.unclean(self.components, self._pipeline).localCheckpoint()

    @cached_property
    def _ranked(self) -> DataFrame:
        rows = session_components.rows_of(self._unclean, self._filling, self._pipeline).localCheckpoint()
        if timeline.tells_single_rows(self._pipeline):
            return session_scan.ranked(timeline.judged(rows, self._before, self._pipeline)).localCheckpoint()
        missed = self._missed(late_events.epochs_of(rows))
        return session_scan.ranked(rows.join(missed, c.EPOCH)).localCheckpoint()

    @cached_property
    def _scanned(self) -> DataFrame:
        return session_scan.scanned(self._ranked, self._pipeline).localCheckpoint()

    @cached_property
    def _clean_panes(self) -> DataFrame:
        told = (self.timeline, self._census_moving, self._pipeline)
        return session_panes.clean_panes(self.components, *told, until_us=self._until_us)

    @cached_property
    def _scanned_panes(self) -> DataFrame:
        told = (self.timeline, self._census_moving, self._pipeline)
        firings = session_panes.firings(self._scanned, *told, until_us=self._until_us)
        return session_panes.scanned_panes(firings, self._ranked, self._scanned, self._pipeline).localCheckpoint()

    @cached_property
    def late_rows(self) -> DataFrame:
        """The rows that no session took (see `session_panes.too_late_rows`)."""
        return session_panes.too_late_rows(self._ranked, self._scanned)

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing, and with retracting accumulation what it withdraws."""
        every = self._clean_panes.unionByName(self._scanned_panes.select(self._clean_panes.columns))
        if not retractions.retracts(self._pipeline):
            return every
        return retractions.kept(every).unionByName(session_panes.retracted(self._scanned_panes))

    @cached_property
    def window_results(self) -> DataFrame:
        """The latest pane of every session that no other has swallowed."""
        return session_panes.window_results(self._clean_panes, self._scanned_panes, self.late_rows, self._pipeline)

    @cached_property
    def complete_results(self) -> DataFrame:
        """What all rows of each session say, and what its results lack (see `complete_sessions`)."""
        rows = self._prepared.where(fills_windows())
        fire = triggers.by_timeline(self.timeline, self._census_moving, self._pipeline, until_us=self._until_us)
        told = (rows, self.components, self._unclean, self._scanned_panes)
        return complete_sessions.results(*told, fire, self._pipeline)

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar: empty, since a session is its key's own."""
        return no_watermarks(self.census.sparkSession)


def replay(events: DataFrame, pipeline: Pipeline, *, until: datetime | None = None) -> Replay:
    """Replay `events` as `pipeline` declares.

    `events` has the source's columns, in any order and partitioning of rows. `until` (aware) is how far the arrival
    clock is known to have gone, if further than the last row: emissions up to it happen. Raises TimeFieldError when a
    time column has another type than declared, UnsupportedPipelineError for windows or watermarks that Spark does not
    have, GeneratorError for a custom watermark whose class is not there, and Spark's AnalysisException for columns that
    do not exist.
    """
    require_support(pipeline)
    require_firing(events.columns, pipeline)
    plain = Replay if triggers.is_default(pipeline) else TriggeredReplay
    kind = SessionReplay if pipeline.windows.kind == window_assigners.SESSION else plain
    return kind(events, pipeline, None if until is None else timestamps.literal_millis(until) * 1000)


def no_watermarks(spark: SparkSession) -> DataFrame:
    """A calendar without windows, with the columns of the published table `watermarks`."""
    partition = "array<struct<source_partition: string, watermark: timestamp>>"
    times = ", ".join(f"{n} timestamp" for n in _CALENDAR_TIMES)
    return spark.createDataFrame([], f"{times}, partition_watermarks {partition}")


def watermarks(book: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The calendar `book` as the columns of the published table `watermarks`."""
    start = F.col("window_ms")
    reached = F.when(F.col("fires_epoch").isNotNull(), timestamps.from_millis(F.col("watermark_ms")))
    at_end = F.when(F.col("fires_us").isNotNull(), timestamps.end_of_input())
    return book.where("holds").select(
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(start + F.lit(pipeline.windows.size_ms)).alias("window_end"),
        F.timestamp_micros("fires_us").alias("fires_at"),
        F.coalesce(reached, at_end).alias("watermark_at_fire"),
        F.timestamp_micros("closes_us").alias("closes_at"),
        combined.of_partitions(F.col("partition_watermarks")).alias("partition_watermarks"),
    )
