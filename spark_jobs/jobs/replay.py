"""The replay step: computes everything a run would publish and writes it to the run's staging area.

The census and the calendar are computed once; then slices of windows, oldest first, each written before the next
begins. A killed step is finished by the same command: what was written is found and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from time import monotonic

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs import arrivals
from spark_jobs.jobs.behind_staging import BehindStaging
from spark_jobs.jobs.complete_staging import CompleteStaging, cost
from spark_jobs.jobs.counting import Counting, windows_of
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.join_staging import JoinStaging
from spark_jobs.jobs.progress import Progress, staged
from spark_jobs.jobs.session_staging import SessionStaging
from spark_jobs.jobs.slices import Slice, settled, slices_of
from spark_jobs.jobs.slices import whole as whole_of
from spark_jobs.jobs.trigger_staging import TriggerStaging
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay import (
    arrival_order,
    gathering,
    generators,
    late_events,
    late_panes,
    lateness,
    panes,
    resume,
    retractions,
    rounds,
    timeline,
    triggers,
    window_slices,
    windows,
)
from spark_jobs.replay import columns as c
from spark_jobs.replay.calendar import calendar
from spark_jobs.replay.census import census, is_small, moving
from spark_jobs.replay.engine import watermarks
from spark_jobs.replay.epochs import Axis, axis
from spark_jobs.replay.events import fills_windows, moves_watermark, prepare, quoted
from spark_jobs.session import interpreting, shuffling
from spark_jobs.tables import staging, vanished
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run

#: A first run of more rows gives windows that are still open a slice of their own.
WORTH_A_SLICE = 1_000_000
#: About as many results are in a file that a later run may have to change.
RESULTS_OF_A_FILE = 100_000


def stage(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, *, slices: int, progress: Progress
) -> dict[str, int]:
    """Write what `run` would publish to its staging area; returns its counts.

    Raises InputError when most event times cannot be, which is a wrong unit and not bad rows, when a watermark
    generator of the user's fails, and when the source can no longer be read as it was planned.
    """
    try:
        return _staged(spark, pipeline, lake, run, slices, progress)
    except Exception:
        # What it failed of may stand in the way of this too.
        with suppress(Exception):
            staging.tidy(spark, lake, run.run_id)
        raise


def _staged(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, slices: int, progress: Progress
) -> dict[str, int]:
    try:
        if pipeline.join is not None:
            return JoinStaging(spark, pipeline, lake, run, progress).write()
        return _Staging(spark, pipeline, lake, run, progress).write(slices)
    except SourceError as problem:
        raise InputError(str(problem)) from problem
    except (PySparkException, Py4JError) as problem:
        fault = generators.fault(problem) if isinstance(problem, PythonException) else None
        told = f"watermark.class: {fault}" if fault else vanished.told(spark, pipeline, run.pinned, problem)
        if told is None:
            raise
        raise InputError(told) from problem


class _Staging:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, progress: Progress) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._progress = progress
        self._interval = Interval(run.interval_start, run.interval_end)
        self._until_us = arrivals.until_us(run)
        base = arrivals.base(spark, lake, run)
        self._resumed = arrivals.resumption(spark, pipeline, lake, run, base)
        self._behind: BehindStaging | None = None
        if base is not None and self._resumed is not None:
            self._behind = BehindStaging(spark, pipeline, lake, run, base, self._resumed)
        self._events = arrivals.read(spark, pipeline, run, self._resumed)
        self._prepared = prepare(self._events, pipeline)
        self._advances: DataFrame | None = None

    @cached_property
    def _rows(self) -> DataFrame:
        placed = self._prepared
        if rounds.are_made(self._pipeline):
            read = self._kept(rounds.rounds(self._prepared, self._pipeline), "rounds")
            placed = rounds.placed(self._prepared, read, self._pipeline)
        return arrival_order.with_epoch(placed, self._pipeline)

    @cached_property
    def _moving(self) -> DataFrame:
        return self._rows.where(moves_watermark(self._pipeline))

    def write(self, slices: int) -> dict[str, int]:
        pinned = ", ".join(map(str, self._run.pinned.values()))
        self._say(f"counting version {pinned} of {self._pipeline.source.table}")
        groups = self._census()
        counting = Counting(self._spark, self._pipeline, self._lake, self._run, self._prepared)
        counts = counting.read(groups)
        self._say(f"{counts['rows_read']:,} rows, {counts['invalid']:,} of them without a usable time")
        if rounds.are_made(self._pipeline):
            self._stage(rounds.drift(self._prepared, self._pipeline), "drift", "all")
        if self._pipeline.windows.kind == windows.SESSION:
            with shuffling(self._spark, counts["rows_read"]):
                late = self._stage_sessions(groups, counts["invalid"])
            counts = counting.of_interval(counts)
            return {**counts, **counting.staged(counts, [], late), **self._cost()}
        with shuffling(self._spark, counts["rows_read"]):
            parts, behind = self._stage_all(groups, slices, counts)
            return {**counts, **counting.staged(counts, parts), **behind, **self._cost()}

    def _cost(self) -> dict[str, int]:
        return cost(self._spark, self._lake, self._run.run_id) if self._pipeline.is_complete else {}

    def _census(self) -> DataFrame:
        """The census, and what is known of rows before it; small ones read in one piece, for small plans."""
        groups = self._counted()
        return groups if self._resumed is None else resume.with_known(groups, self._resumed, self._pipeline)

    def _counted(self) -> DataFrame:
        groups = self._kept(census(self._rows, self._pipeline), "census", interpreting(self._spark))
        if not is_small(groups):
            return self._kept(groups, "census")
        # Where rows are epochs, events are read as well, which are not few.
        by_event = axis(self._pipeline) is not Axis.TICKS
        return (self._kept(groups, "census") if by_event else groups).coalesce(1)

    def _stage_sessions(self, groups: DataFrame, invalid: int) -> int | None:
        """Stage everything; returns the late rows where a late pane may not be one."""
        filling = self._rows.where(fills_windows())
        sessions = SessionStaging(
            self._pipeline, self._interval, filling, self._moving, self._kept, self._stage, self._until_us
        )
        late = sessions.write(groups)
        self._invalid(invalid)
        self._say("sessions staged")
        return late

    def _stage_all(
        self, groups: DataFrame, slices: int, counts: Mapping[str, int]
    ) -> tuple[list[Slice], dict[str, int]]:
        """Stage everything; returns the slices, and what is counted of windows that were closed before."""
        pipeline = self._pipeline
        advances = self._timeline(groups)
        self._advances = advances if timeline.tells_all(pipeline) else None
        book = self._kept(
            calendar(groups, self._moving, pipeline, until_us=self._until_us, advances=self._advances),
            "calendar",
            groups.sparkSession,
        )
        parts = self._slices(groups, book, slices, counts["rows_read"])
        firing = None
        if not triggers.is_default(pipeline) and advances is not None:
            firing = TriggerStaging(pipeline, groups, advances, self._kept, self._stage, self._until_us)
        complete = CompleteStaging(pipeline, book, self._kept, self._stage, self._staged_part)
        began = monotonic()
        with ThreadPoolExecutor(max_workers=4) as pool:
            beside = [pool.submit(self._watermarks, book), pool.submit(self._invalid, counts["invalid"])]
            beside += self._emitted(groups, pool)
            behind: dict[str, int] = {}
            for i, part in enumerate(parts):
                # Late rows of closed windows are found together with those of the first slice.
                closed = None if i else self._behind
                late, fired = self._panes(part, book, groups, pool, firing, closed)
                if closed is not None:
                    beside += closed.write_late(pool, late)
                    behind = closed.late_counts(late)
                # While the results of a slice are written, the next slice's panes are computed.
                beside.append(pool.submit(self._told, part, late, fired, firing, complete))
                self._say(staged(i + 1, len(parts), monotonic() - began))
            for future in beside:
                future.result()
        if self._behind is not None:
            behind |= self._behind.counts()
        return parts, behind

    def _emitted(self, groups: DataFrame, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Stage, in `pool`, what a later run may go on from, and what was closed before this one but for late rows."""
        if not self._can_be_gone_on_from:
            return []

        def emissions() -> DataFrame:
            return resume.emissions(groups, self._moving, self._pipeline, until_us=self._until_us)

        if self._behind is None:
            return [pool.submit(lambda: self._stage(emissions(), "advances", "all"))]
        return self._behind.write(pool, groups, self._prepared, emissions)

    def _timeline(self, groups: DataFrame) -> DataFrame | None:
        """The stored timeline, where it is all that tells the watermark, or what windows fire by."""
        if not timeline.tells_all(self._pipeline) and triggers.is_default(self._pipeline):
            return None
        found = timeline.advances(moving(groups, self._pipeline), self._moving, self._pipeline, until_us=self._until_us)
        return self._kept(found, "timeline", groups.sparkSession)

    def _kept(self, rows: DataFrame, name: str, reader: SparkSession | None = None) -> DataFrame:
        return staging.kept(rows, self._lake, self._run.run_id, name, reader=reader or self._spark)

    def _say(self, text: str) -> None:
        self._progress("replay", text)

    def _slices(self, groups: DataFrame, book: DataFrame, wanted: int, rows: int) -> list[Slice]:
        """The interval cut as asked, and before the windows that a later run will replace.

        Those are then in files of their own: publishing the later run need not carry over what else is in them.
        """
        also: list[int] = []
        if rows > WORTH_A_SLICE and self._resumed is None and self._can_be_gone_on_from:
            open_ms = F.min(F.when(F.col("closes_us").isNull(), F.col("window_ms")))
            told = book.agg(open_ms.alias("open"), F.min("window_ms").alias("first")).collect()[0]
            also = [] if told.open in (None, told.first) else [told.open]
        asked = slices_of(groups, whole_of(self._interval), wanted, also)
        parts = settled(self._spark, self._lake, self._run.run_id, asked)
        if parts != asked:
            self._say(f"in {len(parts)} slices as an earlier attempt has begun, asked for {len(asked)}")
        return parts

    @property
    def _can_be_gone_on_from(self) -> bool:
        return self._run.arrived_to is not None and resume.can_resume(self._pipeline)

    def _panes(
        self,
        part: Slice,
        book: DataFrame,
        groups: DataFrame,
        pool: ThreadPoolExecutor,
        firing: TriggerStaging | None,
        closed: BehindStaging | None,
    ) -> tuple[DataFrame, DataFrame | None]:
        """Stage the slice's panes and late events.

        Returns its late rows, with those of `closed` windows, and its panes if `firing` has made them.
        """
        pipeline, name, owned = self._pipeline, part.name, part.holds(F.col(c.WINDOW_MS))
        filling = self._filling(part)
        on_time = lateness.on_time(filling, book, pipeline.windows)
        # A row that is late for one window may be on time for another: then late rows come first, else side by side.
        several = windows.overlap(pipeline.windows)
        beside = None if several or firing else pool.submit(self._on_time, part, on_time, None, book)
        late = self._late_rows(part, filling, book, groups, closed)
        untaken = late_events.late_events(late.where(owned), pipeline)
        missed = pool.submit(self._stage, untaken, "late_events", name)
        if firing is not None:
            fired = firing.panes(part, on_time, late)
            missed.result()
            return late, fired
        if beside is None:
            self._on_time(part, on_time, late, book)
        else:
            beside.result()
        first = self._staged_part("panes", f"{name}/on-time")
        pairs = window_slices.on_time_pairs(on_time, late if several else None, pipeline)
        owned_late = window_slices.late_pairs(late, pipeline).where(owned)
        emissions = self._emissions(late, groups) if gathering.gathers(pipeline) else None
        revised = late_panes.late_panes(owned_late, pairs, first, pipeline, emissions)
        self._stage(self._kept_pane(revised), "panes", f"{name}/late")
        if retractions.retracts(pipeline):
            again = self._staged_part("panes", f"{name}/late").select(revised.columns)
            withdrawn = retractions.between(first.select(revised.columns), again, pipeline)
            self._stage(withdrawn, "panes", f"{name}/{staging.RETRACTIONS}")
        missed.result()
        return late, None

    def _emissions(self, late: DataFrame, groups: DataFrame) -> DataFrame:
        """When late rows that are gathered fire."""
        return gathering.emissions(late_events.epochs_of(late), groups, self._pipeline, until_us=self._until_us)

    def _kept_pane(self, panes: DataFrame) -> DataFrame:
        return retractions.kept(panes) if retractions.retracts(self._pipeline) else panes

    def _on_time(self, part: Slice, on_time: DataFrame, late: DataFrame | None, book: DataFrame) -> None:
        fired = panes.on_time_panes(on_time, late, book, self._pipeline)
        self._stage(self._kept_pane(fired.where(part.holds(_start_ms()))), "panes", f"{part.name}/on-time")

    def _told(
        self,
        part: Slice,
        late: DataFrame,
        fired: DataFrame | None,
        firing: TriggerStaging | None,
        complete: CompleteStaging,
    ) -> None:
        """Stage the slice's results, and what all rows say beside them."""
        if firing is None or fired is None:
            self._results(part, late)
        else:
            firing.results(part, fired, late)
        if self._pipeline.is_complete:
            complete.write(part, self._of_slice(part), late, fired)

    def _results(self, part: Slice, late: DataFrame) -> None:
        first, more = (self._staged_part("panes", f"{part.name}/{timing}") for timing in ("on-time", "late"))
        missed = window_slices.missed(late, self._pipeline).where(part.holds(F.col(c.WINDOW_MS)))
        results = panes.window_results(first, more, missed, self._pipeline)
        if self._can_be_gone_on_from:
            # A row that comes too late changes a result, and publishing writes the file that it is in anew.
            pieces = staging.row_count(self._spark, self._lake, self._run.run_id, "panes") // RESULTS_OF_A_FILE
            results = results.repartitionByRange(pieces, "window_start") if pieces > 1 else results
        self._stage(results, "window_results", part.name)

    def _staged_part(self, table: str, name: str) -> DataFrame:
        return staging.part(self._spark, self._lake, self._run.run_id, table, name)

    def _filling(self, part: Slice) -> DataFrame:
        """The rows that fill the slice's windows, with epoch: of rows that are numbered all have to be read."""
        pipeline = self._pipeline
        if arrival_order.is_numbered(pipeline) or rounds.are_made(pipeline):
            return self._rows.where(fills_windows() & part.reaches(*windows_of(pipeline)))
        return arrival_order.with_epoch(self._of_slice(part), pipeline)

    def _of_slice(self, part: Slice) -> DataFrame:
        """The prepared rows that fill the slice's windows; of a plain timestamp only files that can hold them."""
        pipeline, read = self._pipeline, self._events
        event_time, size = pipeline.source.event_time.expression, pipeline.windows.size_ms
        # An expression has no statistics.
        if isinstance({f.name: f.dataType for f in read.schema}.get(event_time), T.TimestampType):
            if part.start_ms is not None:
                read = read.where(F.col(quoted(event_time)) >= F.timestamp_millis(F.lit(part.start_ms)))
            if part.end_ms is not None:
                read = read.where(F.col(quoted(event_time)) < F.timestamp_millis(F.lit(part.end_ms + size)))
        rows = self._prepared if read is self._events else prepare(read, pipeline)
        return rows.where(fills_windows() & part.reaches(*windows_of(pipeline)))

    def _late_rows(
        self, part: Slice, filling: DataFrame, book: DataFrame, groups: DataFrame, closed: BehindStaging | None
    ) -> DataFrame:
        """The rows of the slice, and of `closed` windows, that are behind a window of theirs.

        Nothing is read where the census knows that there are none.
        """
        pipeline, name = self._pipeline, part.name
        reached = part.reaches(windows.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms"))
        if closed is not None:
            came = part.reaches(*windows_of(pipeline)) | closed.reached()
            filling = self._rows.where(fills_windows() & came)
            reached = reached | closed.reached_by_groups()
        behind = late_events.behind(filling, book, pipeline)
        epochs = late_events.epochs(groups.where(reached), book, pipeline)
        told = (groups, pipeline, self._moving)
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

    def _watermarks(self, book: DataFrame) -> None:
        inside = book.where(self._interval.holds(F.timestamp_millis("window_ms")))
        self._stage(watermarks(inside, self._pipeline), "watermarks", "all")

    def _invalid(self, count: int) -> None:
        rows = late_events.invalid_events(self._prepared, self._pipeline)
        self._stage(rows if count else rows.limit(0), "invalid_events", "all")

    def _stage(self, rows: DataFrame, table: str, part: str) -> None:
        staging.stage(rows, self._lake, self._run.run_id, table, part)


def _start_ms() -> Column:
    return F.unix_millis("window_start")
