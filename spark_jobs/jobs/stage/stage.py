"""The replay step: schedules the engine's writes, so that all a run would publish is in its staging area.

    stage           everything, in this process
    cut             what slices stand on, so that other processes can stage slices side by side
    stage_slice     one of these slices; `stage` then finds it staged, and adds the tables that have no slices

The ground of the replay is computed first. Then slices of windows are staged, oldest first, each written before the
next begins; sessions have one slice. The same command finishes a killed step: staged parts and kept intermediates stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices, source_changes, whole_intermediates
from spark_jobs.jobs.progress import Progress, staged
from spark_jobs.jobs.stage import overflow
from spark_jobs.jobs.stage.closed_windows import ClosedWindowsStaging
from spark_jobs.jobs.stage.complete_row_counts import cost
from spark_jobs.jobs.stage.join_staging import JoinStaging
from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.jobs.stage.row_counts import Counting
from spark_jobs.jobs.stage.slices import settled, slices_of, whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.engine import stages_of
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.profile import silence
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.stages.stages import Stages, Write
from spark_jobs.replay.watermark import custom
from spark_jobs.replay.windows.slice import Slice
from spark_jobs.semantics.rows.left_out import LeftOut
from spark_jobs.session import SmallPlans, interpreting_few, shuffling
from spark_jobs.tables import staging, unreadable_files
from spark_jobs.tables.data_files import read_bytes
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.ledger import CHANGED, Run

#: A first run of more rows gives windows that are still open a separate slice.
WORTH_A_SLICE = 1_000_000

# Of the writes that run side by side in a process.
_THREADS = 4


def stage(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    run: Run,
    *,
    slices: int,
    progress: Progress,
    tenure: Tenure | None = None,
) -> dict[str, int]:
    """Write what `run` would publish to its staging area, under the lease `tenure`; returns its counts.

    Raises InputError when most event times are impossible, which means a wrong unit and not bad rows; when a custom
    watermark generator fails; and when the source can no longer be read as it was planned.
    """
    try:
        with _input_errors(spark, pipeline, run):
            if pipeline.join is not None:
                return JoinStaging(spark, pipeline, lake, run, progress).write()
            return _Staging(spark, pipeline, lake, run, progress).write(slices)
    except Exception:
        # The cause of the failure may make this fail too, and so does a lost lease.
        with suppress(Exception):
            staging.delete_unstaged_files(lake, run.run_id, tenure)
        raise


def cut(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, *, slices: int, progress: Progress
) -> list[Slice]:
    """Compute what slices stand on; returns the slices for `stage_slice`, or none for a run in one piece.

    Joins and sessions have no slices. A run that goes on, and one over changes, have one. Raises InputError as `stage`
    does.
    """
    if (
        slices < 2
        or run.arrived_from is not None
        or run.kind == CHANGED
        or pipeline.join
        or pipeline.windows.is_session
    ):
        return []
    with _input_errors(spark, pipeline, run):
        parts = _Staging(spark, pipeline, lake, run, progress).cut(slices)
        return parts if len(parts) > 1 else []


def stage_slice(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, part: Slice, *, progress: Progress
) -> None:
    """Write a slice that `cut` has returned to the run's staging area. Raises InputError as `stage` does."""
    with _input_errors(spark, pipeline, run):
        _Staging(spark, pipeline, lake, run, progress, apart=True).write_slice(part)


@contextmanager
def _input_errors(spark: SparkSession, pipeline: Pipeline, run: Run) -> Iterator[None]:
    """Raise problems that the user can solve as InputError, first a source that is not the planned table."""
    try:
        source_changes.require_planned_tables(spark, pipeline, run)
        yield
    except SourceError as problem:
        raise InputError(str(problem), code=problem.code) from problem
    except (PySparkException, Py4JError) as problem:
        explained = _explained(spark, pipeline, run, problem)
        if explained is None:
            raise
        raise explained from problem


def _explained(spark: SparkSession, pipeline: Pipeline, run: Run, problem: Exception) -> InputError | None:
    """Return the error for a `problem` that the user can solve; None for any other."""
    if isinstance(problem, PythonException) and (fault := custom.fault(problem)):
        return InputError(f"watermark.class: {fault}", code=ErrorCode.GENERATOR_FAILED)
    if too_great := overflow.explanation(pipeline, problem):
        return InputError(too_great, code=ErrorCode.SUM_OVERFLOW)
    if deleted := unreadable_files.deletion(spark, pipeline, run.pinned, problem):
        return InputError(deleted, code=ErrorCode.VERSION_REMOVED)
    if damaged := unreadable_files.damage(spark, pipeline, run.pinned, problem):
        return InputError(damaged, code=ErrorCode.TABLE_UNREADABLE)
    return None


class _Staging:
    """Schedules the writes of one run: which slices, in which order, and which writes run side by side.

    What a slice's tables contain, and what they are computed from, is the engine's (`replay.engine`).
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        lake: Lake,
        run: Run,
        progress: Progress,
        *,
        apart: bool = False,
    ) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._progress = progress
        self._whole = whole(run.interval)
        self._can_be_resumed = run.arrived_to is not None and resume.can_resume(pipeline)
        base = arrival_slices.base(spark, lake, run)
        resumed = arrival_slices.resumption(spark, pipeline, lake, run, base)
        self._store = LakeStore(spark, lake, run.run_id, apart=apart)
        arrived = arrival_slices.read(spark, pipeline, run)
        events = arrived if resumed is None else arrival_slices.mattering(arrived, pipeline, resumed)
        earlier = None if resumed is None else arrived
        self._bytes = read_bytes(events)
        rows = SourceRows(events, pipeline, self._store, arrived=earlier)
        until_us, plans = arrival_slices.until_us(run), SmallPlans.interpreted(spark)
        has_timeline = run.kind == CHANGED and staging.has_work(lake, run.run_id, "timeline")
        self._ground = Ground(
            rows, pipeline, self._store, until_us=until_us, resumed=resumed, plans=plans, has_timeline=has_timeline
        )
        self._closed: ClosedWindowsStaging | None = None
        if base is not None and self._ground.closed is not None:
            self._closed = ClosedWindowsStaging(spark, lake, run, base, self._ground, self._ground.closed)
        self._counting = Counting(spark, pipeline, lake, run, rows.prepared)

    def write(self, slices: int) -> dict[str, int]:
        """Stage everything; return the run's counts."""
        counts = self._counted()
        if self._pipeline.replay.in_rounds:
            self._store.write("drift", "all", self._ground.drift())
        if self._pipeline.quality.max_silence_ms is not None:
            silent = silence.partitions(self._whole_census, self._pipeline, until_us=self._ground.until_us)
            self._store.write(silence.TABLE, "all", silent)
        rows = counts["rows_read"]
        with shuffling(self._spark, rows), interpreting_few(self._spark, rows, self._bytes):
            if self._pipeline.windows.is_session:
                self._write_sessions(counts)
                counts = self._counting.of_interval(counts)
                return {**counts, **self._counting.staged(counts, []), **self._cost()}
            parts, closed = self._write_windows(slices, counts)
        return {**counts, **self._counting.staged(counts, parts), **closed, **self._cost()}

    def cut(self, slices: int) -> list[Slice]:
        """Compute what slices stand on, and cut the run into slices."""
        counts = self._counted()
        with shuffling(self._spark, counts["rows_read"]):
            self._ground.shared()
            return self._slices(slices, counts["rows_read"])

    def write_slice(self, part: Slice) -> None:
        """Stage a slice alone."""
        counts = self._counted()
        with shuffling(self._spark, counts["rows_read"]), ThreadPoolExecutor(max_workers=_THREADS) as pool:
            self._ground.shared()
            self._write(stages_of(self._ground, part), pool).result()
        self._report(f"{part.name} staged")

    def _counted(self) -> dict[str, int]:
        """The rows that the census counts."""
        pinned = ", ".join(map(str, self._run.pinned.values()))
        self._report(f"counting version {pinned} of {self._pipeline.source.table}")
        counts = self._counting.read(self._ground.census)
        self._store.expect(counts["rows_read"])
        self._report(f"{counts['rows_read']:,} rows, {counts['invalid']:,} of them without a usable time")
        return counts

    def _write_sessions(self, counts: Mapping[str, int]) -> None:
        """Stage the tables of sessions, which are written in one piece."""
        stages = stages_of(self._ground, self._whole)
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            beside = [*_begun(pool, stages.first_panes), pool.submit(self._write_watermarks)]
            beside += _begun(pool, [*stages.more_panes, stages.write_results, *stages.late_events])
            if self._pipeline.is_complete:
                beside.append(pool.submit(stages.write_complete))
            _finish(beside)
        self._write_invalid(counts)
        self._report("sessions staged")

    def _write_windows(self, slices: int, counts: Mapping[str, int]) -> tuple[list[Slice], dict[str, int]]:
        """Stage the tables of windows, slice by slice; return the slices, and the counts of closed windows."""
        self._ground.shared()
        parts = self._slices(slices, counts["rows_read"])
        closed_counts: dict[str, int] = {}
        began = monotonic()
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            beside = [pool.submit(self._write_watermarks), pool.submit(self._write_invalid, counts)]
            beside += self._write_emissions(pool)
            for i, part in enumerate(parts):
                # Late rows of closed windows are computed together with those of the first slice.
                closed = None if i else self._closed
                stages = stages_of(self._ground, part, with_closed=closed is not None)
                results = self._write(stages, pool)
                if closed is not None:
                    beside += closed.write_late(pool, stages.late_rows)
                    closed_counts = closed.late_counts(stages.late_rows)
                beside.append(results)
                self._report(staged(i + 1, len(parts), monotonic() - began))
            _finish(beside)
        return parts, closed_counts if self._closed is None else {**closed_counts, **self._closed.counts()}

    def _write(self, stages: Stages, pool: ThreadPoolExecutor) -> Future[None]:
        """Stage the panes and late events of a slice.

        Returns the staging of its results: meanwhile, the panes of the next slice can be computed.
        """
        # On-time panes and late rows are computed side by side, unless one reads the other.
        first = [] if stages.awaits_late_rows else _begun(pool, stages.first_panes)
        late_events = _begun(pool, stages.late_events)
        _finish(first)
        for write in [*(stages.first_panes if stages.awaits_late_rows else []), *stages.more_panes]:
            write()
        _finish(late_events)
        return pool.submit(self._write_results, stages)

    def _write_results(self, stages: Stages) -> None:
        stages.write_results()
        if self._pipeline.is_complete:
            stages.write_complete()

    def _write_emissions(self, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Stage, in `pool`, the emissions that a later run may go on from, and closed windows but for late rows."""
        if not self._can_be_resumed:
            return []
        if self._closed is not None:
            return self._closed.write(pool)
        return [pool.submit(lambda: self._store.write("advances", "all", self._ground.emissions(self._whole_census)))]

    @property
    def _whole_census(self) -> DataFrame:
        """The census of all rows; that of a run over changes may be of the rows near its windows."""
        run_id = self._run.run_id
        if self._run.kind != CHANGED or not whole_intermediates.is_of_nearby_rows(self._lake, run_id):
            return self._ground.census
        census = whole_intermediates.stored(self._spark, self._lake, run_id, "census")
        return self._ground.census if census is None else census.rows()

    def _write_watermarks(self) -> None:
        self._store.write("watermarks", "all", self._ground.watermarks(self._whole))

    def _write_invalid(self, counts: Mapping[str, int]) -> None:
        rows = self._ground.invalid_events()
        count = counts["invalid"] + counts.get(LeftOut.QUARANTINED, 0) if self._counting.has_invalid else 0
        self._store.write("invalid_events", "all", rows if count else rows.limit(0))

    def _slices(self, count: int, rows: int) -> list[Slice]:
        """Cut the interval into `count` slices, and before the windows that a later run will replace.

        The files of these windows then contain nothing else, and publishing the later run need not copy other windows.
        """
        if self._run.kind == CHANGED:
            return settled(self._lake, self._run.run_id, [self._whole])
        also: list[int] = []
        if rows > WORTH_A_SLICE and self._ground.closed is None and self._can_be_resumed:
            open_ms = F.min(F.when(F.col("closes_us").isNull(), F.col("window_ms")))
            row = self._ground.calendar.agg(open_ms.alias("open"), F.min("window_ms").alias("first")).collect()[0]
            also = [] if row.open in (None, row.first) else [row.open]
        wished = slices_of(self._ground.census, self._whole, count, also)
        parts = settled(self._lake, self._run.run_id, wished)
        if parts != wished:
            self._report(f"in {len(parts)} slices as an earlier attempt has begun, not in {len(wished)}")
        return parts

    def _cost(self) -> dict[str, int]:
        return cost(self._spark, self._lake, self._run.run_id) if self._pipeline.is_complete else {}

    def _report(self, text: str) -> None:
        self._progress(StepName.REPLAY, text)


def _begun(pool: ThreadPoolExecutor, writes: Sequence[Write]) -> list[Future[None]]:
    return [pool.submit(write) for write in writes]


def _finish(writes: Sequence[Future[None]]) -> None:
    for write in writes:
        write.result()
