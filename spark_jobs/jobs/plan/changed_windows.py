"""Changed windows: the windows that a run over changes of the source computes, found out before the run begins.

The replay that the published results come from (`base`) and the new one are compared by their grounds. The ground of
the new replay is kept in the lake, where the step `replay` continues with it. A ground that `base` has kept is read
again, where that run began at the first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.changed_rows import changed_rows
from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import affected_sessions, affected_windows
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore, Store
from spark_jobs.replay.watermark.changed_census import can_recount, recounted
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.session import SmallPlans
from spark_jobs.tables import staging, unreadable_files
from spark_jobs.tables.changed_files import UnknownChangesError
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval, joined
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run
from spark_jobs.tables.run_pipeline import pipeline_for_run

#: A run has at most so many stretches of windows: each is a part of the conditions of its queries.
MOST_STRETCHES = 200
#: The counts of a run over changes.
COUNTS = ("changed_rows", "changed_invalid", "affected_windows")
#: An interval without windows.
NOTHING = Interval(EPOCH, EPOCH)
_BEFORE = "before"


@dataclass(frozen=True)
class ChangedWindows:
    """The windows of a run over changes.

    `counts` are those of its step `plan` (`COUNTS`): `changed_rows` that were added or taken away, `changed_invalid`
    among them, and `affected_windows`.
    """

    interval: Interval
    counts: Mapping[str, int]

    def in_words(self) -> str:
        """Return the counts in words."""
        return in_words(self.counts)


def in_words(counts: Mapping[str, int]) -> str:
    """Return the counts of a run over changes in words."""
    return f"rows added or taken away: {counts['changed_rows']:,}; windows affected: {counts['affected_windows']:,}"


def changed_windows(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    base: Run,
    run: Run,
    other_parts: Sequence[Interval] = (),
    *,
    keeps: bool,
) -> ChangedWindows:
    """Return the windows whose results may differ between `base` and `run`, which is planned and has no interval yet.

    The windows of `other_parts` are among them. With `keeps`, intermediates are kept in the lake for the run. Raises
    UnknownChangesError if the changes cannot be found out.
    """
    with _unknown_if_unreadable(spark, pipeline, base):
        return _changed_windows(spark, pipeline_for_run(pipeline, run), lake, base, run, other_parts, keeps)


def count_changed_rows(spark: SparkSession, pipeline: Pipeline, since: Run, run: Run) -> int:
    """Return the number of rows by which the inputs of two runs differ. Raises UnknownChangesError."""
    with _unknown_if_unreadable(spark, pipeline, since):
        return changed_rows(spark, pipeline_for_run(pipeline, run), since, run).count


@contextmanager
def _unknown_if_unreadable(spark: SparkSession, pipeline: Pipeline, base: Run) -> Iterator[None]:
    """Raise UnknownChangesError if a version, or a file of the version that `base` has read, is gone."""
    try:
        yield
    except SourceError as problem:
        raise UnknownChangesError(str(problem)) from problem
    except (PySparkException, Py4JError) as problem:
        if unreadable_files.deletion(spark, pipeline, base.pinned, problem) is None:
            raise
        raise UnknownChangesError("files of the version that was read before are deleted") from problem


def _changed_windows(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    base: Run,
    run: Run,
    other_parts: Sequence[Interval],
    keeps: bool,  # noqa: FBT001  as in `changed_windows`
) -> ChangedWindows:
    rows = changed_rows(spark, pipeline, base, run)
    intervals, affected = list(other_parts), 0
    if rows.count or base.arrived_to != run.arrived_to:
        before_store = _EarlierStore(spark, lake, run.run_id, base) if keeps else MemoryStore()
        after_store = LakeStore(spark, lake, run.run_id) if keeps else MemoryStore()
        before, after = (
            _ground(spark, pipeline, of_run, store) for of_run, store in ((base, before_store), (run, after_store))
        )
        is_same = False
        if can_recount(pipeline):
            events = arrival_slices.read(spark, pipeline, _of_all_time(run))
            again = recounted(before.census, rows.prepared, events, pipeline, after.measures)
            after_store.keep("census", again.census, after.small_plans)
            # The generator of a custom watermark reads rows.
            is_same = again.is_same and base.arrived_to == run.arrived_to and not pipeline.watermark.is_custom
        affected, stretches = _affected(before, after, rows.prepared, has_same_watermarks=is_same)
        intervals += [Interval(timestamps.moment(start), timestamps.moment(end)) for start, end in stretches]
    counts = dict(zip(COUNTS, (rows.count, rows.invalid, affected), strict=True))
    return ChangedWindows(joined(intervals) or NOTHING, counts)


def _affected(
    before: Ground, after: Ground, changed: DataFrame, *, has_same_watermarks: bool
) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of affected windows, or of components of sessions, and the stretches that contain them."""
    if after.pipeline.windows.is_session:
        sessions = affected_sessions.affected_sessions(before, after, changed).distinct().localCheckpoint()
        return sessions.count(), affected_sessions.stretches(sessions, MOST_STRETCHES)
    grounds = [before] if has_same_watermarks else [before, after]
    windows = affected_windows.affected_windows(before, after, changed, has_same_watermarks=has_same_watermarks)
    windows = windows.localCheckpoint()
    return windows.count(), affected_windows.stretches(windows, grounds, MOST_STRETCHES)


def _ground(spark: SparkSession, pipeline: Pipeline, run: Run, store: Store) -> Ground:
    """Return the ground of all rows that had arrived for a run."""
    rows = SourceRows(arrival_slices.read(spark, pipeline, _of_all_time(run)), pipeline, store)
    plans = SmallPlans.interpreted(spark)
    return Ground(rows, pipeline, store, until_us=arrival_slices.until_us(run), plans=plans)


def _of_all_time(run: Run) -> Run:
    return replace(run, interval_start=None, interval_end=None, stretches=(), arrived_from=None)


class _EarlierStore(LakeStore):
    """Keeps the ground of the replay before a change, and reads what the earlier run itself has kept of it."""

    def __init__(self, spark: SparkSession, lake: Lake, run_id: str, earlier: Run) -> None:
        super().__init__(spark, lake, run_id, prefix=_BEFORE)
        # The census of a run that goes on has the rows that matter alone.
        self._earlier = None if earlier.arrived_from is not None else earlier.run_id

    def keep(self, name: str, frame: DataFrame, plans: SmallPlans | None = None) -> DataFrame:
        """Return the rows that the earlier run has kept, if they have the same columns, or else keep `frame`."""
        if self._earlier is not None and staging.has_work(self._lake, self._earlier, name):
            reader = self._spark if plans is None else plans.session
            rows = staging.read_work(reader, self._lake, self._earlier, name)
            if rows.dtypes == frame.dtypes:
                return rows
        return super().keep(name, frame, plans)
