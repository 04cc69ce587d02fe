"""The replay step: computes everything a run would publish and writes it to the run's staging area.

    stage           all of it in this process
    cut             what slices stand on, so that processes of their own can stage them side by side
    stage_slice     one of these slices; `stage` finds what they have staged, and adds what is not any slice's

The census and the calendar are computed once; then slices of windows, oldest first, each written before the next
begins. A killed step is finished by the same command: what was written is found and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.progress import Progress, staged
from spark_jobs.jobs.stage.closed_windows import BehindStaging
from spark_jobs.jobs.stage.complete_staging import cost
from spark_jobs.jobs.stage.join_staging import JoinStaging
from spark_jobs.jobs.stage.row_counts import Counting
from spark_jobs.jobs.stage.session_staging import SessionStaging
from spark_jobs.jobs.stage.slice_staging import Ground, SliceStaging, can_be_gone_on_from
from spark_jobs.jobs.stage.slices import Slice, settled, slices_of
from spark_jobs.jobs.stage.slices import whole as whole_of
from spark_jobs.jobs.stage.source_rows import SourceRows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.engine import watermarks
from spark_jobs.replay.panes import triggers
from spark_jobs.replay.profile import silence
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark import custom, rounds, timeline
from spark_jobs.replay.watermark.census import census, is_small, moving
from spark_jobs.replay.windows import late_events
from spark_jobs.replay.windows.calendar import calendar
from spark_jobs.session import interpreting, shuffling
from spark_jobs.tables import deleted_files, staging
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run

#: A first run of more rows gives windows that are still open a slice of their own.
WORTH_A_SLICE = 1_000_000


def stage(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, *, slices: int, progress: Progress
) -> dict[str, int]:
    """Write what `run` would publish to its staging area; returns its counts.

    Raises InputError when most event times cannot be, which is a wrong unit and not bad rows, when a watermark
    generator of the user's fails, and when the source can no longer be read as it was planned.
    """
    try:
        with _told(spark, pipeline, run):
            if pipeline.join is not None:
                return JoinStaging(spark, pipeline, lake, run, progress).write()
            return _Staging(spark, pipeline, lake, run, progress).write(slices)
    except Exception:
        # What it failed of may stand in the way of this too.
        with suppress(Exception):
            staging.delete_unstaged_files(spark, lake, run.run_id)
        raise


def cut(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, *, slices: int, progress: Progress
) -> list[Slice]:
    """Compute what slices stand on; returns those that `stage_slice` can stage, which are none of a run in one piece.

    Joins and sessions know no slices, and a run that goes on has one. Raises InputError as `stage` does.
    """
    if slices < 2 or run.arrived_from is not None or pipeline.join or pipeline.windows.kind == window_assigners.SESSION:
        return []
    with _told(spark, pipeline, run):
        parts = _Staging(spark, pipeline, lake, run, progress).cut(slices)
        return parts if len(parts) > 1 else []


def stage_slice(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, part: Slice, *, progress: Progress
) -> None:
    """Write one of the slices that `cut` has given to the run's staging area. Raises InputError as `stage` does."""
    with _told(spark, pipeline, run):
        _Staging(spark, pipeline, lake, run, progress).write_slice(part)


@contextmanager
def _told(spark: SparkSession, pipeline: Pipeline, run: Run) -> Iterator[None]:
    """What the user is to be told of, as InputError."""
    try:
        yield
    except SourceError as problem:
        raise InputError(str(problem)) from problem
    except (PySparkException, Py4JError) as problem:
        fault = custom.fault(problem) if isinstance(problem, PythonException) else None
        told = f"watermark.class: {fault}" if fault else deleted_files.explanation(spark, pipeline, run.pinned, problem)
        if told is None:
            raise
        raise InputError(told) from problem


class _Staging:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, progress: Progress) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._progress = progress
        self._interval = Interval(run.interval_start, run.interval_end)
        self._until_us = arrival_slices.until_us(run)
        base = arrival_slices.base(spark, lake, run)
        self._resumed = arrival_slices.resumption(spark, pipeline, lake, run, base)
        self._behind: BehindStaging | None = None
        if base is not None and self._resumed is not None:
            self._behind = BehindStaging(spark, pipeline, lake, run, base, self._resumed)
        self._source = SourceRows(arrival_slices.read(spark, pipeline, run, self._resumed), pipeline, self._kept)
        self._counting = Counting(spark, pipeline, lake, run, self._source.prepared)

    def write(self, slices: int) -> dict[str, int]:
        """Stage everything."""
        groups, counts = self._counted()
        if rounds.are_made(self._pipeline):
            self._stage(rounds.drift(self._source.prepared, self._pipeline), "drift", "all")
        if self._pipeline.quality.max_silence_ms is not None:
            told = silence.partitions(groups, self._pipeline, until_us=self._until_us)
            self._stage(told, silence.TABLE, "all")
        of_sessions = self._pipeline.windows.kind == window_assigners.SESSION
        with shuffling(self._spark, counts["rows_read"]):
            if not of_sessions:
                parts, behind = self._stage_all(groups, slices, counts)
                return {**counts, **self._counting.staged(counts, parts), **behind, **self._cost()}
            late = self._stage_sessions(groups, counts["invalid"])
        counts = self._counting.of_interval(counts)
        return {**counts, **self._counting.staged(counts, [], late), **self._cost()}

    def cut(self, slices: int) -> list[Slice]:
        """Compute what slices stand on, and cut them."""
        groups, counts = self._counted()
        with shuffling(self._spark, counts["rows_read"]):
            return self._slices(self._ground(groups), slices, counts["rows_read"])

    def write_slice(self, part: Slice) -> None:
        """Stage a slice alone."""
        groups, counts = self._counted()
        with shuffling(self._spark, counts["rows_read"]), ThreadPoolExecutor(max_workers=4) as pool:
            _, told = self._slice_staging(self._ground(groups), pool, apart=True).write(part)
            told.result()
        self._say(f"{part.name} staged")

    def _counted(self) -> tuple[DataFrame, dict[str, int]]:
        """The census, and what it counts."""
        pinned = ", ".join(map(str, self._run.pinned.values()))
        self._say(f"counting version {pinned} of {self._pipeline.source.table}")
        groups = self._census()
        counts = self._counting.read(groups)
        self._say(f"{counts['rows_read']:,} rows, {counts['invalid']:,} of them without a usable time")
        return groups, counts

    def _cost(self) -> dict[str, int]:
        return cost(self._spark, self._lake, self._run.run_id) if self._pipeline.is_complete else {}

    def _census(self) -> DataFrame:
        """The census, and what is known of rows before it; small ones read in one piece, for small plans."""
        groups = self._own_census()
        return groups if self._resumed is None else resume.with_known(groups, self._resumed, self._pipeline)

    def _own_census(self) -> DataFrame:
        groups = self._kept(census(self._source.placed, self._pipeline), "census", interpreting(self._spark))
        if not is_small(groups):
            return self._kept(groups, "census")
        # Where rows are epochs, events are read as well, which are not few.
        by_event = axis(self._pipeline) is not Axis.TICKS
        return (self._kept(groups, "census") if by_event else groups).coalesce(1)

    def _stage_sessions(self, groups: DataFrame, invalid: int) -> int | None:
        """Stage everything; returns the late rows where a late pane may not be one."""
        source = self._source
        sessions = SessionStaging(
            self._pipeline, self._interval, source.filling, source.moving, self._kept, self._stage, self._until_us
        )
        late = sessions.write(groups)
        self._invalid(invalid)
        self._say("sessions staged")
        return late

    def _stage_all(
        self, groups: DataFrame, slices: int, counts: Mapping[str, int]
    ) -> tuple[list[Slice], dict[str, int]]:
        """Stage everything; returns the slices, and what is counted of windows that were closed before."""
        ground = self._ground(groups)
        parts = self._slices(ground, slices, counts["rows_read"])
        began = monotonic()
        with ThreadPoolExecutor(max_workers=4) as pool:
            beside = [pool.submit(self._watermarks, ground.book), pool.submit(self._invalid, counts["invalid"])]
            beside += self._emitted(groups, pool)
            staging_of = self._slice_staging(ground, pool)
            behind: dict[str, int] = {}
            for i, part in enumerate(parts):
                # Late rows of closed windows are found together with those of the first slice.
                closed = None if i else self._behind
                late, told = staging_of.write(part, closed)
                if closed is not None:
                    beside += closed.write_late(pool, late)
                    behind = closed.late_counts(late)
                beside.append(told)
                self._say(staged(i + 1, len(parts), monotonic() - began))
            for future in beside:
                future.result()
        if self._behind is not None:
            behind |= self._behind.counts()
        return parts, behind

    def _slice_staging(self, ground: Ground, pool: ThreadPoolExecutor, *, apart: bool = False) -> SliceStaging:
        where = (self._spark, self._pipeline, self._lake, self._run)
        return SliceStaging(*where, ground, pool, apart=apart)

    def _ground(self, groups: DataFrame) -> Ground:
        pipeline, moves, until_us = self._pipeline, self._source.moving, self._until_us
        advances = self._timeline(groups)
        told = advances if timeline.tells_all(pipeline) else None
        found = calendar(groups, moves, pipeline, until_us=until_us, advances=told)
        return Ground(self._source, groups, self._kept(found, "calendar", groups.sparkSession), advances, until_us)

    def _emitted(self, groups: DataFrame, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Stage, in `pool`, what a later run may go on from, and what was closed before this one but for late rows."""
        if not can_be_gone_on_from(self._pipeline, self._run):
            return []

        def emissions() -> DataFrame:
            return resume.emissions(groups, self._source.moving, self._pipeline, until_us=self._until_us)

        if self._behind is None:
            return [pool.submit(lambda: self._stage(emissions(), "advances", "all"))]
        return self._behind.write(pool, groups, self._source.prepared, emissions)

    def _timeline(self, groups: DataFrame) -> DataFrame | None:
        """The stored timeline, where it is all that tells the watermark, or what windows fire by."""
        pipeline = self._pipeline
        if not timeline.tells_all(pipeline) and triggers.is_default(pipeline):
            return None
        found = timeline.advances(moving(groups, pipeline), self._source.moving, pipeline, until_us=self._until_us)
        return self._kept(found, "timeline", groups.sparkSession)

    def _kept(self, rows: DataFrame, name: str, reader: SparkSession | None = None) -> DataFrame:
        return staging.write_work_once(rows, self._lake, self._run.run_id, name, reader=reader or self._spark)

    def _say(self, text: str) -> None:
        self._progress("replay", text)

    def _slices(self, ground: Ground, wanted: int, rows: int) -> list[Slice]:
        """The interval cut as asked, and before the windows that a later run will replace.

        Those are then in files of their own: publishing the later run need not carry over what else is in them.
        """
        also: list[int] = []
        if rows > WORTH_A_SLICE and self._resumed is None and can_be_gone_on_from(self._pipeline, self._run):
            open_ms = F.min(F.when(F.col("closes_us").isNull(), F.col("window_ms")))
            told = ground.book.agg(open_ms.alias("open"), F.min("window_ms").alias("first")).collect()[0]
            also = [] if told.open in (None, told.first) else [told.open]
        asked = slices_of(ground.groups, whole_of(self._interval), wanted, also)
        parts = settled(self._spark, self._lake, self._run.run_id, asked)
        if parts != asked:
            self._say(f"in {len(parts)} slices as an earlier attempt has begun, asked for {len(asked)}")
        return parts

    def _watermarks(self, book: DataFrame) -> None:
        inside = book.where(self._interval.holds(F.timestamp_millis("window_ms")))
        self._stage(watermarks(inside, self._pipeline), "watermarks", "all")

    def _invalid(self, count: int) -> None:
        rows = late_events.invalid_events(self._source.prepared, self._pipeline)
        self._stage(rows if count else rows.limit(0), "invalid_events", "all")

    def _stage(self, rows: DataFrame, table: str, part: str) -> None:
        staging.stage(rows, self._lake, self._run.run_id, table, part)
