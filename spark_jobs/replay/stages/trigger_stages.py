"""Stages of windows that do not wait for their end: every firing is computed at once, and written by timing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.panes import pane_contents, retractions, triggers
from spark_jobs.replay.stages.pane_stages import PaneStages
from spark_jobs.replay.stages.stages import RETRACTIONS, Write
from spark_jobs.semantics.panes.window_operator import Timing


class TriggerStages(PaneStages):
    """The stages of one slice of windows with another trigger than the default."""

    @property
    def awaits_late_rows(self) -> bool:
        """True: firings are numbered across rows on time and late rows."""
        return True

    @cached_property
    def firings(self) -> DataFrame:
        """Every firing of the windows of the slice: the columns of `panes`."""
        ground, pipeline = self._ground, self._ground.compiled
        accepted = triggers.accepted(self.on_time, self.late_rows, ground.moving, ground.timeline, pipeline)
        in_time, late = (rows.where(self._owns_row()) for rows in accepted)
        panes = partial(triggers.panes, in_time, late, ground.fire, pipeline)
        return self._store.keep(f"panes/{self._part.name}", panes)

    @property
    def first_panes(self) -> Sequence[Write]:
        """Write the firings, those of one timing as one part."""
        return [self._write_firings]

    @property
    def more_panes(self) -> Sequence[Write]:
        """Write what firings withdraw."""
        return [self._write_retractions] if self._pipeline.windows.retracts else []

    def _write_firings(self) -> None:
        for timing in Timing:
            self._write_panes(self._marked(self.firings.where(F.col("timing") == timing.value)), timing.value)

    def _write_retractions(self) -> None:
        self._write_panes(retractions.among(self.firings, self._pipeline), RETRACTIONS)

    def _results(self) -> DataFrame:
        return pane_contents.window_results(self.firings, self._missed_rows(), self._pipeline)

    def _every_pane(self) -> DataFrame:
        return self.firings
