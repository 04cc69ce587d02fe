"""Counting a join: how many rows of each of its two inputs met which fate.

Law, for each source and for both together: rows read = invalid + filtered + on time + late + too late, and + unassigned
where windows leave gaps. The late rows of an interval join pair with nothing and count as too late; it has no others.
Late rows of a window join are the rows that revise a window which has fired. A name such as `too_late` counts both
inputs, `too_late_of_orders` one of them.

All late rows of an as-of join count as too late, also those that joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.row_counts import refuse_wrong_unit
from spark_jobs.jobs.stage.slices import whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.semantics.rows.event_time import IMPLAUSIBLE
from spark_jobs.tables.interval import Interval

#: Counts of one input, by the name of the count.
Counts = dict[str, int]


def read(prepared: Sequence[DataFrame], alone: Sequence[Pipeline], interval: Interval, at_ms: str) -> list[Counts]:
    """Count the rows of each input by their fate before any window or watermark.

    `prepared` are the rows of each, made ready, `alone` the pipelines that read them, `at_ms` the instant by which a
    row is in the interval. Raises InputError for event times in the wrong unit.
    """
    return [_read(rows, pipeline, interval, at_ms) for rows, pipeline in zip(prepared, alone, strict=True)]


def _read(prepared: DataFrame, pipeline: Pipeline, interval: Interval, at_ms: str) -> Counts:
    valid = F.col(c.VALID)
    inside = F.lit(True) if interval.whole else valid & whole(interval).holds(at_ms)
    implausible = F.coalesce(F.col(c.REASON).isin(*IMPLAUSIBLE), F.lit(False))
    # A row is in no window where its oldest comes behind its newest.
    oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), pipeline.windows), F.col(c.WINDOW_MS)
    holds = {
        "rows_read": inside,
        "invalid": inside & ~valid,
        "filtered": inside & valid & ~F.col(c.KEPT),
        "unassigned": inside & valid & F.col(c.KEPT) & (oldest > newest),
        "implausible": implausible,
        "timed": valid | implausible,
    }
    row = prepared.agg(*(F.count_if(condition).alias(name) for name, condition in holds.items())).collect()[0]
    counts = {name: int(row[name]) for name in holds}
    refuse_wrong_unit(prepared, pipeline, counts.pop("implausible"), counts.pop("timed"))
    return counts


def count_accepted(rows: DataFrame, interval: Interval) -> list[Counts]:
    """Count the rows of each input that were not too late; `rows` is `accepted_rows` of the join."""
    inside = rows.where(whole(interval).holds("at_ms"))
    counted = inside.groupBy("side", "is_late").agg(F.sum("row_count").alias("n")).collect()
    counts = {(row.side, row.is_late): int(row.n) for row in counted}
    return [{"on_time": counts.get((side, False), 0), "late": counts.get((side, True), 0)} for side in (0, 1)]


def too_late(late_events: DataFrame, names: Sequence[str]) -> list[Counts]:
    """Count the rows of each input that came too late to join; `reported` counts those without a window."""
    has_windows = "window_start" in late_events.columns
    alone = F.count_if(F.col("window_start").isNull()) if has_windows else F.lit(0)
    counted = late_events.groupBy(SOURCE).agg(F.count("*").alias("too_late"), alone.alias("reported")).collect()
    by_name = {row[SOURCE]: {"too_late": int(row.too_late), "reported": int(row.reported)} for row in counted}
    return [by_name.get(name, {"too_late": 0, "reported": 0}) for name in names]


def accounted(
    read: Mapping[str, int], accepted_counts: Mapping[str, int], too_late_counts: Mapping[str, int], *, by_fate: bool
) -> Counts:
    """Return all counts of one input, from the results of `read`, `count_accepted` and `too_late`.

    `by_fate`: the fate of the rows decides which belong to the part of time.
    """
    too_late = {"too_late": too_late_counts["too_late"]}
    unassigned = {"unassigned": read["unassigned"] - too_late_counts["reported"]}
    counts = {**read, **accepted_counts, **too_late, **unassigned}
    if by_fate:
        counts["rows_read"] = counts["filtered"] + counts["on_time"] + counts["late"] + counts["too_late"]
    return counts


def together(by_input: Sequence[Mapping[str, int]], names: Sequence[str]) -> Counts:
    """Return the counts of both inputs, and then the counts of each input under its name."""
    sums = {name: sum(counts[name] for counts in by_input) for name in by_input[0]}
    each = {
        f"{count}_of_{name}": n for name, counts in zip(names, by_input, strict=True) for count, n in counts.items()
    }
    return {**sums, **each}
