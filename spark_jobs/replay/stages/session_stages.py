"""Stages of sessions: clean components in SQL, the rows of all others scanned.

Components know no slices: all of them are computed in one shuffle. A slice writes the panes whose window starts in it,
so each pane belongs to exactly one of any slices next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.panes import retractions
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import complete_sessions, session_components, session_panes, session_scan
from spark_jobs.replay.sessions.session_components import LAST_TS_MS
from spark_jobs.replay.stages.stages import RETRACTIONS, Write
from spark_jobs.replay.watermark import row_watermarks, timeline
from spark_jobs.replay.windows import late_events
from spark_jobs.replay.windows.slice import Slice
from spark_jobs.semantics.panes.window_operator import Timing

_CLEAN, _SCANNED = "clean", "scanned"


class SessionStages:
    """The stages of the sessions that start in a slice.

    Components that do not reach the slice are left out after the one shuffle of all rows.
    """

    def __init__(self, ground: Ground, part: Slice) -> None:
        self._ground, self._part = ground, part
        self._pipeline, self._store = ground.pipeline, ground.store

    @property
    def awaits_late_rows(self) -> bool:
        """False: clean components have no late row."""
        return False

    @cached_property
    def _before(self) -> DataFrame:
        ground = self._ground
        return self._store.keep("before", lambda: timeline.before(ground.moving, ground.timeline, self._pipeline))

    @cached_property
    def components(self) -> DataFrame:
        """The components of each key's rows (`session_components.components`)."""
        components = session_components.components(self._ground.rows.filling, self._before, self._ground.compiled)
        return self._store.keep("components", lambda: components)

    @property
    def _own_components(self) -> DataFrame:
        """The components that may have a session in the slice: their rows are in no other component."""
        if self._part.start_ms is None and self._part.end_ms is None:
            return self.components
        return self.components.where(self._part.meets(F.col(c.WINDOW_MS), F.col(LAST_TS_MS)))

    @cached_property
    def unclean(self) -> DataFrame:
        """The components whose rows are scanned (`session_components.unclean`)."""
        return self._store.keep("unclean", lambda: session_components.unclean(self._own_components, self._pipeline))

    @cached_property
    def unclean_rows(self) -> DataFrame:
        """The rows of unclean components (`session_components.rows_of`)."""
        rows = session_components.rows_of(self.unclean, self._ground.rows.filling, self._pipeline)
        return self._store.keep("unclean_rows", lambda: rows)

    @cached_property
    def ranked(self) -> DataFrame:
        """The rows of unclean components in the order of the scan (`session_scan.ranked`)."""
        return self._store.keep("ranked", lambda: session_scan.ranked(self._judged(self.unclean_rows)))

    def _judged(self, rows: DataFrame) -> DataFrame:
        """Return `rows` with `WATERMARK_MS`, the watermark before each.

        With the default trigger, what an identical row emits decides nothing: the epoch has one watermark.
        """
        ground = self._ground
        if timeline.is_exact_by_row(self._pipeline):
            return timeline.judged(rows, self._before, self._pipeline)
        if not self._pipeline.windows.trigger.is_default:
            return row_watermarks.beside(rows, ground.moving, ground.timeline, self._pipeline)
        return rows.join(ground.missed_watermarks(late_events.epochs_of(rows)), c.EPOCH)

    @cached_property
    def scanned(self) -> DataFrame:
        """The panes and rows that result from the scan (`session_scan.scanned`)."""
        return self._store.keep("scan", lambda: session_scan.scanned(self.ranked, self._pipeline))

    @cached_property
    def clean_panes(self) -> DataFrame:
        """The panes of clean components (`session_panes.clean_panes`)."""
        ground = self._ground
        return session_panes.clean_panes(
            self._own_components, ground.timeline, ground.moving, self._pipeline, until_us=ground.until_us
        )

    @cached_property
    def scanned_panes(self) -> DataFrame:
        """The panes of unclean components (`session_panes.scanned_panes`)."""
        ground = self._ground
        firings = session_panes.firings(
            self.scanned, ground.timeline, ground.moving, self._pipeline, until_us=ground.until_us
        )
        panes = session_panes.scanned_panes(firings, self.ranked, self.scanned, ground.compiled)
        return self._store.keep("panes_of_scan", lambda: panes)

    @cached_property
    def late_rows(self) -> DataFrame:
        """The rows that no session took (`session_panes.too_late_rows`)."""
        return session_panes.too_late_rows(self.ranked, self.scanned)

    @property
    def first_panes(self) -> Sequence[Write]:
        """Compute the components; then write the panes of clean components."""
        return [partial(self._write_panes, _CLEAN, self.clean_panes)]

    @property
    def more_panes(self) -> Sequence[Write]:
        """Compute the panes of unclean components; then write them, by timing, and what they withdraw."""
        panes = self.scanned_panes.select(self.clean_panes.columns)
        timings = (Timing.ON_TIME, Timing.LATE) if self._pipeline.windows.trigger.is_default else tuple(Timing)
        of_timing = [
            partial(self._write_panes, f"{_SCANNED}/{timing.value}", panes.where(F.col("timing") == timing.value))
            for timing in timings
        ]
        return [*of_timing, *([self._write_retractions] if self._pipeline.windows.retracts else [])]

    @property
    def late_events(self) -> Sequence[Write]:
        """Scan the unclean components; then write the rows that no session took."""
        untaken = late_events.late_events(self.late_rows, self._pipeline)
        return [partial(self._write, "late_events", "all", untaken)]

    def write_results(self) -> None:
        """Write the latest pane of every session that was not merged into another."""
        results = session_panes.window_results(self.clean_panes, self.scanned_panes, self.late_rows, self._pipeline)
        self._write("window_results", "all", results)

    def write_complete(self) -> None:
        """Write the sessions that all rows of each key give, late or not."""
        ground = self._ground
        complete = complete_sessions.results(
            ground.rows.filling, self.components, self.unclean, self.scanned_panes, ground.fire, ground.compiled
        )
        self._write(COMPLETE_TABLE, "all", complete)

    def _write_panes(self, part: str, panes: DataFrame) -> None:
        marked = retractions.with_mark(panes) if self._pipeline.windows.retracts else panes
        self._write("panes", part, marked)

    def _write_retractions(self) -> None:
        self._write("panes", f"{_SCANNED}/{RETRACTIONS}", session_panes.retracted(self.scanned_panes))

    def _write(self, table: str, part: str, frame: DataFrame) -> None:
        self._store.write(table, part, frame.where(self._part.holds("unix_millis(window_start)")))
