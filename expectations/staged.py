"""What a run of windows has staged, reduced to the columns that laws look at.

Of the source's own columns nothing but the key is kept, as `key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.staged_tables import WINDOW, StagedTables
from spark_jobs.pipeline.checks import COMPLETE_TABLE
from spark_jobs.replay.retractions import IS_RETRACTION, left_out, retracts

#: The columns of each table that laws look at, besides the key.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "watermarks": (*WINDOW, "fires_at", "watermark_at_fire", "closes_at", "partition_watermarks"),
    "panes": (*WINDOW, "pane_index", "timing", "fired_at", "watermark", "row_count"),
    "window_results": (*WINDOW, "pane_count", "row_count", "too_late_count", "last_fired_at"),
    "late_events": (*WINDOW, "event_time", "arrival_time", "watermark", "late_by_ms"),
    "invalid_events": ("reason",),
}
#: Those of the complete results.
COMPLETE = (*WINDOW, "row_count", "missed_rows", "is_shown", "faithful")
_KEYED = ("panes", "window_results", "late_events")
_COUNTS = ("rows_read", "filtered")


class Staged(StagedTables):
    """The reduced tables of a run, its pipeline, and the counts that its steps reported."""

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar."""
        return self._reduced("watermarks")

    @cached_property
    def calendar(self) -> DataFrame:
        """One row a window, to be joined by `window_start`, even where the staged calendar holds a window twice."""
        times = self.watermarks.select("window_start", "fires_at", "watermark_at_fire", "closes_at")
        return F.broadcast(times.dropDuplicates(["window_start"]))

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing, with `key`; without retractions."""
        return left_out(self._every_pane, self.pipeline)

    @cached_property
    def retractions(self) -> DataFrame:
        """What is withdrawn, with `key`, of a pipeline that retracts."""
        return self._every_pane.where(IS_RETRACTION).drop(IS_RETRACTION)

    @cached_property
    def window_results(self) -> DataFrame:
        """Every result, with `key`."""
        return self._reduced("window_results")

    @cached_property
    def late_events(self) -> DataFrame:
        """Every row that no window took, with the `key` of the window it missed."""
        return self._reduced("late_events")

    @cached_property
    def complete_results(self) -> DataFrame:
        """Every complete result, with `key`, if there are any; `faithful_rows` are those that it says are shown."""
        faithful = F.col("faithful.row_count")
        if self.pipeline.windows.kind == "session":
            faithful = F.aggregate(faithful, F.lit(0).cast("long"), Column.__add__)
        told = self._tables[COMPLETE_TABLE].withColumn("faithful_rows", faithful)
        return self._keep(told.select(self._key().alias("key"), *COMPLETE[:-1], "faithful_rows"))

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The reason of every row without a usable time."""
        return self._reduced("invalid_events")

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        key = self.pipeline.windows.key
        looked_at = {table: (*(key if table in _KEYED else ()), *self._own(table)) for table in COLUMNS}
        return {**looked_at, COMPLETE_TABLE: (*key, *COMPLETE)} if self.pipeline.is_complete else looked_at

    @property
    def _needed_counts(self) -> tuple[str, ...]:
        return _COUNTS

    def _own(self, table: str) -> tuple[str, ...]:
        marked = (IS_RETRACTION,) if table == "panes" and retracts(self.pipeline) else ()
        return (*COLUMNS[table], *marked)

    def _reduced(self, table: str) -> DataFrame:
        key = [self._key().alias("key")] if table in _KEYED else []
        return self._keep(self._tables[table].select(*key, *self._own(table)))

    @cached_property
    def _every_pane(self) -> DataFrame:
        """Firings, and what is withdrawn."""
        return self._reduced("panes")

    def _key(self) -> Column:
        names = self.pipeline.windows.key
        # Spark groups by no empty struct: one group for all is the key null.
        return F.struct(*(F.col(f"`{name}`").alias(name) for name in names)) if names else F.lit(None).cast("string")
