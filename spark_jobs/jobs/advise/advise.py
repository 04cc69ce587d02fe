"""Advice: a bound and a lateness for a source, with exact numbers of late rows, as a replay would count them.

The newest version of the source is read once for the census of its times, and once for the disorder of its partitions.
If rows are epochs it is read a third time, for single rows. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.advise.candidates import (
    Candidate,
    Delay,
    candidate,
    in_words,
    pairs,
    recommended,
    rounded_up,
    settings_to_show,
    steps,
)
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.jobs.stage.row_counts import refuse_wrong_unit
from spark_jobs.pipeline import load, parse
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.rewriting import rewrite
from spark_jobs.replay.profile import delays, disorder, repeats
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.supported import UnsupportedPipelineError, require_support
from spark_jobs.replay.watermark.census import gathered
from spark_jobs.semantics.rows.event_time import IMPLAUSIBLE
from spark_jobs.session import shuffling
from spark_jobs.tables import source

_BOUND, _LATENESS = "watermark.out_of_orderness", "windows.allowed_lateness"
# If rows are epochs, delays lie on a grid, which is no coarser than this.
_FINEST_MS = 1_000
# With several partitions the slowest holds the watermark back, so a bound below its rows' disorder may suffice.
_BELOW_THE_MEDIAN = 16
# A table of passages beyond this length is joined by shuffling both sides.
_BROADCAST = 500_000


@dataclass(frozen=True)
class Spread:
    """The distribution of a measure over a partition's rows, in milliseconds; `quantiles` by share of the rows."""

    rows: int
    zero: int
    quantiles: dict[str, int]
    max: int


@dataclass(frozen=True)
class Settings:
    """The settings to weigh: `bounds` and `latenesses` (empty: from the data), and the completeness to reach."""

    bounds: Sequence[int] = ()
    latenesses: Sequence[int] = ()
    target: Fraction = Fraction(9999, 10000)


@dataclass(frozen=True)
class Advice:
    """The advice. `spreads`: by source partition (None: all partitions), then by measure.

    `rows` are the rows in windows, `invalid` of the `rows_read` rows have no usable time. `repeated` rows in windows
    equal another row but for the arrival time.
    """

    pipeline: str
    source_version: int
    target: float
    rows: int
    spreads: dict[str | None, dict[str, Spread]]
    now: Candidate
    candidates: tuple[Candidate, ...]
    recommended: Candidate | None
    words: str
    rows_read: int = 0
    invalid: int = 0
    repeated: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return one object of plain values: durations in milliseconds, partitions as a list."""
        plain = asdict(self)
        plain["spreads"] = [{"source_partition": p, **spread} for p, spread in plain["spreads"].items()]
        return plain


def advise(spark: SparkSession, pipeline: Pipeline, request: Settings, *, progress: Progress = silent) -> Advice:
    """Weigh bounds and latenesses for the source's newest version.

    Raises InputError for a pipeline for which they cannot be weighed, and for a source that does not fit.
    """
    reason = delays.unweighable(pipeline)
    if reason is None and pipeline.replay.in_rounds:
        reason = "replay.order: with offset, rows have no clock to measure delays"
    if reason is not None:
        raise InputError(
            f"{reason}: advise cannot weigh it exactly. Compare replays with --set", code=ErrorCode.NOT_COMPARABLE
        )
    try:
        require_support(pipeline)
    except UnsupportedPipelineError as problem:
        raise InputError(str(problem), code=problem.code) from problem
    versions = checked(spark, pipeline)
    progress("advise", f"counting version {versions['']} of {pipeline.source.table}")
    return weigh(source.events(spark, pipeline, versions), pipeline, request, versions[""], progress=progress)


def weigh(
    events: DataFrame, pipeline: Pipeline, request: Settings, version: int = 0, *, progress: Progress = silent
) -> Advice:
    """Weigh bounds and latenesses for `events`, the source's rows at a version."""
    with shuffling(events.sparkSession, 0):
        return _Advising(events, pipeline, request, version, progress).advice()


class _Advising:
    def __init__(
        self, events: DataFrame, pipeline: Pipeline, request: Settings, version: int, progress: Progress
    ) -> None:
        self._pipeline, self._request, self._version, self._progress = pipeline, request, version, progress
        self._prepared = SourceRows(events, pipeline, MemoryStore()).prepared
        self._rows = arrival_order.with_epoch(self._prepared, pipeline)
        self._rows_read = self._invalid = 0
        self._own = (pipeline.watermark.bound_ms, pipeline.windows.allowed_lateness_ms)

    def advice(self) -> Advice:
        own, request = self._own, self._request
        fixed = [*own, *request.bounds, *request.latenesses]
        grid_ms = delays.grid_ms(self._pipeline, fixed, _FINEST_MS)
        counted = delays.groups(self._rows, self._pipeline, grid_ms)
        groups = gathered(counted.localCheckpoint())
        span_ms = self._span_ms(groups)
        spreads = self._spreads(groups)
        settings, rungs = self._settings(spreads, span_ms, grid_ms)
        weighed_delays = sorted({delay for bound, lateness in {*settings, own} for delay in (bound, bound + lateness)})
        self._progress("advise", f"weighing {len(weighed_delays)} delays")
        weighed = self._weighed(groups, weighed_delays)
        best = recommended(settings, weighed, request.target)
        show = sorted({*settings, own}) if request.bounds else settings_to_show(rungs, own, best)
        candidates = [candidate(bound, lateness, weighed) for bound, lateness in show]
        return Advice(
            pipeline=self._pipeline.name,
            source_version=self._version,
            target=float(request.target),
            rows=next(iter(weighed.values())).rows,
            spreads=spreads,
            now=candidate(*own, weighed),
            candidates=tuple(candidates),
            recommended=best,
            words=in_words(best, request.target) if best else self._none(candidates),
            rows_read=self._rows_read,
            invalid=self._invalid,
            repeated=repeats.repeated_rows(self._prepared, self._pipeline),
        )

    def _none(self, candidates: Sequence[Candidate]) -> str:
        most = max(candidates, key=lambda c: c.completeness)
        return (
            f"None of these reaches {float(self._request.target):.4%} of the rows; "
            f"the most is {most.completeness:.4%}, with {format_duration(most.final_after)} in all. "
            "Give longer ones, or none."
        )

    def _span_ms(self, groups: DataFrame) -> int:
        """Return the span from the first event time to the last; refuse times in the wrong unit."""
        valid, implausible = F.col("reason").isNull(), F.col("reason").isin(*IMPLAUSIBLE)
        row = groups.agg(
            F.coalesce(F.sum(F.when(implausible, F.col("row_count"))), F.lit(0)).alias("implausible"),
            F.coalesce(F.sum(F.when(valid | implausible, F.col("row_count"))), F.lit(0)).alias("timed"),
            F.sum("row_count").alias("rows"),
            F.sum(F.when(~valid, F.col("row_count"))).alias("invalid"),
            F.max(F.when(valid, F.col("top_ms"))).alias("last"),
            F.min(F.when(valid, F.col("slice_ms"))).alias("first"),
            F.coalesce(F.max(valid & F.col("kept")), F.lit(False)).alias("filled"),
        ).collect()[0]
        self._rows_read, self._invalid = int(row["rows"] or 0), int(row["invalid"] or 0)
        refuse_wrong_unit(self._prepared, self._pipeline, int(row["implausible"]), int(row["timed"]))
        if row["last"] is None:
            raise InputError(
                f"source.table: '{self._pipeline.source.table}' has no row with usable times",
                code=ErrorCode.NO_ROWS_TO_WEIGH,
            )
        if not row["filled"]:
            raise InputError(
                f"source.where: '{self._pipeline.source.where}' keeps no row to weigh", code=ErrorCode.NO_ROWS_TO_WEIGH
            )
        return int(row["last"] - row["first"])

    def _spreads(self, groups: DataFrame) -> dict[str | None, dict[str, Spread]]:
        counted: dict[str | None, dict[str, Spread]] = {}
        distributions = disorder.disorder(self._rows, groups, self._pipeline)
        for row in sorted(
            distributions.collect(), key=lambda r: (r["partition"] is not None, r["partition"] or "", r["measure"])
        ):
            quantiles = {str(q): int(row[f"q_{i}"]) for i, q in enumerate(disorder.QUANTILES)}
            spread = Spread(int(row["rows"]), int(row["nothing"]), quantiles, int(row["max_ms"]))
            counted.setdefault(row["partition"], {})[row["measure"]] = spread
        return counted

    def _settings(
        self, spreads: dict[str | None, dict[str, Spread]], span_ms: int, grid_ms: int
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the bounds and latenesses to weigh, and the bounds that follow from the data."""
        request, behind = self._request, spreads[None][disorder.OUT_OF_ORDER]
        # A partition that joins or becomes active may be behind all others, even if its rows are in order.
        several = len(spreads) > 2
        rungs = {0, *(_on(grid_ms, rounded_up(ms)) for ms in (*behind.quantiles.values(), behind.max))}
        if request.bounds or request.latenesses:
            latenesses = request.latenesses or sorted({0, self._own[1]})
            bounds = request.bounds or sorted(rungs)
            return [(bound, lateness) for bound in bounds for lateness in latenesses], list(bounds)
        ladder = steps(
            behind.quantiles["0.5"] // _BELOW_THE_MEDIAN, max(behind.max, span_ms if several else 0), grid_ms
        )
        return pairs(sorted({*ladder, *rungs})), sorted(rungs)

    def _weighed(self, groups: DataFrame, delays_ms: Sequence[int]) -> dict[int, Delay]:
        pipeline = self._pipeline
        passed = delays.passed(groups, pipeline, delays_ms).localCheckpoint()
        by_group = axis(pipeline) is Axis.TICKS
        filling = delays.of_groups(groups, pipeline) if by_group else delays.of_rows(self._rows, pipeline)
        near = F.broadcast(passed) if passed.count() * len(delays_ms) <= _BROADCAST or by_group else passed
        judged = delays.judged(filling, near, delays_ms)
        waits = delays.waits(passed, groups, pipeline, delays_ms)
        return {
            row["delay_ms"]: Delay(
                delay_ms=row["delay_ms"],
                behind=row["behind"],
                windows_missing=row["windows_missing"],
                rows=row["rows"],
                windows=row["windows"],
                fired=row["fired"],
                mean_wait_ms=row["mean_ms"],
                max_wait_ms=row["max_ms"],
            )
            for row in judged.join(waits, "delay_ms").collect()
        }


def write(pipeline: Pipeline, best: Candidate | None) -> bool:
    """Set the recommended values in the pipeline's file; returns whether that changed it. Raises InputError."""
    if best is None or pipeline.path is None:
        raise InputError(
            "--write: no settings are recommended, so the file stays as it is", code=ErrorCode.FILE_NOT_WRITTEN
        )
    if not pipeline.watermark.has_bound and best.out_of_orderness:
        raise InputError(
            f"--write: {_BOUND} {format_duration(best.out_of_orderness)} is recommended, but watermark.strategy "
            "monotonous has no bound. Set watermark.strategy to bounded_out_of_orderness first",
            code=ErrorCode.FILE_NOT_WRITTEN,
        )
    before = load(pipeline.path)
    after = replace(
        before,
        watermark=replace(before.watermark, out_of_orderness_ms=best.out_of_orderness),
        windows=replace(before.windows, allowed_lateness_ms=best.allowed_lateness),
    )
    values = {}
    if after.watermark != before.watermark:
        values[_BOUND] = format_duration(best.out_of_orderness)
    if after.windows != before.windows:
        values[_LATENESS] = format_duration(best.allowed_lateness)

    def has_new_values(text: str) -> bool:
        return parse(text, origin=str(pipeline.path)) == after

    try:
        return rewrite(pipeline.path, values, has_new_values) if values else False
    except (RefusedError, OSError) as problem:
        raise InputError(f"--write: {pipeline.path}: {problem}", code=ErrorCode.FILE_NOT_WRITTEN) from problem


def _on(grid_ms: int, ms: int) -> int:
    return -(-ms // grid_ms) * grid_ms
