"""The replay step: computes everything a run would publish and writes it to the run's staging area.

The census and the calendar are computed once; then slices of windows, oldest first, each written before the next
begins. A killed step is finished by the same command: what was written is found and kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise

from pyspark.errors import PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs import session_staging
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.progress import Progress
from spark_jobs.jobs.session_staging import SessionStaging
from spark_jobs.jobs.slices import Slice
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
    retractions,
    rounds,
    session_panes,
    timeline,
    timestamps,
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
from spark_jobs.semantics import event_time as rule
from spark_jobs.session import interpreting, shuffling
from spark_jobs.tables import source, staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.publishing import Interval

_IMPLAUSIBLE = (rule.EVENT_TIME_IN_FUTURE, rule.EVENT_TIME_OUT_OF_RANGE)


def stage(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, *, slices: int, progress: Progress
) -> dict[str, int]:
    """Write what `run` would publish to its staging area; returns its counts.

    Raises InputError when most event times cannot be, which is a wrong unit and not bad rows, and when a watermark
    generator of the user's fails.
    """
    try:
        return _Staging(spark, pipeline, lake, run, progress).write(slices)
    except PythonException as problem:
        fault = generators.fault(problem)
        if fault is None:
            raise
        raise InputError(f"watermark.class: {fault}") from problem


class _Staging:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, progress: Progress) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._progress = progress
        self._interval = Interval(run.interval_start, run.interval_end)
        self._events = source.events(spark, pipeline, run.pinned)
        self._prepared = prepare(self._events, pipeline)

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
        counts = self._counted(groups)
        self._say(f"{counts['rows_read']:,} rows, {counts['invalid']:,} of them without a usable time")
        if rounds.are_made(self._pipeline):
            self._stage(rounds.drift(self._prepared, self._pipeline), "drift", "all")
        if self._pipeline.windows.kind == windows.SESSION:
            with shuffling(self._spark, counts["rows_read"]):
                late = self._stage_sessions(groups, counts["invalid"])
            counts = self._counted_sessions(counts)
            return {**counts, **self._written(counts, [], late)}
        with shuffling(self._spark, counts["rows_read"]):
            parts = self._stage_all(groups, slices, counts["invalid"])
            return {**counts, **self._written(counts, parts)}

    def _census(self) -> DataFrame:
        """The census, read in one piece by the session for small plans while it is small."""
        groups = self._kept(census(self._rows, self._pipeline), "census", interpreting(self._spark))
        if not is_small(groups):
            return self._kept(groups, "census")
        # Where rows are epochs, events are read as well, which are not few.
        by_event = axis(self._pipeline) is not Axis.TICKS
        return (self._kept(groups, "census") if by_event else groups).coalesce(1)

    def _stage_sessions(self, groups: DataFrame, invalid: int) -> int | None:
        """Stage everything; returns the late rows where a late pane may not be one."""
        filling = self._rows.where(fills_windows())
        sessions = SessionStaging(self._pipeline, self._interval, filling, self._moving, self._kept, self._stage)
        late = sessions.write(groups)
        self._invalid(invalid)
        self._say("sessions staged")
        return late

    def _counted_sessions(self, read: Mapping[str, int]) -> dict[str, int]:
        """With the rows that belong to the interval: which these are, only the sessions tell."""
        if self._interval.whole:
            return dict(read)
        where = (self._spark, self._lake, self._run.run_id)
        panes, results = (staging.staged(*where, table) for table in ("panes", "window_results"))
        filtered = session_staging.filtered(self._prepared, self._interval) if self._pipeline.source.where else 0
        held = session_staging.held(panes, results, self._pipeline)
        rows_read = filtered + held + self._too_late([])
        return {**read, "rows_read": rows_read, "filtered": filtered}

    def _stage_all(self, groups: DataFrame, slices: int, invalid: int) -> list[Slice]:
        pipeline = self._pipeline
        told = calendar(groups, self._moving, pipeline, advances=self._advances(groups))
        book = self._kept(told, "calendar", groups.sparkSession)
        parts = self._slices(groups, slices)
        firing = None
        if not triggers.is_default(pipeline):
            firing = TriggerStaging(pipeline, groups, self._moving, self._kept, self._stage)
        with ThreadPoolExecutor(max_workers=4) as pool:
            beside = [pool.submit(self._watermarks, book), pool.submit(self._invalid, invalid)]
            for i, part in enumerate(parts):
                late, fired = self._panes(part, book, groups, pool, firing)
                # While the results of a slice are written, the next slice's panes are computed.
                if firing is None or fired is None:
                    beside.append(pool.submit(self._results, part, late))
                else:
                    beside.append(pool.submit(firing.results, part, fired, late))
                self._say(f"slice {i + 1} of {len(parts)} staged")
            for future in beside:
                future.result()
        return parts

    def _advances(self, groups: DataFrame) -> DataFrame | None:
        """The stored timeline, where it is all that tells the watermark."""
        if not timeline.tells_all(self._pipeline):
            return None
        found = timeline.advances(moving(groups, self._pipeline), self._moving, self._pipeline)
        return self._kept(found, "timeline", groups.sparkSession)

    def _kept(self, rows: DataFrame, name: str, reader: SparkSession | None = None) -> DataFrame:
        return staging.kept(rows, self._lake, self._run.run_id, name, reader=reader or self._spark)

    def _say(self, text: str) -> None:
        self._progress("replay", text)

    def _counted(self, groups: DataFrame) -> dict[str, int]:
        """Rows of the census by what becomes of them; refuses event times in the wrong unit."""
        valid = F.col("reason").isNull()
        # Which rows belong to an interval's sessions is told by the sessions, later.
        of_sessions = self._pipeline.windows.kind == windows.SESSION
        held = valid if of_sessions else valid & self._interval.holds(F.timestamp_millis("window_ms"))
        inside = self._whole_or(held)
        kept = inside & valid & F.col("kept")
        spec = self._pipeline.windows
        oldest = windows.oldest_ms(F.col("slice_ms"), spec)
        sums = {
            "rows_read": inside,
            "invalid": inside & ~valid,
            "filtered": inside & valid & ~F.col("kept"),
            "unassigned": kept & (oldest > F.col("window_ms")),
            "implausible": F.col("reason").isin(*_IMPLAUSIBLE),
            "timed": valid | F.col("reason").isin(*_IMPLAUSIBLE),
        }
        counts = {name: F.when(holds, F.col("row_count")) for name, holds in sums.items()}
        if windows.overlap(spec):
            held = self._whole.windows_between(oldest, F.col("window_ms"), spec)
            counts["row_windows"] = F.when(valid & F.col("kept"), held * F.col("row_count"))
        row = groups.agg(*(F.coalesce(F.sum(n), F.lit(0)).alias(name) for name, n in counts.items()))
        found = {name: int(n) for name, n in row.collect()[0].asDict().items()}
        implausible, timed = found.pop("implausible"), found.pop("timed")
        if implausible * 2 > timed:
            raise InputError(self._wrong_unit(implausible, timed))
        return found

    def _whole_or(self, condition: Column) -> Column:
        return F.lit(True) if self._interval.whole else condition

    def _wrong_unit(self, implausible: int, timed: int) -> str:
        field = self._pipeline.source.event_time
        example = self._prepared.where(F.col(c.REASON).isin(*_IMPLAUSIBLE)).select(c.EVENT_US).head()
        year = 1970 + (example[0] if example else 0) / (365.2425 * 86_400e6)
        return (
            (f"source.event_time: read '{field.expression}'" if field.expression else "sources: read their event times")
            + (f" in {field.unit.value}" if field.unit else "")
            + f", found {implausible:,} of {timed:,} event times in the future of their arrival or beyond any calendar "
            f"(the first in the year {year:,.0f}). The unit is probably finer than declared: "
            "give source.event_time as {column, unit: s|ms|us|ns}"
        )

    @cached_property
    def _whole(self) -> Slice:
        """The run's interval."""
        edges = (self._interval.start, self._interval.end)
        return Slice("slice-0", *(None if m is None else timestamps.literal_millis(m) for m in edges))

    def _slices(self, groups: DataFrame, wanted: int) -> list[Slice]:
        """The interval cut into `wanted` stretches of windows with about as many rows each."""
        whole = self._whole
        if wanted <= 1:
            return [whole]
        inside = groups.where(F.col("reason").isNull() & F.col("kept") & whole.holds(F.col("window_ms")))
        sizes = inside.groupBy("window_ms").agg(F.sum("row_count").alias("n")).orderBy("window_ms").collect()
        total, filled = sum(r.n for r in sizes), 0
        cuts: list[int] = []
        for row in sizes:
            if filled >= total * (len(cuts) + 1) / wanted and len(cuts) < wanted - 1:
                cuts.append(row.window_ms)
            filled += row.n
        edges = [whole.start_ms, *cuts, whole.end_ms]
        return [Slice(f"slice-{i}-of-{len(cuts) + 1}", a, b) for i, (a, b) in enumerate(pairwise(edges))]

    def _panes(
        self, part: Slice, book: DataFrame, groups: DataFrame, pool: ThreadPoolExecutor, firing: TriggerStaging | None
    ) -> tuple[DataFrame, DataFrame | None]:
        """Stage the slice's panes and late events; returns its late rows and, if `firing` has made them, its panes."""
        pipeline, name, owned = self._pipeline, part.name, part.holds(F.col(c.WINDOW_MS))
        filling = self._filling(part)
        on_time = lateness.on_time(filling, book, pipeline.windows)
        # A row that is late for one window may be on time for another: then late rows come first, else side by side.
        several = windows.overlap(pipeline.windows)
        beside = None if several or firing else pool.submit(self._on_time, part, on_time, None, book)
        late = self._late_rows(part, filling, book, groups)
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
        return gathering.emissions(late_events.epochs_of(late), groups, self._pipeline)

    def _kept_pane(self, panes: DataFrame) -> DataFrame:
        return retractions.kept(panes) if retractions.retracts(self._pipeline) else panes

    def _on_time(self, part: Slice, on_time: DataFrame, late: DataFrame | None, book: DataFrame) -> None:
        fired = panes.on_time_panes(on_time, late, book, self._pipeline)
        self._stage(self._kept_pane(fired.where(part.holds(_start_ms()))), "panes", f"{part.name}/on-time")

    def _results(self, part: Slice, late: DataFrame) -> None:
        first, more = (self._staged_part("panes", f"{part.name}/{timing}") for timing in ("on-time", "late"))
        missed = window_slices.missed(late, self._pipeline).where(part.holds(F.col(c.WINDOW_MS)))
        results = panes.window_results(first, more, missed, self._pipeline)
        self._stage(results, "window_results", part.name)

    def _staged_part(self, table: str, name: str) -> DataFrame:
        return staging.part(self._spark, self._lake, self._run.run_id, table, name)

    def _filling(self, part: Slice) -> DataFrame:
        """The rows that fill the slice's windows; of a plain timestamp column only the files that can hold them."""
        pipeline = self._pipeline
        event_time, size = pipeline.source.event_time.expression, pipeline.windows.size_ms
        kinds = {f.name: f.dataType for f in self._events.schema}
        # Epochs and rounds counted in rows need every row; an expression has no statistics.
        numbered = arrival_order.is_numbered(pipeline) or rounds.are_made(pipeline)
        prunable = not numbered and isinstance(kinds.get(event_time), T.TimestampType)
        if not prunable or (part.start_ms is None and part.end_ms is None):
            return self._rows.where(fills_windows() & part.reaches(*_windows(pipeline)))
        read = self._events
        if part.start_ms is not None:
            read = read.where(F.col(quoted(event_time)) >= F.timestamp_millis(F.lit(part.start_ms)))
        if part.end_ms is not None:
            read = read.where(F.col(quoted(event_time)) < F.timestamp_millis(F.lit(part.end_ms + size)))
        rows = arrival_order.with_epoch(prepare(read, pipeline), pipeline)
        return rows.where(fills_windows() & part.reaches(*_windows(pipeline)))

    def _late_rows(self, part: Slice, filling: DataFrame, book: DataFrame, groups: DataFrame) -> DataFrame:
        """The slice's rows behind a window of theirs; nothing is read where the census knows that there are none."""
        pipeline, name = self._pipeline, part.name
        behind = late_events.behind(filling, book, pipeline)
        reached = part.reaches(windows.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms"))
        epochs = late_events.epochs(groups.where(reached), book, pipeline)
        told = (groups, pipeline, self._moving)
        if epochs is None:
            if not late_events.may_hold_late(groups.where(reached), book, pipeline):
                behind = behind.limit(0)
            behind = self._kept(behind, f"behind/{name}", groups.sparkSession)
            asked = late_events.epochs_of(behind)
            missed = late_events.missed_watermarks(asked, *told, advances=self._advances(groups))
        else:
            missed = late_events.missed_watermarks(epochs, *told, advances=self._advances(groups))
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

    def _written(self, read: Mapping[str, int], parts: Sequence[Slice], late: int | None = None) -> dict[str, int]:
        """What is staged, from Delta's own count of its rows; no row is read again for it.

        `late` are the late rows, if they have been counted.

        The audit counts the rows themselves, and what the panes hold, and compares. Rows in windows that are still open
        are on time.
        """
        where = (self._spark, self._lake, self._run.run_id)
        panes = staging.panes_by_timing(*where)
        found = {"late": panes["late"] if late is None else late, "too_late": self._too_late(parts)}
        overlap = windows.overlap(self._pipeline.windows)
        told_apart = overlap or gathering.gathers(self._pipeline) or not triggers.is_default(self._pipeline)
        if parts and told_apart:
            found |= self._behind(parts)
        if not overlap:
            found.pop("row_windows_dropped", None)
        if retractions.retracts(self._pipeline):
            found["retractions"] = panes.pop(staging.RETRACTIONS, 0)
        # Of the rows without a window some are late events.
        unassigned = read["unassigned"] - found.pop("reported", 0)
        elsewhere = read["invalid"] + read["filtered"] + found["late"] + found["too_late"] + unassigned
        return {
            "on_time": read["rows_read"] - elsewhere,
            **found,
            "unassigned": unassigned,
            "windows": staging.row_count(*where, "window_results"),
            "panes": panes.total(),
            "early_panes": panes["early"],
            "late_panes": panes["late"],
        }

    def _too_late(self, parts: Sequence[Slice]) -> int:
        """How many rows of the interval no window took; those that are dropped are in no table."""
        where = (self._spark, self._lake, self._run.run_id)
        if not late_events.drops(self._pipeline):
            return staging.row_count(*where, "late_events")
        if self._pipeline.windows.kind == windows.SESSION:
            missed = session_panes.too_late_rows(staging.found(*where, "ranked"), staging.found(*where, "scanned"))
            return missed.where(self._interval.holds(F.timestamp_millis(c.WINDOW_MS))).count()
        dropped = (staging.found(*where, f"late_rows/{p.name}").where(p.holds(F.col(c.WINDOW_MS))) for p in parts)
        return sum(rows.where(c.TOO_LATE).count() for rows in dropped)

    def _behind(self, parts: Sequence[Slice]) -> dict[str, int]:
        """Of the rows behind one of their windows: how many are late, how many windows have dropped one.

        With those without a window that are late events all the same (`reported`). Where a row has one window and fires
        a pane of its own, a late pane is a late row; else the rows that lie between two tables have to be counted.
        """
        spec = self._pipeline.windows
        oldest, newest = _windows(self._pipeline)
        watermark = F.col(c.WATERMARK_MS)
        dropping = F.least(newest, lateness.oldest_accepting_ms(watermark, spec) - F.lit(spec.period_ms))
        sums: Counter[str] = Counter()
        for part in parts:
            rows = staging.found(self._spark, self._lake, self._run.run_id, f"late_rows/{part.name}")
            owned = part.holds(newest)
            late = owned & ~F.col(c.TOO_LATE) & (newest < lateness.oldest_on_time_ms(watermark, spec))
            row = rows.agg(
                F.count_if(late).alias("late"),
                F.count_if(owned & (oldest > newest)).alias("reported"),
                F.coalesce(F.sum(part.windows_between(oldest, dropping, spec)), F.lit(0)).alias("row_windows_dropped"),
            )
            sums.update({name: int(n) for name, n in row.collect()[0].asDict().items()})
        return dict(sums)


def _windows(pipeline: Pipeline) -> tuple[Column, Column]:
    """Start of the oldest and of the newest window of a prepared row."""
    return windows.oldest_ms(F.col(c.TS_MS), pipeline.windows), F.col(c.WINDOW_MS)


def _start_ms() -> Column:
    return F.unix_millis("window_start")
