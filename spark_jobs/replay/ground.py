"""The ground of a replay: what all of its slices stand on, each computed once and kept in the store.

    census      rows counted by source partition, epoch and window
    timeline    the advances of the combined watermark
    calendar    when each window fires and closes
    compiled    the pipeline, with aggregates that have the same bits in every order of the rows

Every slice reads these from the store, so a slice has the same result in any process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pyspark.sql import Column, DataFrame

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.closed_windows import ClosedWindows
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.floats import compiled, measured
from spark_jobs.replay.panes import triggers
from spark_jobs.replay.panes.triggers import Fire
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.source_rows import PlacedRows
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import rounds, timeline
from spark_jobs.replay.watermark.census import census, is_small, moving
from spark_jobs.replay.windows import late_events, watermarks_table
from spark_jobs.replay.windows.calendar import calendar
from spark_jobs.replay.windows.slice import EVERYTHING, Slice
from spark_jobs.session import SmallPlans


class Ground:
    """The rows of a replay, and what is computed from all of them; nothing is read before it is accessed.

    `until_us` is how far the arrival clock went, in microseconds, if further than the last row. `resumed` is where a
    run goes on from. With `plans`, plans over a small census, calendar or timeline run in that session.
    `has_timeline`: the store keeps the timeline already, so watermarks are looked up in it.
    """

    def __init__(
        self,
        rows: PlacedRows,
        pipeline: Pipeline,
        store: Store,
        *,
        until_us: int | None = None,
        resumed: Resumption | None = None,
        plans: SmallPlans | None = None,
        has_timeline: bool = False,
    ) -> None:
        self.rows, self.pipeline, self.store = rows, pipeline, store
        self.until_us = until_us
        self.closed = None if resumed is None else ClosedWindows(pipeline, resumed)
        self.small_plans, self._has_timeline = plans, has_timeline

    @cached_property
    def census(self) -> DataFrame:
        """Rows counted by source partition, epoch and window, and the partitions that a resumption knows."""
        groups, _ = self._counted
        closed = self.closed
        return groups if closed is None else resume.with_known(groups, closed.resumed, self.pipeline)

    @property
    def plans(self) -> SmallPlans | None:
        """Where plans over the census run; None: they run as all others do."""
        return self._counted[1]

    @cached_property
    def _counted(self) -> tuple[DataFrame, SmallPlans | None]:
        """The census of the rows, and where plans over it run; a small census is read in one piece."""
        groups = self.store.keep("census", self._groups, self.small_plans)
        if not is_small(groups):
            return self.store.keep("census", lambda: groups), None
        if axis(self.pipeline) is Axis.TICKS:
            return groups.coalesce(1), self.small_plans
        # Where rows are epochs, these plans read events as well, which are not few.
        return self.store.keep("census", lambda: groups).coalesce(1), None

    def _groups(self) -> DataFrame:
        return census(self.rows.placed, self.pipeline, self.measures)

    @property
    def measures(self) -> Mapping[str, Column]:
        """What the census measures of the values of sums, by name (`floats.measured`)."""
        return measured.columns(self._measured)

    @cached_property
    def _measured(self) -> list[measured.Measured]:
        return compiled.measured(self.rows.prepared, self.pipeline)

    @cached_property
    def compiled(self) -> Pipeline:
        """The pipeline whose aggregates compute panes (`floats.compiled`); reads the census if floats are added."""
        grids = measured.grids(self.census, self._measured, self.pipeline) if self._measured else {}
        return compiled.compiled(self.rows.prepared, self.pipeline, grids)

    @cached_property
    def moving(self) -> DataFrame:
        """The census groups whose rows move the watermark."""
        return moving(self.census, self.pipeline)

    @cached_property
    def timeline(self) -> DataFrame:
        """The advances of the combined watermark (`timeline.advances`)."""
        # Windows share a few thresholds; for sessions every advance counts, and plans over the timeline are not small.
        is_small = not self.pipeline.windows.is_session
        return self.store.keep("timeline", self._advances, self.plans if is_small else None)

    def _advances(self) -> DataFrame:
        return timeline.advances(self.moving, self.rows.moving, self.pipeline, until_us=self.until_us)

    @property
    def advances(self) -> DataFrame | None:
        """The timeline, if the watermark is known by its advances alone."""
        return self.timeline if timeline.defines_watermark(self.pipeline) else None

    @cached_property
    def calendar(self) -> DataFrame:
        """When each window fires and closes (`calendar.calendar`)."""
        return self.store.keep("calendar", self._calendar, self.plans)

    def _calendar(self) -> DataFrame:
        advances = self.advances
        return calendar(self.census, self.rows.moving, self.pipeline, until_us=self.until_us, advances=advances)

    def shared(self) -> list[DataFrame]:
        """Keep and return what every slice of windows reads."""
        # Threads that stage slices side by side read it.
        self.compiled  # noqa: B018
        reads_timeline = timeline.defines_watermark(self.pipeline) or not self.pipeline.windows.trigger.is_default
        return [*([self.timeline] if reads_timeline else []), self.calendar]

    def missed_watermarks(self, epochs: DataFrame) -> DataFrame:
        """Compute the watermark before the rows of each of `epochs` (`late_events.missed_watermarks`)."""
        advances = self.timeline if self._has_timeline else self.advances
        return late_events.missed_watermarks(epochs, self.census, self.pipeline, self.rows.moving, advances=advances)

    @property
    def fire(self) -> Fire:
        """Look firings up in the timeline (`triggers.by_timeline`)."""
        return triggers.by_timeline(self.timeline, self.moving, self.pipeline, until_us=self.until_us)

    def emissions(self, census: DataFrame) -> DataFrame:
        """Compute the emissions that a later run may go on from (`resume.emissions`), from a census of all rows."""
        return resume.emissions(census, self.rows.moving, self.pipeline, until_us=self.until_us)

    def invalid_events(self) -> DataFrame:
        """Return the rows without a usable time and those in quarantine: the columns of `invalid_events`."""
        return late_events.invalid_events(self.rows.prepared, self.pipeline)

    def watermarks(self, part: Slice = EVERYTHING) -> DataFrame:
        """Return the windows of a slice as the table `watermarks`; empty for sessions, which end by key."""
        if self.pipeline.windows.is_session:
            return watermarks_table.empty(self.census.sparkSession)
        return watermarks_table.rows(self.calendar.where(part.holds("window_ms")), self.pipeline)

    def drift(self) -> DataFrame:
        """Compute how far partitions ran ahead of the slowest (`rounds.drift`); empty unless rows come in rounds."""
        if not self.pipeline.replay.in_rounds:
            return rounds.no_drift(self.rows.prepared.sparkSession)
        return rounds.drift(self.rows.prepared, self.pipeline)
