"""What a run that goes on stages beside its windows: what has come for the windows that were closed before it.

    late_events      rows that came for a window that was closed: added
    watermarks       windows that no row had come for: added
    window_results   results of windows that have missed a row more: in place of all results of these windows
    invalid_events   rows without a usable time: added
    advances         emissions that a later run may go on from: added

All other windows it replaces, as a replay of a part of time does. No law of the audit is about these rows alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.slices import Slice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay import calendar, keys, late_events, resume, timestamps, window_slices
from spark_jobs.replay import columns as c
from spark_jobs.replay.engine import watermarks
from spark_jobs.replay.events import quoted
from spark_jobs.replay.resume import Resumption
from spark_jobs.tables import pruning, staging
from spark_jobs.tables.lake import Lake, behind_folder
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published

_COUNT = c.PREFIX + "missed"


class BehindStaging:
    """Stages what a run that goes on adds to closed windows."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, resumed: Resumption) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._resumed = resumed
        self.slice = Slice("behind", None, resumed.oldest_ms)

    def has_come(self) -> Column:
        """Whether a prepared row had not been read by the run before."""
        return F.col(c.CLOCK_US) >= F.lit(self._resumed.covered_us)

    def write(self, late: DataFrame, groups: DataFrame, prepared: DataFrame, emissions: DataFrame) -> dict[str, int]:
        """Stage everything; returns how many rows came too late for closed windows, and how many are invalid.

        `late` are the late rows of `slice` that have come, `groups` is the census, `emissions` are `resume.emissions`.
        """
        missed = late.where(self.slice.holds(F.col(c.WINDOW_MS)))
        later = F.col("emitted_at") > F.timestamp_micros(F.lit(self._resumed.covered_us))
        with ThreadPoolExecutor(max_workers=4) as pool:
            beside = [
                pool.submit(self._results, late),
                pool.submit(lambda: self._stage(self._windows(groups), "watermarks")),
                pool.submit(lambda: self._stage(self._invalid(prepared), "invalid_events")),
                pool.submit(self._stage, late_events.late_events(missed, self._pipeline), "late_events"),
                pool.submit(self._stage, emissions.where(later), "advances"),
            ]
            for future in beside:
                future.result()
        too_late = missed.where(c.TOO_LATE).count()
        invalid = staging.row_count(self._spark, self._lake, behind_folder(self._run.run_id), "invalid_events")
        return {"too_late_behind": too_late, "invalid_behind": invalid}

    def _windows(self, groups: DataFrame) -> DataFrame:
        """The calendar of closed windows that rows have come for, and none before."""
        kept = resume.advances(self._published("advances"))
        came = groups.where(F.col("last_clock_us") >= F.lit(self._resumed.covered_us))
        asked = calendar.asked_windows(came, self._pipeline).where(self.slice.holds(F.col("window_ms")))
        book = calendar.marked(calendar.read_off(asked, kept, self._pipeline), came, self._pipeline)
        found = watermarks(book, self._pipeline).localCheckpoint()
        known = pruning.matching(self._published("watermarks"), "window_start", found)
        return found.join(known.select("window_start"), "window_start", "left_anti")

    def _results(self, late: DataFrame) -> None:
        """All results of the closed windows that have missed a row more."""
        names = [*self._pipeline.windows.key, "window_start"]
        missed = window_slices.missed(late, self._pipeline).where(self.slice.holds(F.col(c.WINDOW_MS)))
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
        invalid = late_events.invalid_events(prepared.where(self.has_come()), self._pipeline)
        never = late_events.invalid_events(prepared.where(F.col(c.CLOCK_US).isNull()), self._pipeline)
        if never.isEmpty():
            return invalid
        known = self._published("invalid_events").select(*map(quoted, never.columns))
        return invalid.unionByName(never.exceptAll(known))

    def _published(self, table: str) -> DataFrame:
        return read_published(self._spark, self._lake, table)

    def _stage(self, rows: DataFrame, table: str) -> None:
        folder = behind_folder(self._run.run_id)
        staging.stage(rows, self._lake, self._run.run_id, table, "behind", folder=folder)
