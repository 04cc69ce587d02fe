"""Staging what a run that goes on adds to closed windows, beside the windows that it replaces.

`replay.continuation.closed_windows` defines these rows. They have a staging folder apart from the run's own, because
publishing adds them where it replaces the others. No check of the audit reads these rows alone.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.plan.row_difference import surplus
from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.replay.continuation.closed_windows import ClosedWindows
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.session import interpreting
from spark_jobs.tables import pruning, staging
from spark_jobs.tables.lake import Lake, behind_folder
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_as_of

_PART = "behind"


class ClosedWindowsStaging:
    """Stages the rows of closed windows of one run; `base` is the run that it goes on from."""

    def __init__(
        self, spark: SparkSession, lake: Lake, run: Run, base: Run, ground: Ground, closed: ClosedWindows
    ) -> None:
        self._spark, self._lake, self._base = spark, lake, base
        self._ground, self._closed = ground, closed
        self._folder = behind_folder(run.run_id)
        self._store = LakeStore(spark, lake, run.run_id, folder=self._folder)

    def write(self, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Stage, in `pool`, the rows that do not depend on late rows."""
        return [pool.submit(write) for write in (self._write_watermarks, self._write_invalid, self._write_emissions)]

    def write_late(self, pool: ThreadPoolExecutor, late: DataFrame) -> list[Future[None]]:
        """Stage, in `pool`, late events and changed results; `late` may hold late rows of other windows too."""
        return [
            pool.submit(self._store.write, "late_events", _PART, self._closed.late_events(late)),
            pool.submit(self._write_results, late),
        ]

    def late_counts(self, late: DataFrame) -> dict[str, int]:
        """How many rows came too late for closed windows."""
        return {"too_late_behind": self._closed.late_rows(late).where(c.TOO_LATE).count()}

    def counts(self) -> dict[str, int]:
        """How many rows that have come are invalid, once they are staged."""
        return {"invalid_behind": staging.row_count(self._lake, self._folder, "invalid_events")}

    def _write_watermarks(self) -> None:
        """Closed windows that rows have come for, and none before."""
        emissions = read_as_of(interpreting(self._spark), self._lake, self._base, "advances")
        windows = self._closed.watermarks(self._ground.census, emissions).localCheckpoint()
        published_windows = pruning.matching(self._published("watermarks"), "window_start", windows)
        new = windows.join(published_windows.select("window_start"), "window_start", "left_anti")
        self._store.write("watermarks", _PART, new)

    def _write_invalid(self) -> None:
        """Invalid rows that have come; of those without arrival, those that are not published yet."""
        prepared = self._ground.rows.prepared
        invalid, undated = self._closed.invalid_events(prepared), self._closed.undated_events(prepared)
        if not undated.isEmpty():
            published_events = self._published("invalid_events").select(*map(quoted, undated.columns))
            invalid = invalid.unionByName(surplus(undated, published_events))
        self._store.write("invalid_events", _PART, invalid)

    def _write_emissions(self) -> None:
        self._store.write("advances", _PART, self._closed.later(self._ground.emissions(self._ground.census)))

    def _write_results(self, late: DataFrame) -> None:
        """All results of the closed windows that have missed a row more."""
        counts = self._closed.missed_rows(late).localCheckpoint()
        results = pruning.matching(self._published("window_results"), "window_start", counts)
        self._store.write("window_results", _PART, self._closed.updated(results, counts))

    def _published(self, table: str) -> DataFrame:
        return read_as_of(self._spark, self._lake, self._base, table)
