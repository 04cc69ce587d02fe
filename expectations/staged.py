"""What a run has staged, reduced to the columns that laws look at.

The key is one struct column, `key`, so that a null in it is a value like any other wherever rows are grouped, and so
that no name of the user's can meet a name of ours. Of the source's own columns nothing else is kept. The reduced tables
are small beside the source and are read by several suites: Spark keeps them from the first look until `release`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.retractions import IS_RETRACTION, left_out, retracts

_WINDOW = ("window_start", "window_end")

#: The columns of each table that laws look at, besides the key.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "watermarks": (*_WINDOW, "fires_at", "watermark_at_fire", "closes_at", "partition_watermarks"),
    "panes": (*_WINDOW, "pane_index", "timing", "fired_at", "watermark", "row_count"),
    "window_results": (*_WINDOW, "pane_count", "row_count", "too_late_count", "last_fired_at"),
    "late_events": (*_WINDOW, "event_time", "arrival_time", "watermark", "late_by_ms"),
    "invalid_events": ("reason",),
}
_KEYED = ("panes", "window_results", "late_events")
_COUNTS = ("rows_read", "filtered")


class Staged:
    """The reduced tables of a run, its pipeline, and the counts that its steps reported."""

    def __init__(self, tables: Mapping[str, DataFrame], pipeline: Pipeline, counts: Mapping[str, int]) -> None:
        """Take the staged tables by name. Raises AuditError for a table, column or count that is not there."""
        self.pipeline = pipeline
        self.counts = counts
        self._tables = tables
        self._kept: dict[str, DataFrame] = {}
        for table, names in self._columns.items():
            if table not in tables:
                raise AuditError(
                    f"asked for the staged table {table}, found only {', '.join(sorted(tables)) or 'none'}"
                )
            there = {name.lower() for name in tables[table].columns}
            keys = pipeline.windows.key if table in _KEYED else ()
            if missing := [name for name in (*keys, *names) if name.lower() not in there]:
                raise AuditError(f"the staged table {table} has no column {', '.join(missing)}; stage the run again")
        if missing := [name for name in _COUNTS if name not in counts]:
            raise AuditError(f"the replay reported no {' and no '.join(missing)}; run the replay step again")

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
        return left_out(self._reduced("panes"), self.pipeline)

    @cached_property
    def retractions(self) -> DataFrame:
        """What is withdrawn, with `key`, of a pipeline that retracts."""
        return self._reduced("panes").where(IS_RETRACTION).drop(IS_RETRACTION)

    @cached_property
    def window_results(self) -> DataFrame:
        """Every result, with `key`."""
        return self._reduced("window_results")

    @cached_property
    def late_events(self) -> DataFrame:
        """Every row that no window took, with the `key` of the window it missed."""
        return self._reduced("late_events")

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The reason of every row without a usable time."""
        return self._reduced("invalid_events")

    def release(self) -> None:
        """Let Spark forget what it kept."""
        for table in self._kept.values():
            table.unpersist()
        self._kept.clear()

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        marked = (IS_RETRACTION,) if retracts(self.pipeline) else ()
        return {**COLUMNS, "panes": (*COLUMNS["panes"], *marked)}

    def _reduced(self, table: str) -> DataFrame:
        if table not in self._kept:
            key = [self._key().alias("key")] if table in _KEYED else []
            self._kept[table] = self._tables[table].select(*key, *self._columns[table]).persist()
        return self._kept[table]

    def _key(self) -> Column:
        names = self.pipeline.windows.key
        # Spark groups by no empty struct: one group for all is the key null.
        return F.struct(*(F.col(f"`{name}`").alias(name) for name in names)) if names else F.lit(None).cast("string")
