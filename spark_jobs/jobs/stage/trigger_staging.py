"""Firings staged: the panes of a slice whose windows do not wait for their end, computed once and staged by timing."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.slices import Slice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import pane_contents, retractions, triggers
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.watermark.census import moving
from spark_jobs.replay.windows import window_slices
from spark_jobs.semantics.panes.window_operator import Timing
from spark_jobs.tables import staging
from spark_jobs.tables.staging import Keep, Stage


class TriggerStaging:
    """Stages the panes and results of one run's slices.

    `groups` is the run's census, `advances` its stored timeline.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        groups: DataFrame,
        advances: DataFrame,
        keep: Keep,
        stage: Stage,
        until_us: int | None,
    ) -> None:
        self._pipeline, self._keep, self._stage, self._until_us = pipeline, keep, stage, until_us
        self._moving, self._advances = moving(groups, pipeline), advances

    def panes(self, part: Slice, on_time: DataFrame, late: DataFrame) -> DataFrame:
        """Stage every firing of the slice's windows and give them; `late` are the told rows behind a window of theirs.

        `on_time` are the prepared rows that are on time for all of their windows.
        """
        owned, pipeline = part.holds(F.col(c.WINDOW_MS)), self._pipeline
        accepted = triggers.accepted(on_time, late, self._moving, self._advances, pipeline)
        in_time, behind = (rows.where(owned) for rows in accepted)
        fire = triggers.by_timeline(self._advances, self._moving, pipeline, until_us=self._until_us)
        fired = self._keep(triggers.panes(in_time, behind, fire, pipeline), f"panes/{part.name}")
        # A file of panes holds one timing.
        for timing in Timing:
            of_timing = fired.where(F.col("timing") == timing.value)
            kept = retractions.kept(of_timing) if retractions.retracts(pipeline) else of_timing
            self._stage(kept, "panes", f"{part.name}/{timing.value}")
        if retractions.retracts(pipeline):
            withdrawn = retractions.among(fired, pipeline)
            self._stage(withdrawn, "panes", f"{part.name}/{staging.RETRACTIONS}")
        return fired

    def results(self, part: Slice, fired: DataFrame, late: DataFrame) -> None:
        """Stage the results of the slice's windows; `fired` is what `panes` gave."""
        missed = window_slices.missed(late, self._pipeline).where(part.holds(F.col(c.WINDOW_MS)))
        self._stage(pane_contents.window_results(fired, missed, self._pipeline), "window_results", part.name)
