"""Repair: windows that missed more rows than the pipeline allows are computed again with these rows and published.

    find      the closed windows that are due, and stretches of them
    repair    a run over each stretch, in which all late rows update results

A repair removes the added rows from `late_events`. All other windows keep their results, and `watermarks` is unchanged,
so later runs resume as before. A repair does not change a window that missed no row. So a stretch may include such
windows: another run costs more than a few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline, Repair
from spark_jobs.replay.rows import window_assigners
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.windows.grid import grid, next_start
from spark_jobs.tables import ledger
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_as_of

#: Another run costs as much as reading this number of rows between two due windows.
WORTH_A_RUN = 1_000_000


@dataclass(frozen=True)
class Stretch:
    """The windows of one repair run, which start in [start, end): some are due, the others missed no row.

    `windows` windows are due, and missed `too_late` rows together; overlapping windows may have missed one row each.
    """

    start: datetime
    end: datetime
    windows: int
    too_late: int
    joins: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the repair run."""
        return _counts(self.windows, self.too_late)


@dataclass(frozen=True)
class Due:
    """The due windows: stretches, oldest first; `restated` windows are due, but have results of other settings."""

    stretches: tuple[Stretch, ...]
    restated: int = 0

    @property
    def windows(self) -> int:
        """The number of windows to repair."""
        return sum(stretch.windows for stretch in self.stretches)

    @property
    def too_late(self) -> int:
        """The number of rows that these windows missed."""
        return sum(stretch.too_late for stretch in self.stretches)

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all runs together."""
        return _counts(self.windows, self.too_late)

    def in_words(self) -> str:
        """Return the due windows in a line."""
        line = "no window has missed more rows than are allowed"
        if self.stretches:
            first, last = self.stretches[0].start, self.stretches[-1].end
            span = f"between {first:%Y-%m-%d %H:%M} and {last:%Y-%m-%d %H:%M} UTC"
            line = f"closed windows {span} have missed more rows than are allowed: {self.windows:,} in "
            line += f"{len(self.stretches):,} stretches, {self.too_late:,} rows together"
        if self.restated:
            line += f"; {self.restated:,} more show results of other settings (--restate), and are left as they are"
        return line

    def as_json(self) -> dict[str, Any]:
        """Return all of it by name."""
        return {
            "windows": self.windows,
            "too_late": self.too_late,
            "restated": self.restated,
            "stretches": [{"start": s.start, "end": s.end, **s.counts} for s in self.stretches],
        }


def find(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Due:
    """Return the published windows that are due by the pipeline's `repair`.

    Raises InputError for a pipeline without `repair`, and if nothing is published.
    """
    if pipeline.repair is None:
        raise InputError(
            f"repair: {pipeline.path or pipeline.name} has no limit of missed rows. "
            "Set repair.max_too_late_rows or repair.max_too_late_ratio",
            code=ErrorCode.NOT_COMPARABLE,
        )
    standing = effective_runs(ledger.published(spark, lake))
    if standing.latest is None:
        raise InputError(
            f"repair: nothing is published in {lake.home}. Replay the pipeline first",
            code=ErrorCode.NOT_ENOUGH_PUBLISHED,
        )
    windows = _of_each_window(
        pipeline,
        late_events=read_as_of(spark, lake, standing.latest, "late_events"),
        window_results=read_as_of(spark, lake, standing.latest, "window_results"),
        panes=read_as_of(spark, lake, standing.latest, "panes"),
    )
    due = _apart(windows.withColumn("due", _exceeds(pipeline.repair)), pipeline).collect()
    restated = [part.interval for part in standing.partial if part.fingerprint not in pipeline.same_results]
    starts = grid(pipeline.windows)
    stretches = [
        Stretch(_moment(row.start_ms), _moment(next_start(row.start_ms, starts)), 1, row.missed, joins=row.joins)
        for row in due
    ]
    own = [s for s in stretches if not any(part.overlaps(Interval(s.start, s.end)) for part in restated)]
    return Due(tuple(_joined(own, restated)), len(stretches) - len(own))


class TakesRuns(Protocol):
    """Takes all steps of a run; the Runner does."""

    def run(self, interval: Interval, *, repair: Mapping[str, int] | None = None) -> list[StepResult]:
        """Plan the run over an interval of windows and take its steps; `repair` counts what it takes in."""


def preview(due: Due, pipeline: Pipeline) -> StepResult:
    """Return what a repair would do, and change nothing: a dry run, or unchanged where no window is due."""
    state = StepState.DRY_RUN if due.stretches else StepState.UNCHANGED
    return StepResult(StepName.REPAIR, "", pipeline.name, state, due.in_words(), due.counts)


def repair(runner: TakesRuns, due: Due, pipeline: Pipeline) -> StepResult:
    """Take the run of every stretch, one after the other; returns the last, with its steps. Raises as `Runner.run`."""
    began = monotonic()
    result = preview(due, pipeline)
    for stretch in due.stretches:
        *_, publish, report = steps = runner.run(Interval(stretch.start, stretch.end), repair=stretch.counts)
        result = replace(result, state=StepState.DONE, run_id=publish.run_id, versions=publish.versions)
        result = replace(result, report=report.report, following=tuple(steps))
    return replace(result, seconds=round(monotonic() - began, 3))


def _of_each_window(
    pipeline: Pipeline, *, late_events: DataFrame, window_results: DataFrame, panes: DataFrame
) -> DataFrame:
    """Return each window with missed rows, over all keys: `start_ms`, `missed`, and `rows`, the rows in its results.

    Too late rows are in `late_events`; if these are dropped, windows with a result count them. A row that one
    of several overlapping windows accepted is in no table, so it does not count as missed by an older window.
    """
    spec, start = pipeline.windows, F.unix_millis("window_start").alias("start_ms")
    # The newest window that a row has missed, and the earlier windows of the row.
    oldest = window_assigners.oldest_ms(F.unix_millis("event_time"), spec)
    rows = late_events.where("window_start is not null").select("event_time", start.alias("newest_ms"))
    starts = F.explode(window_assigners.starts_ms(oldest, F.col("newest_ms"), spec))
    by_window = rows.select(starts.alias("start_ms")).groupBy("start_ms")
    results = window_results.groupBy(start).agg(
        F.sum("too_late_count").alias("counted"), F.sum("row_count").alias("rows")
    )
    if spec.discards:
        in_panes = panes.groupBy(start).agg(F.sum("row_count").alias("rows"))
        results = results.drop("rows").join(in_panes, "start_ms", "left")
    joined = results.join(by_window.agg(F.count("*").alias("kept")), "start_ms", "full_outer")
    most_missed = F.greatest(F.coalesce("counted", F.lit(0)), F.coalesce("kept", F.lit(0)))
    return joined.select("start_ms", most_missed.alias("missed"), F.coalesce("rows", F.lit(0)).alias("rows"))


def _apart(windows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the `due` windows, in order, with `joins`: few rows lie between it and the last, and none was missed.

    Overlapping windows never join, since rows that they missed may be unknown.
    """
    before = Window.orderBy("start_ms").rowsBetween(Window.unboundedPreceding, -1)
    spoilt = F.coalesce(F.sum(F.when(~F.col("due") & (F.col("missed") > 0), 1).otherwise(0)).over(before), F.lit(0))
    rows = F.coalesce(F.sum("rows").over(before), F.lit(0))
    due = windows.select("*", spoilt.alias("spoilt"), rows.alias("behind")).where("due")
    last = Window.orderBy("start_ms")
    since_last = {name: F.col(name) - F.lag(name).over(last) for name in ("spoilt", "behind")}
    joins = (
        (since_last["spoilt"] == 0)
        & (since_last["behind"] <= F.lit(WORTH_A_RUN))
        & F.lit(not pipeline.windows.is_sliding)
    )
    return due.select("start_ms", "missed", F.coalesce(joins, F.lit(False)).alias("joins")).orderBy("start_ms")


def _moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def _exceeds(allowed: Repair) -> Column:
    due = F.lit(False)
    if allowed.max_too_late_rows is not None:
        due = due | (F.col("missed") > F.lit(allowed.max_too_late_rows))
    if allowed.max_too_late_ratio is not None:
        due = due | (F.col("missed") / (F.col("missed") + F.col("rows")) > F.lit(allowed.max_too_late_ratio))
    return due


def _counts(windows: int, rows: int) -> dict[str, int]:
    return {"repaired_windows": windows, "repaired_rows": rows}


def _joined(due: Iterable[Stretch], restated: Sequence[Interval]) -> list[Stretch]:
    """Return the windows of `due`, each a stretch and in order, as stretches that end before windows of `restated`."""
    stretches: list[Stretch] = []
    for window in due:
        last = stretches[-1] if stretches else None
        between = None if last is None else Interval(last.end, window.start)
        apart = between is not None and between.start != between.end and any(o.overlaps(between) for o in restated)
        if last is None or apart or not (window.joins or last.end == window.start):
            stretches.append(window)
        else:
            windows, too_late = last.windows + window.windows, last.too_late + window.too_late
            stretches[-1] = replace(last, end=window.end, windows=windows, too_late=too_late)
    return stretches
