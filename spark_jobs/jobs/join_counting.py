"""Counting a join: how many rows of each of its two inputs met which fate.

Law, for each source and for both together: rows read = invalid + filtered + on time + late + too late. Rows that a join
by interval calls late join nothing and count as too late; it has no others. Late rows of a join by window are those
that revise a window which has fired. A name such as `too_late` counts both inputs, `too_late_of_orders` one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.jobs.counting import IMPLAUSIBLE, refuse_wrong_unit
from spark_jobs.jobs.slices import whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay import columns as c
from spark_jobs.tables.interval import Interval

#: Counts of one input, by the name of the count.
Counts = dict[str, int]


def read(prepared: Sequence[DataFrame], alone: Sequence[Pipeline], interval: Interval, at_ms: Column) -> list[Counts]:
    """Rows of each input by what becomes of them before any window or watermark.

    `prepared` are the rows of each, made ready, `alone` the pipelines that read them, `at_ms` the instant by which a
    row is in the interval. Raises InputError for event times in the wrong unit.
    """
    return [_read(rows, pipeline, interval, at_ms) for rows, pipeline in zip(prepared, alone, strict=True)]


def _read(prepared: DataFrame, pipeline: Pipeline, interval: Interval, at_ms: Column) -> Counts:
    valid = F.col(c.VALID)
    inside = F.lit(True) if interval.whole else valid & whole(interval).holds(at_ms)
    implausible = F.coalesce(F.col(c.REASON).isin(*IMPLAUSIBLE), F.lit(False))
    holds = {
        "rows_read": inside,
        "invalid": inside & ~valid,
        "filtered": inside & valid & ~F.col(c.KEPT),
        "implausible": implausible,
        "timed": valid | implausible,
    }
    row = prepared.agg(*(F.count_if(condition).alias(name) for name, condition in holds.items())).collect()[0]
    found = {name: int(row[name]) for name in holds}
    refuse_wrong_unit(prepared, pipeline, found.pop("implausible"), found.pop("timed"))
    return found


def taken(rows: DataFrame, interval: Interval) -> list[Counts]:
    """The rows of each input that were not too late; `rows` is what the join has `taken`."""
    inside = rows.where(whole(interval).holds(F.col("at_ms")))
    counted = inside.groupBy("side").agg(
        F.count_if(~F.col("is_late")).alias("on_time"), F.count_if("is_late").alias("late")
    )
    by_side = {row.side: {"on_time": int(row.on_time), "late": int(row.late)} for row in counted.collect()}
    return [by_side.get(side, {"on_time": 0, "late": 0}) for side in (0, 1)]


def too_late(late_events: DataFrame, names: Sequence[str]) -> list[Counts]:
    """The rows of each input that joined nothing for being too late."""
    by_name = {row[SOURCE]: int(row["count"]) for row in late_events.groupBy(SOURCE).count().collect()}
    return [{"too_late": by_name.get(name, 0)} for name in names]


def together(by_input: Sequence[Mapping[str, int]], names: Sequence[str]) -> Counts:
    """The counts of both inputs, and then those of each under its name."""
    sums = {name: sum(counts[name] for counts in by_input) for name in by_input[0]}
    each = {
        f"{count}_of_{name}": n for name, counts in zip(names, by_input, strict=True) for count, n in counts.items()
    }
    return {**sums, **each}
