"""Closed windows: what a run that goes on adds to windows that were closed before the oldest that it replaces.

    late_events      rows that came for a closed window: added
    watermarks       closed windows that no row had come for: added
    window_results   results of closed windows that have missed a row more: in place of all results of these windows
    invalid_events   rows without a usable time: added

A row has come for this run if the run before had not read it: its arrival clock is at or after `covered_us`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.windows import calendar, late_events, watermarks_table, window_slices
from spark_jobs.replay.windows.slice import Slice

_COUNT = c.PREFIX + "missed"


class ClosedWindows:
    """The windows that a resumption has closed, and the rows that have come for them."""

    def __init__(self, pipeline: Pipeline, resumed: Resumption) -> None:
        self._pipeline, self.resumed = pipeline, resumed
        self._slice = Slice("behind", None, resumed.oldest_ms)

    def has_come(self) -> Column:
        """Return whether the run before had not read a prepared row."""
        return F.col(c.CLOCK_US) >= F.lit(self.resumed.covered_us)

    def reached(self) -> Column:
        """Return whether a prepared row that fills windows has come for a closed window."""
        return self.has_come() & self._slice.reaches_row(self._pipeline.windows)

    def reached_by_groups(self) -> Column:
        """Return whether a group of the census may hold such a row."""
        return self._slice.reaches_group(self._pipeline.windows)

    def late_rows(self, late: DataFrame) -> DataFrame:
        """Return the rows of `late` that have come, and whose newest window is closed."""
        return late.where(self.has_come() & self._slice.holds(c.WINDOW_MS))

    def late_events(self, late: DataFrame) -> DataFrame:
        """Return the columns of `late_events`, for `late_rows`."""
        return late_events.late_events(self.late_rows(late), self._pipeline)

    def later(self, emissions: DataFrame) -> DataFrame:
        """Return the rows of `resume.emissions` that the run before has not published."""
        return emissions.where(F.col("emitted_at") > F.timestamp_micros(F.lit(self.resumed.covered_us)))

    def watermarks(self, groups: DataFrame, emissions: DataFrame) -> DataFrame:
        """Compute the closed windows that rows have come for: the columns of `watermarks`.

        `groups` is the census, `emissions` the published table `advances`.
        """
        came = groups.where(F.col("last_clock_us") >= F.lit(self.resumed.covered_us))
        windows = calendar.windows_of_groups(came, self._pipeline).where(self._slice.holds("window_ms"))
        dated = calendar.read_off(windows, resume.advances(emissions), self._pipeline)
        return watermarks_table.rows(calendar.marked(dated, came, self._pipeline), self._pipeline)

    def missed_rows(self, late: DataFrame) -> DataFrame:
        """Count the too late rows that have come for each (key, closed window): the key, `window_start` and a count."""
        counts = window_slices.too_late_counts(late.where(self.has_come()), self._pipeline)
        start = timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start")
        inside = counts.where(self._slice.holds(c.WINDOW_MS))
        more = inside.select(*keys.key_columns(self._pipeline), start, "too_late_count")
        return more.groupBy(*map(quoted, self._names)).agg(F.sum("too_late_count").alias(_COUNT))

    def updated(self, results: DataFrame, counts: DataFrame) -> DataFrame:
        """Return published `results` with the counts of `missed_rows` added; all columns but `run_id`."""
        columns = [quoted(name) for name in results.columns if name != "run_id"]
        count = F.col("too_late_count") + F.coalesce(F.col(_COUNT), F.lit(0))
        beside = keys.beside(results, counts, self._names)
        return beside.withColumn("too_late_count", count).select(*columns)

    def invalid_events(self, prepared: DataFrame) -> DataFrame:
        """Return the rows without a usable time that have come."""
        return late_events.invalid_events(prepared.where(self.has_come()), self._pipeline)

    def undated_events(self, prepared: DataFrame) -> DataFrame:
        """Return the rows without a usable time or an arrival: no run knows if an earlier run read them."""
        return late_events.invalid_events(prepared.where(F.col(c.CLOCK_US).isNull()), self._pipeline)

    @property
    def _names(self) -> list[str]:
        return [*self._pipeline.windows.key, "window_start"]
