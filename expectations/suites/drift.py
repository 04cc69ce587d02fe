"""Drift: what all keys together give in a window, beside the same windows of earlier weeks (`quality.drift`).

    usual = mean of a measure over the windows that start 1 * every, 2 * every ... seasons * every before

A window in the span of the run that only earlier weeks have is one in which nothing came. Windows of which no earlier
one is known are not compared. What was computed is right all the same: the invariant warns, and blocks nothing.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Drift, Pipeline


def rows(staged: Staged) -> DataFrame:
    """One row a window that is compared: `window_start, measured, usual, seasons, is_near`.

    `measured` and `usual` have a field a measure; `measured` is null where the window has no result, `seasons` is how
    many earlier windows are known.
    """
    drift = asked(staged.pipeline)
    names = [measure.name for measure in drift.measures]
    measured = staged.measured
    own = measured.where("is_own").drop("is_own")
    back = F.explode(F.sequence(F.lit(1), F.lit(drift.seasons)))
    later = F.timestamp_millis(F.unix_millis("window_start") + F.col("season") * F.lit(drift.every_ms))
    usual = (
        measured.withColumn("season", back)
        .withColumn("window_start", later)
        .groupBy("window_start")
        .agg(
            F.struct(*(F.avg(F.col("measured").getField(name)).alias(name) for name in names)).alias("usual"),
            F.count("*").alias("seasons"),
        )
    )
    span = own.agg(F.min("window_start").alias("first_own"), F.max("window_start").alias("last_own"))
    compared = (
        usual.join(own, "window_start", "left")
        .crossJoin(F.broadcast(span))
        .where("window_start BETWEEN first_own AND last_own")
    )
    near = (_is_near(name, drift.tolerance) for name in names)
    return compared.withColumn("is_near", reduce(Column.__and__, near)).drop("first_own", "last_own")


def asked(pipeline: Pipeline) -> Drift:
    """What the pipeline asks; of one that asks nothing, nothing is looked at."""
    return pipeline.quality.drift or Drift(1.0)


def _is_near(name: str, tolerance: float) -> Column:
    found, usual = (F.col(side).getField(name) for side in ("measured", "usual"))
    near = F.abs(found - usual) <= F.lit(tolerance) * F.abs(usual)
    # What is null in all earlier windows, such as a mean of nothing, says nothing.
    return usual.isNull() | F.coalesce(near, F.lit(False))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariant of drift; none where no tolerance is set."""
    drift = pipeline.quality.drift
    if drift is None:
        return ()
    measures = ", ".join(measure.name for measure in drift.measures)
    return (
        Invariant(
            "windows_are_like_those_of_earlier_seasons",
            f"In every window {measures} differs by a share of {drift.tolerance:g} at most from the mean of the up to "
            f"{drift.seasons} windows that lie {format_duration(drift.every_ms)} or a multiple of that before it "
            "(quality.drift).",
            "is_near",
            blocks=False,
        ),
    )


SUITE = Suite("drift", rows, invariants, shows=("window_start", "measured", "usual", "seasons"))
