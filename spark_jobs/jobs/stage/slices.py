"""A slice is a stretch of windows that a run computes by itself: their panes depend on no other slice (B7)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Windows
from spark_jobs.replay.rows import timestamps, window_assigners
from spark_jobs.tables import files
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake

#: The file in which a run keeps how it is cut.
CUT = "slices.json"


@dataclass(frozen=True)
class Slice:
    """Windows whose start is in `[start_ms, end_ms)`; None is without bound.

    A row that lies in several windows fills those of several slices; it counts, and is told as a late event, in the
    slice of its newest window alone, or of the one before it if it has none.
    """

    name: str
    start_ms: int | None
    end_ms: int | None

    @property
    def interval(self) -> Interval:
        """The windows of the slice."""
        return Interval(*(None if edge is None else timestamps.moment(edge) for edge in (self.start_ms, self.end_ms)))

    def holds(self, window_ms: Column) -> Column:
        """Whether the window that starts at `window_ms` is in the slice."""
        held = F.lit(True)
        if self.start_ms is not None:
            held = held & (window_ms >= F.lit(self.start_ms))
        if self.end_ms is not None:
            held = held & (window_ms < F.lit(self.end_ms))
        return held

    def cuts_at(self, window_ms: int) -> bool:
        """Whether there are two parts, before the window that starts at `window_ms` and from it on."""
        return (self.start_ms is None or self.start_ms < window_ms) and (self.end_ms is None or window_ms < self.end_ms)

    def reaches(self, oldest_ms: Column, newest_ms: Column) -> Column:
        """Whether one of a row's windows is in the slice, or the one before a row that has none."""
        reached = F.lit(True)
        if self.start_ms is not None:
            reached = reached & (newest_ms >= F.lit(self.start_ms))
        if self.end_ms is not None:
            reached = reached & (F.least(oldest_ms, newest_ms) < F.lit(self.end_ms))
        return reached

    def windows_between(self, oldest_ms: Column, newest_ms: Column, spec: Windows) -> Column:
        """How many of the windows from `oldest_ms` to `newest_ms` are in the slice."""
        oldest = oldest_ms if self.start_ms is None else F.greatest(oldest_ms, F.lit(self.start_ms))
        newest = newest_ms if self.end_ms is None else F.least(newest_ms, F.lit(self.end_ms - spec.period_ms))
        return window_assigners.count_between(oldest, newest, spec)


def whole(interval: Interval) -> Slice:
    """The one slice of a run's interval."""
    edges = (interval.start, interval.end)
    return Slice("slice-0", *(None if moment is None else timestamps.literal_millis(moment) for moment in edges))


def slices_of(groups: DataFrame, of: Slice, wanted: int, also: Sequence[int] = ()) -> list[Slice]:
    """`of` cut into `wanted` stretches of windows with about as many rows each, and before the windows `also` in it.

    `groups` is the census.
    """
    inside = (ms for ms in also if of.cuts_at(ms))
    edges = [of.start_ms, *sorted({*_even(groups, of, wanted), *inside}), of.end_ms]
    if len(edges) == 2:
        return [of]
    return [Slice(f"slice-{i}-of-{len(edges) - 1}", a, b) for i, (a, b) in enumerate(pairwise(edges))]


def settled(spark: SparkSession, lake: Lake, run_id: str, parts: Sequence[Slice]) -> list[Slice]:
    """The slices that the run is cut into: `parts`, unless an earlier attempt has begun with others.

    What is staged is staged by slice; another cut would stage the same windows again.
    """
    told = files.write_once(spark, lake.work(run_id, CUT), json.dumps([asdict(part) for part in parts]))
    return _read(told)


def found(spark: SparkSession, lake: Lake, run_id: str) -> list[Slice]:
    """The slices that the run is cut into; none if it has not been cut."""
    told = files.read_text(spark, lake.work(run_id, CUT))
    return [] if told is None else _read(told)


def _read(told: str) -> list[Slice]:
    return [Slice(**part) for part in json.loads(told)]


def _even(groups: DataFrame, of: Slice, wanted: int) -> list[int]:
    if wanted <= 1:
        return []
    inside = groups.where(F.col("reason").isNull() & F.col("kept") & of.holds(F.col("window_ms")))
    sizes = inside.groupBy("window_ms").agg(F.sum("row_count").alias("n")).orderBy("window_ms").collect()
    total, filled = sum(r.n for r in sizes), 0
    cuts: list[int] = []
    for row in sizes:
        if filled >= total * (len(cuts) + 1) / wanted and len(cuts) < wanted - 1:
            cuts.append(row.window_ms)
        filled += row.n
    return cuts
