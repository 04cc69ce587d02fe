"""Drift: the measures of a window over all keys, beside the same windows of earlier seasons (`quality.drift`).

    usual = mean of a measure over the windows that start 1 * every, 2 * every ... seasons * every earlier

A window within the span of the run that only earlier seasons have is compared too: it has no rows in this run. Windows
that the run leaves alone, and windows without an earlier window, are not compared. The results are right all the same,
so a violation warns and does not block.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import local_time
from expectations.invariant import Invariant, Suite
from expectations.measured_windows import measured_windows
from expectations.staged import Staged
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Drift, Pipeline
from spark_jobs.pipeline.published_tables import WINDOW_RESULTS


def rows(staged: Staged) -> DataFrame:
    """Return one row for each compared window: `window_start, measured, usual, seasons, is_near`.

    `measured` and `usual` have a field for each measure. `measured` is null for a window without a result. `seasons` is
    the number of earlier windows, `is_near` is true if all measures are within the tolerance.
    """
    drift = settings(staged.pipeline)
    names = [measure.name for measure in drift.measures]
    measured = staged.once(measured_windows)
    own = measured.where("is_own").drop("is_own")
    back = F.explode(F.sequence(F.lit(1), F.lit(drift.seasons)))
    windows, apart = staged.pipeline.windows, f"season * {drift.every_ms}L"
    later = f"timestamp_millis(unix_millis(window_start) + {apart})"
    if windows.are_local:
        later = local_time.moved("window_start", apart, windows)
    usual = (
        measured.withColumn("season", back)
        .withColumn("window_start", F.expr(later))
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
        .where(staged.context.covers("window_start"))
    )
    near = (_is_near(name, drift.tolerance) for name in names)
    return compared.withColumn("is_near", reduce(Column.__and__, near)).drop("first_own", "last_own")


def settings(pipeline: Pipeline) -> Drift:
    """Return the pipeline's settings. Without `quality.drift` no invariant uses the default that is returned."""
    return pipeline.quality.drift or Drift(1.0)


def _is_near(name: str, tolerance: float) -> Column:
    measured, usual = (F.col(side).getField(name) for side in ("measured", "usual"))
    near = F.abs(measured - usual) <= F.lit(tolerance) * F.abs(usual)
    # A measure that is null in all earlier windows, such as a mean of no values, has no usual value.
    return usual.isNull() | F.coalesce(near, F.lit(False))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariant of drift; none without `quality.drift`."""
    drift = pipeline.quality.drift
    if drift is None:
        return ()
    measures = ", ".join(measure.name for measure in drift.measures)
    return (
        Invariant(
            "windows_are_like_those_of_earlier_seasons",
            f"In every window {measures} differs by a share of at most {drift.tolerance:g} from the mean of up to "
            f"{drift.seasons} earlier windows, which start {format_duration(drift.every_ms)} or a multiple of it "
            "earlier (quality.drift).",
            "is_near",
            blocks=False,
        ),
    )


SUITE = Suite("drift", WINDOW_RESULTS, rows, invariants, shows=("window_start", "measured", "usual", "seasons"))
