"""Slices staged: the panes, late rows and results of a stretch of windows, which depend on no other slice (B7).

A slice needs what is computed once for the run: its census, its calendar, and the timeline where one is stored. Every
slice reads these from storage, so that it makes no difference which process stages it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.closed_windows import BehindStaging
from spark_jobs.jobs.stage.complete_staging import CompleteStaging
from spark_jobs.jobs.stage.row_counts import windows_of
from spark_jobs.jobs.stage.slices import Slice
from spark_jobs.jobs.stage.source_rows import SourceRows
from spark_jobs.jobs.stage.trigger_staging import TriggerStaging
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.panes import late_panes, on_time_panes, per_epoch, retractions, triggers
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.windows import late_events, lateness, window_slices
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run

#: About as many results are in a file that a later run may have to change.
RESULTS_OF_A_FILE = 100_000


@dataclass(frozen=True)
class Ground:
    """What all slices of a run stand on: its rows, census and calendar, and its timeline where that is stored.

    `until_us` is the instant that a run over arrivals ends at, None of one that ends with its source.
    """

    rows: SourceRows
    groups: DataFrame
    book: DataFrame
    advances: DataFrame | None
    until_us: int | None


class SliceStaging:
    """Stages the slices of one run; what is in no later slice's way goes on in `pool`.

    `apart`: other processes stage other slices of the run at the same time.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        lake: Lake,
        run: Run,
        ground: Ground,
        pool: ThreadPoolExecutor,
        *,
        apart: bool = False,
    ) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._pool, self._until_us, self._apart = pool, ground.until_us, apart
        self._source, self._groups, self._book = ground.rows, ground.groups, ground.book
        self._advances = ground.advances if timeline.tells_all(pipeline) else None
        self._firing: TriggerStaging | None = None
        if not triggers.is_default(pipeline) and ground.advances is not None:
            told = (ground.groups, ground.advances)
            self._firing = TriggerStaging(pipeline, *told, self._kept, self._stage, ground.until_us)
        self._complete = CompleteStaging(pipeline, ground.book, self._kept, self._stage, self._staged_part)

    def write(self, part: Slice, closed: BehindStaging | None = None) -> tuple[DataFrame, Future[None]]:
        """Stage the slice's panes and late events.

        Returns its late rows, with those of `closed` windows, and what ends when its results are staged as well: while
        they are written, the next slice's panes can be computed.
        """
        late, fired = self._panes(part, closed)
        return late, self._pool.submit(self._told, part, late, fired)

    def _panes(self, part: Slice, closed: BehindStaging | None) -> tuple[DataFrame, DataFrame | None]:
        """Stage the slice's panes and late events; returns its late rows, and its panes where triggers made them."""
        pipeline, name, owned = self._pipeline, part.name, part.holds(F.col(c.WINDOW_MS))
        filling = self._source.filling_of(part)
        on_time = lateness.on_time(filling, self._book, pipeline.windows)
        # A row that is late for one window may be on time for another: then late rows come first, else side by side.
        several = window_assigners.overlap(pipeline.windows)
        beside = None if several or self._firing else self._pool.submit(self._on_time, part, on_time, None)
        late = self._late_rows(part, filling, closed)
        untaken = late_events.late_events(late.where(owned), pipeline)
        missed = self._pool.submit(self._stage, untaken, "late_events", name)
        if self._firing is not None:
            fired = self._firing.panes(part, on_time, late)
            missed.result()
            return late, fired
        if beside is None:
            self._on_time(part, on_time, late)
        else:
            beside.result()
        first = self._staged_part("panes", f"{name}/on-time")
        pairs = window_slices.on_time_pairs(on_time, late if several else None, pipeline)
        owned_late = window_slices.late_pairs(late, pipeline).where(owned)
        emissions = self._emissions(late) if per_epoch.gathers(pipeline) else None
        revised = late_panes.late_panes(owned_late, pairs, first, pipeline, emissions)
        self._stage(self._kept_pane(revised), "panes", f"{name}/late")
        if retractions.retracts(pipeline):
            again = self._staged_part("panes", f"{name}/late").select(revised.columns)
            withdrawn = retractions.between(first.select(revised.columns), again, pipeline)
            self._stage(withdrawn, "panes", f"{name}/{staging.RETRACTIONS}")
        missed.result()
        return late, None

    def _emissions(self, late: DataFrame) -> DataFrame:
        """When late rows that are gathered fire."""
        asked = late_events.epochs_of(late)
        return per_epoch.emissions(asked, self._groups, self._pipeline, until_us=self._until_us)

    def _kept_pane(self, panes: DataFrame) -> DataFrame:
        return retractions.kept(panes) if retractions.retracts(self._pipeline) else panes

    def _on_time(self, part: Slice, on_time: DataFrame, late: DataFrame | None) -> None:
        fired = on_time_panes.on_time_panes(on_time, late, self._book, self._pipeline)
        self._stage(self._kept_pane(fired.where(part.holds(_start_ms()))), "panes", f"{part.name}/on-time")

    def _told(self, part: Slice, late: DataFrame, fired: DataFrame | None) -> None:
        """Stage the slice's results, and what all rows say beside them."""
        if self._firing is None or fired is None:
            self._results(part, late)
        else:
            self._firing.results(part, fired, late)
        if self._pipeline.is_complete:
            self._complete.write(part, self._source.prepared_of(part), late, fired)

    def _results(self, part: Slice, late: DataFrame) -> None:
        first, more = (self._staged_part("panes", f"{part.name}/{timing}") for timing in ("on-time", "late"))
        missed = window_slices.missed(late, self._pipeline).where(part.holds(F.col(c.WINDOW_MS)))
        results = on_time_panes.window_results(first, more, missed, self._pipeline)
        if can_be_gone_on_from(self._pipeline, self._run):
            # A row that comes too late changes a result, and publishing writes the file that it is in anew.
            pieces = staging.row_count(self._spark, self._lake, self._run.run_id, "panes") // RESULTS_OF_A_FILE
            results = results.repartitionByRange(pieces, "window_start") if pieces > 1 else results
        self._stage(results, "window_results", part.name)

    def _late_rows(self, part: Slice, filling: DataFrame, closed: BehindStaging | None) -> DataFrame:
        """The rows of the slice, and of `closed` windows, that are behind a window of theirs.

        Nothing is read where the census knows that there are none.
        """
        pipeline, name, groups, book = self._pipeline, part.name, self._groups, self._book
        reached = part.reaches(window_assigners.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms"))
        if closed is not None:
            came = part.reaches(*windows_of(pipeline)) | closed.reached()
            filling = self._source.placed.where(fills_windows() & came)
            reached = reached | closed.reached_by_groups()
        behind = late_events.behind(filling, book, pipeline)
        epochs = late_events.epochs(groups.where(reached), book, pipeline)
        told = (groups, pipeline, self._source.moving)
        if epochs is None:
            if not late_events.may_hold_late(groups.where(reached), book, pipeline):
                behind = behind.limit(0)
            behind = self._kept(behind, f"behind/{name}", groups.sparkSession)
            asked = late_events.epochs_of(behind)
            missed = late_events.missed_watermarks(asked, *told, advances=self._advances)
        else:
            missed = late_events.missed_watermarks(epochs, *told, advances=self._advances)
            missed = self._kept(missed, f"missed_watermarks/{name}", groups.sparkSession)
            if missed.isEmpty():
                behind = behind.limit(0)
        return self._kept(late_events.late_rows(behind, missed, pipeline), f"late_rows/{name}")

    def _kept(self, rows: DataFrame, name: str, reader: SparkSession | None = None) -> DataFrame:
        return staging.write_work_once(rows, self._lake, self._run.run_id, name, reader=reader or self._spark)

    def _staged_part(self, table: str, name: str) -> DataFrame:
        return staging.read_part(self._spark, self._lake, self._run.run_id, table, name)

    def _stage(self, rows: DataFrame, table: str, part: str) -> None:
        if self._apart:
            staging.create_staged_table(rows, self._lake, self._run.run_id, table)
        staging.stage(rows, self._lake, self._run.run_id, table, part)


def can_be_gone_on_from(pipeline: Pipeline, run: Run) -> bool:
    """Whether a later run may go on where this one ends."""
    return run.arrived_to is not None and resume.can_resume(pipeline)


def _start_ms() -> Column:
    return F.unix_millis("window_start")
