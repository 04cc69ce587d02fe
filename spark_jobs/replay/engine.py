"""The engine: events and a pipeline in, the contents of the published tables out.

One wiring serves the Python API and the jobs:

    rows     prepared, and placed in the order of arrival            source_rows
    ground   census, timeline and calendar, computed once            ground
    stages   panes, results and late events of a slice               stages, by kind of windows
    store    where intermediates are kept and tables are written     store

`replay` runs all stages of one slice with a store in memory. The jobs run the stages of several slices with a store in
the lake, and decide which run side by side.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from pyspark.sql import DataFrame

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.stages.pane_stages import PaneStages
from spark_jobs.replay.stages.session_stages import SessionStages
from spark_jobs.replay.stages.stages import Stages
from spark_jobs.replay.stages.trigger_stages import TriggerStages
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.supported import require_firing, require_support
from spark_jobs.replay.windows.slice import EVERYTHING, Slice


def stages_of(ground: Ground, part: Slice | None = None, *, with_closed: bool = False) -> Stages:
    """Return the stages of a slice for the windows of the pipeline; None is everything.

    `with_closed`: its late rows include the rows that have come for windows closed before a resumption.
    """
    part = EVERYTHING if part is None else part
    if ground.pipeline.windows.is_session:
        return SessionStages(ground, part)
    kind = PaneStages if ground.pipeline.windows.trigger.is_default else TriggerStages
    return kind(ground, part, with_closed=with_closed)


class Replay:
    """The result: lazy DataFrames with the columns of the published tables, without `run_id`.

    Nothing is read before a DataFrame is accessed. Intermediates that several tables need, such as the census, the
    calendar and the late rows, are then computed once, and kept in Spark's storage as long as this object lives.
    """

    def __init__(self, ground: Ground, store: MemoryStore, stages: Stages) -> None:
        """`store` is the store of `ground`, `stages` are the stages of everything."""
        self._ground, self._store, self._stages = ground, store, stages

    @property
    def stages(self) -> Stages:
        """The steps that compute the tables."""
        return self._stages

    @property
    def census(self) -> DataFrame:
        """Rows counted by source partition, epoch and window (`census.census`)."""
        return self._ground.census

    @property
    def timeline(self) -> DataFrame:
        """The advances of the combined watermark (`timeline.advances`)."""
        return self._ground.timeline

    @property
    def calendar(self) -> DataFrame:
        """When each window fires and closes (`calendar.calendar`)."""
        return self._ground.calendar

    @property
    def late_rows(self) -> DataFrame:
        """The rows behind the firing of one of their windows; for sessions, the rows that no session took."""
        return self.stages.late_rows

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing; with retracting accumulation also the retractions."""
        return self._with_panes.table("panes")

    @cached_property
    def window_results(self) -> DataFrame:
        """The latest pane of every (key, window), or of every session that was not merged into another."""
        return self._with_results.table("window_results")

    @cached_property
    def complete_results(self) -> DataFrame:
        """The results that all rows of each window give, and what the replay's result lacks, in every `replay.mode`."""
        store = self._with_results
        self.stages.write_complete()
        return store.table(COMPLETE_TABLE)

    @cached_property
    def late_events(self) -> DataFrame:
        """The rows that no window took; empty if the pipeline drops them."""
        for write in self.stages.late_events:
            write()
        return self._store.table("late_events")

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The rows without a usable time."""
        return self._ground.invalid_events()

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar; empty for sessions, which end by key."""
        return self._ground.watermarks()

    @cached_property
    def drift(self) -> DataFrame:
        """How far partitions ran ahead of the slowest, in the order of offsets (`rounds.drift`); otherwise empty."""
        return self._ground.drift()

    @cached_property
    def _with_panes(self) -> MemoryStore:
        """The store, once it holds all panes."""
        for write in (*self.stages.first_panes, *self.stages.more_panes):
            write()
        return self._store

    @cached_property
    def _with_results(self) -> MemoryStore:
        """The store, once it holds the results as well."""
        store = self._with_panes
        self.stages.write_results()
        return store


class SessionReplay(Replay):
    """The result for session windows."""

    def __init__(self, ground: Ground, store: MemoryStore, stages: SessionStages) -> None:
        """Take the arguments of `Replay`."""
        super().__init__(ground, store, stages)
        self._sessions = stages

    @property
    def components(self) -> DataFrame:
        """The components of each key's rows (`session_components.components`)."""
        return self._sessions.components


def replay(events: DataFrame, pipeline: Pipeline, *, until: datetime | None = None) -> Replay:
    """Replay `events` as `pipeline` declares.

    `events` has the source's columns, in any order and partitioning of rows. `until` (aware) is how far the arrival
    clock is known to have gone, if further than the last row: emissions up to it happen. Raises

    - TimeFieldError when a time column has another type than declared,
    - UnsupportedPipelineError for windows or watermarks that Spark does not have,
    - GeneratorError for a custom watermark whose class does not exist,
    - Spark's AnalysisException for columns that do not exist.
    """
    require_support(pipeline)
    require_firing([*events.columns, *(column.name for column in pipeline.source.columns)], pipeline)
    store = MemoryStore()
    rows = SourceRows(events, pipeline, store)
    return replay_of(Ground(rows, pipeline, store, until_us=until_micros(until)), store)


def replay_of(ground: Ground, store: MemoryStore) -> Replay:
    """Return the result over `ground`, whose store is `store`."""
    stages = stages_of(ground)
    if isinstance(stages, SessionStages):
        return SessionReplay(ground, store, stages)
    return Replay(ground, store, stages)


def until_micros(until: datetime | None) -> int | None:
    """How far the arrival clock is known to have gone, in microseconds since 1970."""
    return None if until is None else timestamps.literal_millis(until) * 1000
