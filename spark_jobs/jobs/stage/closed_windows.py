"""What a run that goes on stages beside its windows: what has come for the windows that were closed before it.

    late_events      rows that came for a window that was closed: added
    watermarks       windows that no row had come for: added
    window_results   results of windows that have missed a row more: in place of all results of these windows
    invalid_events   rows without a usable time: added
    advances         emissions that a later run may go on from: added

All other windows it replaces, as a replay of a part of time does. No law of the audit is about these rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.row_counts import windows_of
from spark_jobs.jobs.stage.slices import Slice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.engine import watermarks
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps, window_assigners
from spark_jobs.replay.rows.prepare import quoted
from spark_jobs.replay.windows import calendar, late_events, window_slices
from spark_jobs.session import interpreting
from spark_jobs.tables import pruning, staging
from spark_jobs.tables.lake import Lake, behind_folder
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_as_of

_COUNT = c.PREFIX + "missed"


class BehindStaging:
    """Stages what a run that goes on adds to closed windows."""

    def __init__(
        self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, base: Run, resumed: Resumption
    ) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._base, self._resumed = base, resumed
        self._slice = Slice("behind", None, resumed.oldest_ms)

    def reached(self) -> Column:
        """Whether a prepared row that fills windows has come for one of the closed ones."""
        return self._has_come() & self._slice.reaches(*windows_of(self._pipeline))

    def reached_by_groups(self) -> Column:
        """Whether a group of the census may hold such a row."""
        return self._slice.reaches(
            window_assigners.oldest_ms(F.col("slice_ms"), self._pipeline.windows), F.col("window_ms")
        )

    def _has_come(self) -> Column:
        """Whether a prepared row had not been read by the run before."""
        return F.col(c.CLOCK_US) >= F.lit(self._resumed.covered_us)

    def write(
        self, pool: ThreadPoolExecutor, groups: DataFrame, prepared: DataFrame, emissions: Callable[[], DataFrame]
    ) -> list[Future[None]]:
        """Stage, in `pool`, what does not wait for late rows.

        `groups` is the census, `prepared` are the rows made ready, `emissions` gives `resume.emissions`.
        """
        later = F.col("emitted_at") > F.timestamp_micros(F.lit(self._resumed.covered_us))
        return [
            pool.submit(lambda: self._stage(self._windows(groups), "watermarks")),
            pool.submit(lambda: self._stage(self._invalid(prepared), "invalid_events")),
            pool.submit(lambda: self._stage(emissions().where(later), "advances")),
        ]

    def write_late(self, pool: ThreadPoolExecutor, late: DataFrame) -> list[Future[None]]:
        """Stage, in `pool`, what late rows say of the closed windows; `late` may hold others too."""
        return [
            pool.submit(self._stage, late_events.late_events(self._told(late), self._pipeline), "late_events"),
            pool.submit(self._results, late.where(self._has_come())),
        ]

    def late_counts(self, late: DataFrame) -> dict[str, int]:
        """How many of the rows of `write_late` came too late for closed windows."""
        return {"too_late_behind": self._told(late).where(c.TOO_LATE).count()}

    def counts(self) -> dict[str, int]:
        """How many rows that have come are invalid, when they are staged."""
        invalid = staging.row_count(self._spark, self._lake, behind_folder(self._run.run_id), "invalid_events")
        return {"invalid_behind": invalid}

    def _told(self, late: DataFrame) -> DataFrame:
        """Those of the late rows that have come, and whose newest window is a closed one."""
        return late.where(self._has_come() & self._slice.holds(F.col(c.WINDOW_MS)))

    def _windows(self, groups: DataFrame) -> DataFrame:
        """The calendar of closed windows that rows have come for, and none before."""
        kept = resume.advances(read_as_of(interpreting(self._spark), self._lake, self._base, "advances"))
        came = groups.where(F.col("last_clock_us") >= F.lit(self._resumed.covered_us))
        asked = calendar.asked_windows(came, self._pipeline).where(self._slice.holds(F.col("window_ms")))
        book = calendar.marked(calendar.read_off(asked, kept, self._pipeline), came, self._pipeline)
        found = watermarks(book, self._pipeline).localCheckpoint()
        known = pruning.matching(self._published("watermarks"), "window_start", found)
        return found.join(known.select("window_start"), "window_start", "left_anti")

    def _results(self, late: DataFrame) -> None:
        """All results of the closed windows that have missed a row more."""
        names = [*self._pipeline.windows.key, "window_start"]
        missed = window_slices.missed(late, self._pipeline).where(self._slice.holds(F.col(c.WINDOW_MS)))
        start = timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start")
        more = missed.select(*keys.key_columns(self._pipeline), start, "too_late_count")
        counts = more.groupBy(*map(quoted, names)).agg(F.sum("too_late_count").alias(_COUNT)).localCheckpoint()
        shown = pruning.matching(self._published("window_results"), "window_start", counts)
        columns = [name for name in shown.columns if name != "run_id"]
        count = F.col("too_late_count") + F.coalesce(F.col(_COUNT), F.lit(0))
        updated = keys.beside(shown, counts, names).withColumn("too_late_count", count)
        self._stage(updated.select(*map(quoted, columns)), "window_results")

    def _invalid(self, prepared: DataFrame) -> DataFrame:
        """Rows without a usable time that have come; of those that never say when, those that are new."""
        invalid = late_events.invalid_events(prepared.where(self._has_come()), self._pipeline)
        never = late_events.invalid_events(prepared.where(F.col(c.CLOCK_US).isNull()), self._pipeline)
        if never.isEmpty():
            return invalid
        known = self._published("invalid_events").select(*map(quoted, never.columns))
        return invalid.unionByName(never.exceptAll(known))

    def _published(self, table: str) -> DataFrame:
        return read_as_of(self._spark, self._lake, self._base, table)

    def _stage(self, rows: DataFrame, table: str) -> None:
        folder = behind_folder(self._run.run_id)
        staging.stage(rows, self._lake, self._run.run_id, table, "behind", folder=folder)
