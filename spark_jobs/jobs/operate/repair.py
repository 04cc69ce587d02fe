"""Repair: windows that missed more rows than the pipeline allows, computed again with them and published alone.

    find      which closed windows are due, and the stretches that they make
    repair    a run over each stretch, in which late data updates results however late it came

Rows that such a run has taken leave `late_events`. All other windows keep what the job said, and so does `watermarks`;
runs that go on later do so from what it said. A window that missed no row is told the same by a repair, so that a
stretch may reach over it: a run more costs more than a few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline, Repair
from spark_jobs.tables import ledger
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_as_of

#: A run more costs as much as reading so many rows between two windows that are due.
WORTH_A_RUN = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stretch:
    """What one run repairs: of the windows that start in [start, end) these are due, and the others missed no row.

    `windows` are due, and missed `too_late` rows together; overlapping ones may have missed the same row.
    """

    start: datetime
    end: datetime
    windows: int
    too_late: int
    joins: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """What the run that repairs it is to say of it."""
        return _counts(self.windows, self.too_late)


@dataclass(frozen=True)
class Due:
    """What is to be repaired: stretches, oldest first; `restated` windows are due, but show other settings' results."""

    stretches: tuple[Stretch, ...]
    restated: int = 0

    @property
    def windows(self) -> int:
        """How many windows are repaired."""
        return sum(stretch.windows for stretch in self.stretches)

    @property
    def too_late(self) -> int:
        """How many rows they missed."""
        return sum(stretch.too_late for stretch in self.stretches)

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all runs together."""
        return _counts(self.windows, self.too_late)

    def in_words(self) -> str:
        """What is due, in a line."""
        told = "no window has missed more rows than are allowed"
        if self.stretches:
            first, last = self.stretches[0].start, self.stretches[-1].end
            span = f"between {first:%Y-%m-%d %H:%M} and {last:%Y-%m-%d %H:%M} UTC"
            told = f"closed windows {span} have missed more rows than are allowed: {self.windows:,} in "
            told += f"{len(self.stretches):,} stretches, {self.too_late:,} rows together"
        if self.restated:
            told += f"; {self.restated:,} more show results of other settings (--restate), and are left as they are"
        return told

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "windows": self.windows,
            "too_late": self.too_late,
            "restated": self.restated,
            "stretches": [{"start": s.start, "end": s.end, **s.counts} for s in self.stretches],
        }


def find(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Due:
    """The windows of what is published that are due by the pipeline's `repair`.

    Raises InputError for a pipeline without one, and where nothing is published.
    """
    if pipeline.repair is None:
        raise InputError(
            f"repair: {pipeline.path or pipeline.name} does not say how many rows a window may miss: "
            "set repair.max_too_late_rows or repair.max_too_late_ratio"
        )
    standing = effective_runs(ledger.published(spark, lake))
    if standing.latest is None:
        raise InputError(f"repair: found nothing published in {lake.home}: replay everything first")
    tables = {
        name: read_as_of(spark, lake, standing.latest, name) for name in ("late_events", "window_results", "panes")
    }
    due = _apart(_of_each_window(tables, pipeline).withColumn("due", _exceeds(pipeline.repair)), pipeline).collect()
    others = [
        Interval(part.interval_start, part.interval_end)
        for part in standing.partial
        if part.fingerprint not in pipeline.same_results
    ]
    period = timedelta(milliseconds=pipeline.windows.period_ms)
    told = [
        Stretch(start, start + period, 1, row.missed, joins=row.joins)
        for row in due
        for start in [_EPOCH + timedelta(milliseconds=row.start_ms)]
    ]
    own = [one for one in told if not any(other.overlaps(Interval(one.start, one.end)) for other in others)]
    return Due(tuple(_joined(own, others)), len(told) - len(own))


class TakesRuns(Protocol):
    """Takes all steps of a run; the Runner does."""

    def run(self, interval: Interval, *, repair: Mapping[str, int] | None = None) -> list[StepResult]:
        """Plan the run over an interval of windows and take its steps; `repair` counts what it takes in."""


def preview(due: Due, pipeline: Pipeline) -> StepResult:
    """Return what a repair would do, and change nothing: a dry run, or unchanged where no window is due."""
    state = StepState.DRY_RUN if due.stretches else StepState.UNCHANGED
    return StepResult(StepName.REPAIR, "", pipeline.name, state, due.in_words(), due.counts)


def repair(runner: TakesRuns, due: Due, pipeline: Pipeline) -> StepResult:
    """Take the run of every stretch, one after the other; returns the last of them. Raises as `Runner.run`."""
    began = monotonic()
    result = preview(due, pipeline)
    for stretch in due.stretches:
        *_, publish, report = runner.run(Interval(stretch.start, stretch.end), repair=stretch.counts)
        result = replace(result, state=StepState.DONE, run_id=publish.run_id, versions=publish.versions)
        result = replace(result, report=report.report)
    return replace(result, seconds=round(monotonic() - began, 3))


def _of_each_window(tables: dict[str, DataFrame], pipeline: Pipeline) -> DataFrame:
    """Of each window that missed rows, over all keys: `start_ms`, `missed`, and `rows` that its results are of.

    Rows that no window took are in `late_events`; where these are dropped, windows with a result count them. A row that
    an overlapping window took is in no table: what an older one missed of it counts for nothing.
    """
    spec, start = pipeline.windows, F.unix_millis("window_start").alias("start_ms")
    # The newest window that a row has missed, and those before it that reach to the row.
    event_ms = F.unix_millis("event_time")
    older = F.floor((F.col("newest_ms") + F.lit(spec.size_ms - 1) - event_ms) / F.lit(spec.period_ms))
    rows = tables["late_events"].where("window_start is not null").select("event_time", start.alias("newest_ms"))
    starts = F.explode(F.sequence(F.lit(0), older.cast("int")))
    kept = rows.withColumn("older", starts).groupBy(
        (F.col("newest_ms") - F.col("older") * F.lit(spec.period_ms)).alias("start_ms")
    )
    results = (
        tables["window_results"]
        .groupBy(start)
        .agg(F.sum("too_late_count").alias("counted"), F.sum("row_count").alias("rows"))
    )
    if spec.discards:
        shown = tables["panes"].groupBy(start).agg(F.sum("row_count").alias("rows"))
        results = results.drop("rows").join(shown, "start_ms", "left")
    found = results.join(kept.agg(F.count("*").alias("kept")), "start_ms", "full_outer")
    missed = F.greatest(F.coalesce("counted", F.lit(0)), F.coalesce("kept", F.lit(0)))
    return found.select("start_ms", missed.alias("missed"), F.coalesce("rows", F.lit(0)).alias("rows"))


def _apart(windows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The windows that are `due`, in order, with `joins`: few rows lie between it and the last, and none was missed.

    Of overlapping windows nothing tells that they missed none.
    """
    before = Window.orderBy("start_ms").rowsBetween(Window.unboundedPreceding, -1)
    spoilt = F.coalesce(F.sum(F.when(~F.col("due") & (F.col("missed") > 0), 1).otherwise(0)).over(before), F.lit(0))
    rows = F.coalesce(F.sum("rows").over(before), F.lit(0))
    due = windows.select("*", spoilt.alias("spoilt"), rows.alias("behind")).where("due")
    last = Window.orderBy("start_ms")
    gone = {name: F.col(name) - F.lag(name).over(last) for name in ("spoilt", "behind")}
    joins = (gone["spoilt"] == 0) & (gone["behind"] <= F.lit(WORTH_A_RUN)) & F.lit(not pipeline.windows.is_sliding)
    return due.select("start_ms", "missed", F.coalesce(joins, F.lit(False)).alias("joins")).orderBy("start_ms")


def _exceeds(allowed: Repair) -> Column:
    due = F.lit(False)
    if allowed.max_too_late_rows is not None:
        due = due | (F.col("missed") > F.lit(allowed.max_too_late_rows))
    if allowed.max_too_late_ratio is not None:
        due = due | (F.col("missed") / (F.col("missed") + F.col("rows")) > F.lit(allowed.max_too_late_ratio))
    return due


def _counts(windows: int, rows: int) -> dict[str, int]:
    return {"repaired_windows": windows, "repaired_rows": rows}


def _joined(due: Iterable[Stretch], others: Sequence[Interval]) -> list[Stretch]:
    """The windows of `due`, each a stretch and in order, as stretches that end before windows of `others`."""
    found: list[Stretch] = []
    for one in due:
        last = found[-1] if found else None
        between = None if last is None else Interval(last.end, one.start)
        apart = between is not None and between.start != between.end and any(o.overlaps(between) for o in others)
        if last is None or apart or not (one.joins or last.end == one.start):
            found.append(one)
        else:
            windows, too_late = last.windows + one.windows, last.too_late + one.too_late
            found[-1] = replace(last, end=one.end, windows=windows, too_late=too_late)
    return found
