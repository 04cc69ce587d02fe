"""Stages of windows that fire at their end: an on-time pane for each (key, window), and a pane for late rows.

Late panes and results are computed from on-time panes as the store returns them, with the states of their aggregates.
Where a row has several windows, it may be late for one and on time for another: then on-time panes need the late rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from pyspark.sql import Column, DataFrame

from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.panes import (
    complete_results,
    late_panes,
    on_time_panes,
    per_epoch,
    retractions,
)
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import fills_windows, source_columns
from spark_jobs.replay.stages.stages import RETRACTIONS, Write
from spark_jobs.replay.windows import late_events, lateness, window_slices
from spark_jobs.replay.windows.slice import Slice

# The last words of the names of parts of `panes`.
_ON_TIME, _LATE = "on-time", "late"


class PaneStages:
    """The stages of one slice of windows with the default trigger.

    `with_closed`: the late rows of the slice include the rows that have come for windows closed before a resumption.
    """

    def __init__(self, ground: Ground, part: Slice, *, with_closed: bool = False) -> None:
        self._ground, self._part = ground, part
        self._pipeline, self._store = ground.pipeline, ground.store
        self._closed = ground.closed if with_closed else None

    @property
    def awaits_late_rows(self) -> bool:
        """Whether on-time panes read the late rows."""
        return self._pipeline.windows.is_sliding

    @cached_property
    def on_time(self) -> DataFrame:
        """The placed rows that are on time for all of their windows."""
        return lateness.on_time(self._filling, self._ground.calendar, self._pipeline.windows)

    @cached_property
    def _filling(self) -> DataFrame:
        return self._ground.rows.filling_of(self._part)

    @cached_property
    def late_rows(self) -> DataFrame:
        """The rows behind the firing of one of their windows (`late_events.late_rows`).

        Nothing is read if the census shows that no row is late.
        """
        pipeline, book, name, store = self._pipeline, self._ground.calendar, self._part.name, self._store
        groups = self._groups
        behind = late_events.behind(self._maybe_late, book, pipeline)
        epochs = late_events.epochs(groups, book, pipeline)
        if epochs is None:
            if not late_events.may_hold_late(groups, book, pipeline):
                behind = behind.limit(0)
            behind = store.keep(f"behind/{name}", lambda: behind, self._ground.plans)
            watermarks = self._ground.missed_watermarks(late_events.epochs_of(behind))
        else:
            compute = partial(self._ground.missed_watermarks, epochs)
            watermarks = store.keep(f"missed_watermarks/{name}", compute, self._ground.plans)
            if watermarks.isEmpty():
                behind = behind.limit(0)
        return store.keep(f"late_rows/{name}", lambda: late_events.late_rows(behind, watermarks, pipeline))

    @property
    def _groups(self) -> DataFrame:
        """The census groups that may hold late rows of the slice."""
        reached = self._part.reaches_group(self._pipeline.windows)
        if self._closed is not None:
            reached = reached | self._closed.reached_by_groups()
        return self._ground.census.where(reached)

    @property
    def _maybe_late(self) -> DataFrame:
        """The rows among which late rows are looked for."""
        if self._closed is None:
            return self._filling
        reached = self._part.reaches_row(self._pipeline.windows) | self._closed.reached()
        return self._ground.rows.placed.where(fills_windows() & reached)

    @property
    def _revising(self) -> DataFrame | None:
        """The late rows, if they may be on time for their other windows."""
        return self.late_rows if self._pipeline.windows.is_sliding else None

    @property
    def first_panes(self) -> Sequence[Write]:
        """Write the on-time panes."""
        return [self._write_on_time]

    @property
    def more_panes(self) -> Sequence[Write]:
        """Write the late panes, and then what they withdraw."""
        return [self._write_late]

    @property
    def late_events(self) -> Sequence[Write]:
        """Compute the late rows; then write those that no window of the slice took."""
        untaken = late_events.late_events(self.late_rows.where(self._owns_row()), self._pipeline)
        return [partial(self._store.write, "late_events", self._part.name, untaken)]

    def write_results(self) -> None:
        """Write the latest pane of every (key, window)."""
        self._store.write("window_results", self._part.name, self._results())

    def write_complete(self) -> None:
        """Write the results that all rows of the windows give, beside the results that were written."""
        complete = self._complete().where(self._owns_window())
        self._store.write(COMPLETE_TABLE, self._part.name, complete)

    def on_time_panes(self) -> DataFrame:
        """Compute the on-time pane of every (key, window) of the slice, with states (`on_time_panes.on_time_panes`)."""
        book = self._ground.calendar
        fired = on_time_panes.on_time_panes(self.on_time, self._revising, book, self._ground.compiled)
        return fired.where(self._owns_window())

    def _write_on_time(self) -> None:
        self._write_panes(self._marked(self.on_time_panes()), _ON_TIME)

    def _write_late(self) -> None:
        first = self._panes(_ON_TIME)
        pairs = window_slices.on_time_pairs(self.on_time, self._revising, self._pipeline)
        late = window_slices.late_pairs(self.late_rows, self._pipeline).where(self._owns_row())
        revised = late_panes.late_panes(late, pairs, first, self._ground.compiled, self._emissions)
        self._write_panes(self._marked(revised), _LATE)
        if self._pipeline.windows.retracts:
            again = self._panes(_LATE).select(revised.columns)
            withdrawn = retractions.between(first.select(revised.columns), again, self._pipeline)
            self._write_panes(withdrawn, RETRACTIONS)

    @property
    def _emissions(self) -> DataFrame | None:
        """When late rows fire, if those of one epoch fire together."""
        if not per_epoch.gathers(self._pipeline):
            return None
        epochs, ground = late_events.epochs_of(self.late_rows), self._ground
        return per_epoch.emissions(epochs, ground.census, self._pipeline, until_us=ground.until_us)

    def _results(self) -> DataFrame:
        return on_time_panes.window_results(
            self._panes(_ON_TIME), self._panes(_LATE), self._missed_rows(), self._pipeline
        )

    def _missed_rows(self) -> DataFrame:
        """Count the too late rows that each (key, window) of the slice has missed."""
        return window_slices.too_late_counts(self.late_rows, self._pipeline).where(self._owns_row())

    def _complete(self) -> DataFrame:
        pipeline, part, book = self._ground.compiled, self._part, self._ground.calendar
        rows, results = self._ground.rows.prepared_of(part), self._store.read("window_results", part.name)
        if complete_results.results_lack_only_dropped_rows(source_columns(rows), pipeline):
            dropping = complete_results.dropping(self.late_rows, pipeline).where(self._owns_row())
            dropping = self._store.keep(f"dropping/{part.name}", lambda: dropping)
            return complete_results.of_dropping(rows, dropping, results, book, pipeline)
        panes = self._every_pane() if pipeline.windows.discards else None
        return complete_results.of_all(rows, results, panes, book, pipeline)

    def _every_pane(self) -> DataFrame:
        return self._panes(_ON_TIME).unionByName(self._panes(_LATE), allowMissingColumns=True)

    def _marked(self, panes: DataFrame) -> DataFrame:
        """`panes`, marked as such if retractions stand beside them."""
        return retractions.with_mark(panes) if self._pipeline.windows.retracts else panes

    def _write_panes(self, panes: DataFrame, name: str) -> None:
        self._store.write("panes", f"{self._part.name}/{name}", panes)

    def _panes(self, name: str) -> DataFrame:
        return self._store.read("panes", f"{self._part.name}/{name}")

    def _owns_row(self) -> Column:
        """Whether the window in `WINDOW_MS` is in the slice."""
        return self._part.holds(c.WINDOW_MS)

    def _owns_window(self) -> Column:
        """Whether the window of a pane or result is in the slice."""
        return self._part.holds("unix_millis(window_start)")
