"""Two replays of one pipeline, compared: which windows a run over changes has to compute, and what it reads for them.

The replay that the published results come from (`base`) and the new one are compared by their grounds. The ground of
the new replay is kept in the lake, where the step `replay` continues with it. A ground that `base` has kept is read
again, where that run began at the first row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.plan import arrival_slices, whole_intermediates
from spark_jobs.jobs.plan.whole_intermediates import Intermediate
from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.jobs.stage.slices import whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import affected_sessions, affected_windows, nearby_changes
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.replacement import Replacement
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore, Store
from spark_jobs.replay.watermark.changed_census import Recounted, can_recount, recounted
from spark_jobs.replay.watermark.nearby_groups import has_nearby_groups
from spark_jobs.session import SmallPlans
from spark_jobs.tables.data_files import read_bytes
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run

#: A run has at most so many stretches of windows: each is a part of the conditions of its queries.
MOST_STRETCHES = 200
_BEFORE = "before"


def census_bytes(spark: SparkSession, lake: Lake, base: Run) -> int:
    """Return the size of the census that a comparison with `base` reads; the greatest if it is counted first."""
    census = _of_earlier(spark, lake, base, "census")
    return sys.maxsize if census is None else read_bytes(census.unreplaced())


class ComparedReplays:
    """Two replays of one pipeline, compared: that of the run `base`, and that of `run`, which reads other rows.

    `changed` are the prepared rows by which their inputs differ. With `keeps`, intermediates are kept in the lake.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        lake: Lake,
        base: Run,
        run: Run,
        changed: DataFrame,
        *,
        keeps: bool,
    ) -> None:
        self._pipeline, self._run_id, self._changed = pipeline, run.run_id, changed
        self._spark, self._lake, self._keeps = spark, lake, keeps
        self._store: Store = LakeStore(spark, lake, run.run_id) if keeps else MemoryStore()
        own: Store = LakeStore(spark, lake, run.run_id, prefix=_BEFORE) if keeps else MemoryStore()
        self._earlier_store = _EarlierStore(spark, lake, base, own)
        self._before = _ground(spark, pipeline, base, self._earlier_store)
        self._after = _ground(spark, pipeline, run, self._store)
        self._is_of_windows = not pipeline.windows.is_session
        self._census: Recounted | None = None
        if can_recount(pipeline):
            events = arrival_slices.read(spark, pipeline, _of_all_time(run))
            self._census = recounted(self._before.census, changed, events, pipeline, self._after.measures)
        # The census where nearby groups are enough.
        self._nearby = self._census if self._is_of_windows and has_nearby_groups(pipeline) else None

    def affected(self) -> tuple[int, list[tuple[int, int]]]:
        """Return the number of affected windows, or of components of sessions, and the stretches that contain them."""
        census = self._census
        if census is not None and self._nearby is None:
            self._store.keep("census", lambda: census.census, self._after.small_plans)
        if not self._is_of_windows:
            sessions = affected_sessions.affected_sessions(self._before, self._after, self._changed)
            sessions = sessions.distinct().localCheckpoint()
            return sessions.count(), affected_sessions.stretches(sessions, MOST_STRETCHES)
        windows = self._affected_windows().localCheckpoint()
        # A window of the changed replay alone has changed rows, and is affected.
        is_one_enough = self._nearby is not None or self._has_same_watermarks
        grounds = [self._before] if is_one_enough else [self._before, self._after]
        return windows.count(), affected_windows.stretches(windows, grounds, MOST_STRETCHES)

    def _affected_windows(self) -> DataFrame:
        if self._nearby is not None:
            return nearby_changes.affected_windows(self._before, self._after, self._nearby, self._changed)
        if self._has_same_watermarks:
            return affected_windows.affected_windows_of(self._changed, self._pipeline)
        return affected_windows.affected_windows(self._before, self._after, self._changed)

    @property
    def _has_same_watermarks(self) -> bool:
        """Whether all watermarks of the two replays are equal; the generator of a custom watermark reads rows."""
        is_same = self._census is not None and self._census.is_same
        return is_same and self._before.until_us == self._after.until_us and not self._pipeline.watermark.is_custom

    def keep(self, interval: Interval) -> None:
        """Keep what a run over the interval reads, where that is not all, and what the run after it begins with."""
        census, pipeline = self._nearby, self._pipeline
        if census is None or not self._keeps:
            return
        # First the census of all rows: without it, a census under its own name would count as that.
        whole_intermediates.store_replaced(self._run_id, "census", self._stored("census"), census.groups)
        part, book = whole(interval), self._before.calendar
        around = nearby_changes.windows_around(part, pipeline)
        nearby = partial(nearby_changes.census_around, around, census, book, pipeline)
        self._store.keep("census", nearby, self._after.small_plans)
        entries = None
        if self._has_same_watermarks:
            self._store.keep("calendar", lambda: book.where(around.holds("window_ms")), self._after.small_plans)
        else:
            replaced = book.where(part.holds("window_ms")).select("window_ms").localCheckpoint()
            entries = Replacement(replaced, self._after.calendar.where(part.holds("window_ms")).localCheckpoint())
        whole_intermediates.store_replaced(self._run_id, "calendar", self._stored("calendar"), entries)

    def _stored(self, name: str) -> Intermediate:
        """Return where an intermediate of the replay before the change is stored."""
        own = Intermediate(self._spark, self._lake, self._run_id, f"{_BEFORE}/{name}")
        return self._earlier_store.of_earlier(name) or own


def _ground(spark: SparkSession, pipeline: Pipeline, run: Run, store: Store) -> Ground:
    """Return the ground of all rows that had arrived for a run."""
    rows = SourceRows(arrival_slices.read(spark, pipeline, _of_all_time(run)), pipeline, store)
    plans = SmallPlans.interpreted(spark)
    return Ground(rows, pipeline, store, until_us=arrival_slices.until_us(run), plans=plans)


def _of_all_time(run: Run) -> Run:
    return replace(run, interval_start=None, interval_end=None, stretches=(), arrived_from=None)


class _EarlierStore(MemoryStore):
    """The ground of the replay before a change: what the earlier run itself has kept of it, and else what `own` keeps.

    Nothing is written to it: `own` is a folder of the lake, or the memory for a comparison that leaves no trace.
    """

    def __init__(self, spark: SparkSession, lake: Lake, earlier: Run, own: Store) -> None:
        super().__init__()
        self._spark, self._lake, self._earlier, self._own = spark, lake, earlier, own

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        """Return the rows that the earlier run has kept, or else keep those of `compute`."""
        intermediate = self.of_earlier(name)
        if intermediate is None:
            return self._own.keep(name, compute, plans)
        return intermediate.rows(None if plans is None else plans.session)

    def of_earlier(self, name: str) -> Intermediate | None:
        """Return where the earlier run has stored an intermediate of all rows; None if it has not."""
        return _of_earlier(self._spark, self._lake, self._earlier, name)


def _of_earlier(spark: SparkSession, lake: Lake, earlier: Run, name: str) -> Intermediate | None:
    # The intermediates of a run that goes on are of the rows that matter alone.
    return None if earlier.arrived_from is not None else whole_intermediates.stored(spark, lake, earlier.run_id, name)
