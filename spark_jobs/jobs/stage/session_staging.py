"""Sessions staged: what a run with session windows would publish, written in one piece.

Components know no slices: all of them are found in one shuffle, whatever part of time the run replaces. Of what they
give, the run stages the panes whose window starts in its interval, so that each belongs to exactly one of any intervals
next to each other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Accumulation, Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.engine import no_watermarks
from spark_jobs.replay.panes import retractions, triggers
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import complete_sessions, session_components, session_panes, session_scan
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.watermark.census import moving
from spark_jobs.replay.windows import late_events
from spark_jobs.semantics.panes.window_operator import Timing
from spark_jobs.tables import staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.staging import Keep, Stage


class SessionStaging:
    """Stages the panes, results and late events of one run.

    `filling` and `moves` are the prepared rows with epoch that fill windows and that move the watermark; `until_us` is
    how far the arrival clock went, if further than they.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        interval: Interval,
        filling: DataFrame,
        moves: DataFrame,
        keep: Keep,
        stage: Stage,
        until_us: int | None,
    ) -> None:
        self._pipeline, self._interval, self._until_us = pipeline, interval, until_us
        self._filling, self._moves = filling, moves
        self._keep, self._stage = keep, stage
        self._fires_otherwise = not triggers.is_default(pipeline)

    def write(self, groups: DataFrame) -> int | None:
        """Stage everything but the invalid rows; returns the late rows where a late pane may not be one.

        `groups` is the run's census.
        """
        pipeline, moved_by = self._pipeline, moving(groups, self._pipeline)
        advances = self._keep(timeline.advances(moved_by, self._moves, pipeline, until_us=self._until_us), "timeline")
        before = self._keep(timeline.before(moved_by, advances, pipeline), "before")
        components = self._keep(session_components.components(self._filling, before, pipeline), "components")
        clean = session_panes.clean_panes(components, advances, moved_by, pipeline, until_us=self._until_us)
        with ThreadPoolExecutor(max_workers=4) as pool:
            beside = [
                pool.submit(self._stage_panes, clean, "clean"),
                pool.submit(self._stage, no_watermarks(groups.sparkSession), "watermarks", "all"),
            ]
            unclean = self._keep(session_components.unclean(components, pipeline), "unclean")
            ranked = self._ranked(unclean, before, groups, advances)
            scanned = self._keep(session_scan.scanned(ranked, pipeline), "scanned")
            firings = session_panes.firings(scanned, advances, moved_by, pipeline, until_us=self._until_us)
            panes = self._keep(session_panes.scanned_panes(firings, ranked, scanned, pipeline), "scanned_panes")
            too_late = session_panes.too_late_rows(ranked, scanned)
            results = session_panes.window_results(clean, panes, too_late, pipeline)
            shown = panes.select(clean.columns)
            # A file of panes holds one timing.
            beside += [
                pool.submit(self._stage_panes, shown.where(F.col("timing") == timing.value), f"scanned/{timing.value}")
                for timing in (Timing if self._fires_otherwise else (Timing.ON_TIME, Timing.LATE))
            ]
            beside.append(pool.submit(self._stage_inside, results, "window_results", "all"))
            missed = late_events.late_events(too_late, pipeline)
            beside.append(pool.submit(self._stage_inside, missed, "late_events", "all"))
            if retractions.retracts(pipeline):
                withdrawn = session_panes.retracted(panes)
                beside.append(pool.submit(self._stage_inside, withdrawn, "panes", f"scanned/{staging.RETRACTIONS}"))
            if pipeline.is_complete:
                fire = triggers.by_timeline(advances, moved_by, pipeline, until_us=self._until_us)
                found = complete_sessions.results(self._filling, components, unclean, panes, fire, pipeline)
                beside.append(pool.submit(self._stage_inside, found, COMPLETE_TABLE, "all"))
            for future in beside:
                future.result()
        return late_rows(panes, scanned, self._interval, pipeline) if self._fires_otherwise else None

    def _ranked(self, unclean: DataFrame, before: DataFrame, groups: DataFrame, advances: DataFrame) -> DataFrame:
        pipeline = self._pipeline
        rows = self._keep(session_components.rows_of(unclean, self._filling, pipeline), "unclean_rows")
        if timeline.tells_single_rows(pipeline):
            judged = timeline.judged(rows, before, pipeline)
        else:
            epochs = late_events.epochs_of(rows)
            told = advances if timeline.tells_all(pipeline) else None
            missed = late_events.missed_watermarks(epochs, groups, pipeline, self._moves, advances=told)
            judged = rows.join(missed, c.EPOCH)
        return self._keep(session_scan.ranked(judged), "ranked")

    def _stage_panes(self, panes: DataFrame, part: str) -> None:
        kept = retractions.kept(panes) if retractions.retracts(self._pipeline) else panes
        self._stage_inside(kept, "panes", part)

    def _stage_inside(self, rows: DataFrame, table: str, part: str) -> None:
        self._stage(rows.where(self._interval.holds(F.col("window_start"))), table, part)


def held(panes: DataFrame, results: DataFrame, pipeline: Pipeline) -> int:
    """How many accepted rows the staged tables hold, each counted once.

    Accumulating panes show rows again; what no later pane shows again is in the results.
    """
    shown_once = panes if pipeline.windows.accumulation is Accumulation.DISCARDING else results
    return int(shown_once.agg(F.coalesce(F.sum("row_count"), F.lit(0))).collect()[0][0])


def late_rows(panes: DataFrame, scanned: DataFrame, interval: Interval, pipeline: Pipeline) -> int:
    """How many rows were late for the session that took them, of a part of time those that `held` counts.

    `panes` is `session_panes.scanned_panes`, `scanned` is `session_scan.scanned`.
    """
    late = scanned.where("is_late = 1")
    if interval.whole:
        return late.count()
    once = panes if session_panes.discards(pipeline) else session_panes.latest(panes)
    return session_panes.rows_in(once.where(interval.holds(F.col("window_start"))), late, pipeline).count()


def filtered(rows: DataFrame, interval: Interval) -> int:
    """How many valid prepared `rows` with an event time in `interval` the pipeline's `where` drops."""
    dropped = rows.where(F.col(c.VALID) & ~F.col(c.KEPT) & interval.holds(F.timestamp_millis(c.TS_MS)))
    return dropped.count()
