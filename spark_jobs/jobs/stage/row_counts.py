"""Counting: how many rows of a run met which fate, from its census and from what it has staged.

Law (semantics page, B8): rows read = invalid + filtered + on time + late + too late, and + unassigned where windows
leave gaps. What tables hold is counted by Delta already; only rows that lie between two tables are counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.stage import session_staging
from spark_jobs.jobs.stage.slices import Slice, whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import per_epoch, retractions, triggers
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.sessions import session_panes
from spark_jobs.replay.windows import late_events, lateness
from spark_jobs.semantics.rows import event_time as rule
from spark_jobs.tables import staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run

IMPLAUSIBLE = (rule.EVENT_TIME_IN_FUTURE, rule.EVENT_TIME_OUT_OF_RANGE)


class Counting:
    """Counts the rows of one run; `prepared` are the source's rows, made ready."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, prepared: DataFrame) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._interval = Interval(run.interval_start, run.interval_end)
        self._prepared = prepared

    def read(self, groups: DataFrame) -> dict[str, int]:
        """Rows of the census by what becomes of them. Raises InputError for event times in the wrong unit."""
        valid = F.col("reason").isNull()
        # Which rows belong to an interval's sessions is told by the sessions, later.
        of_sessions = self._pipeline.windows.kind == window_assigners.SESSION
        held = valid if of_sessions else valid & self._interval.holds(F.timestamp_millis("window_ms"))
        inside = self._whole_or(held)
        kept = inside & valid & F.col("kept")
        spec = self._pipeline.windows
        oldest = window_assigners.oldest_ms(F.col("slice_ms"), spec)
        sums = {
            "rows_read": inside,
            "invalid": inside & ~valid,
            "filtered": inside & valid & ~F.col("kept"),
            "unassigned": kept & (oldest > F.col("window_ms")),
            "implausible": F.col("reason").isin(*IMPLAUSIBLE),
            "timed": valid | F.col("reason").isin(*IMPLAUSIBLE),
        }
        counts = {name: F.when(holds, F.col("row_count")) for name, holds in sums.items()}
        if window_assigners.overlap(spec):
            held = whole(self._interval).windows_between(oldest, F.col("window_ms"), spec)
            counts["row_windows"] = F.when(valid & F.col("kept"), held * F.col("row_count"))
        row = groups.agg(*(F.coalesce(F.sum(n), F.lit(0)).alias(name) for name, n in counts.items()))
        found = {name: int(n) for name, n in row.collect()[0].asDict().items()}
        refuse_wrong_unit(self._prepared, self._pipeline, found.pop("implausible"), found.pop("timed"))
        return found

    def _whole_or(self, condition: Column) -> Column:
        return F.lit(True) if self._interval.whole else condition

    def of_interval(self, read: Mapping[str, int]) -> dict[str, int]:
        """With the rows that belong to the interval: which these are, only the sessions tell."""
        if self._interval.whole:
            return dict(read)
        where = (self._spark, self._lake, self._run.run_id)
        panes, results = (staging.read_staged(*where, table) for table in ("panes", "window_results"))
        filtered = session_staging.filtered(self._prepared, self._interval) if self._pipeline.source.where else 0
        held = session_staging.held(panes, results, self._pipeline)
        rows_read = filtered + held + self._too_late([])
        return {**read, "rows_read": rows_read, "filtered": filtered}

    def staged(self, read: Mapping[str, int], parts: Sequence[Slice], late: int | None = None) -> dict[str, int]:
        """What is staged, from Delta's own count of its rows; no row is read again for it.

        `late` are the late rows, if they have been counted.

        The audit counts the rows themselves, and what the panes hold, and compares. Rows in windows that are still open
        are on time.
        """
        where = (self._spark, self._lake, self._run.run_id)
        panes = staging.panes_by_timing(*where)
        found = {"late": panes["late"] if late is None else late, "too_late": self._too_late(parts)}
        overlap = window_assigners.overlap(self._pipeline.windows)
        told_apart = overlap or per_epoch.gathers(self._pipeline) or not triggers.is_default(self._pipeline)
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
        if self._pipeline.windows.kind == window_assigners.SESSION:
            missed = session_panes.too_late_rows(
                staging.read_work(*where, "ranked"), staging.read_work(*where, "scanned")
            )
            return missed.where(self._interval.holds(F.timestamp_millis(c.WINDOW_MS))).count()
        dropped = (staging.read_work(*where, f"late_rows/{p.name}").where(p.holds(F.col(c.WINDOW_MS))) for p in parts)
        return sum(rows.where(c.TOO_LATE).count() for rows in dropped)

    def _behind(self, parts: Sequence[Slice]) -> dict[str, int]:
        """Of the rows behind one of their windows: how many are late, how many windows have dropped one.

        With those without a window that are late events all the same (`reported`). Where a row has one window and fires
        a pane of its own, a late pane is a late row; else the rows that lie between two tables have to be counted.
        """
        spec = self._pipeline.windows
        oldest, newest = windows_of(self._pipeline)
        watermark = F.col(c.WATERMARK_MS)
        dropping = F.least(newest, lateness.oldest_accepting_ms(watermark, spec) - F.lit(spec.period_ms))
        sums: Counter[str] = Counter()
        for part in parts:
            rows = staging.read_work(self._spark, self._lake, self._run.run_id, f"late_rows/{part.name}")
            # Those of the first slice may have others beside them, of windows that were closed before.
            rows, owned = rows.where(part.reaches(oldest, newest)), part.holds(newest)
            late = owned & ~F.col(c.TOO_LATE) & (newest < lateness.oldest_on_time_ms(watermark, spec))
            row = rows.agg(
                F.count_if(late).alias("late"),
                F.count_if(owned & (oldest > newest)).alias("reported"),
                F.coalesce(F.sum(part.windows_between(oldest, dropping, spec)), F.lit(0)).alias("row_windows_dropped"),
            )
            sums.update({name: int(n) for name, n in row.collect()[0].asDict().items()})
        return dict(sums)


def windows_of(pipeline: Pipeline) -> tuple[Column, Column]:
    """Start of the oldest and of the newest window of a prepared row."""
    return window_assigners.oldest_ms(F.col(c.TS_MS), pipeline.windows), F.col(c.WINDOW_MS)


def refuse_wrong_unit(prepared: DataFrame, pipeline: Pipeline, implausible: int, timed: int) -> None:
    """Raise InputError if most of the `timed` event times of `prepared` cannot be: `implausible` are as many."""
    if implausible * 2 <= timed:
        return
    field = pipeline.source.event_time
    example = prepared.where(F.col(c.REASON).isin(*IMPLAUSIBLE)).select(c.EVENT_US).head()
    year = 1970 + (example[0] if example else 0) / (365.2425 * 86_400e6)
    raise InputError(
        (f"source.event_time: read '{field.expression}'" if field.expression else "sources: read their event times")
        + (f" in {field.unit.value}" if field.unit else "")
        + f", found {implausible:,} of {timed:,} event times in the future of their arrival or beyond any calendar "
        f"(the first in the year {year:,.0f}). The unit is probably finer than declared: "
        "give source.event_time as {column, unit: s|ms|us|ns}"
    )
