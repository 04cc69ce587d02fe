"""Live: the results of the run beside the results of a live job (`quality.compare_with`).

The live job's table has the key, `window_start`, for sessions `window_end`, and some of the pipeline's aggregates under
their names. Other columns are ignored. Only windows from its first to its last are compared: before, the job did not
run yet; after, it has no results yet.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.live_results import live_results, own_results, shared_aggregates
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import WINDOW_RESULTS


def rows(staged: Staged) -> DataFrame:
    """Return one row for each (key, window) of the run or of the live job, within the span of the live job's windows.

    `results` and `lives` are the numbers of rows in each table. `result` and `live` have the shared aggregates. `same`
    is true if all of these are equal, or within the tolerance.
    """
    names = staged.once(shared_aggregates)
    own, live = staged.once(own_results), staged.once(live_results)
    place = [F.col("key"), *(F.col(name) for name in windows.bounds(staged.pipeline))]
    # The query runs in the session of its first table, and the live results may be many.
    sides = [
        rows.select(*place, F.struct(*(F.col(name) for name in names)).alias(side))
        for rows, side in ((live, "live"), (own, "result"))
    ]
    span = live.agg(F.min("window_start").alias("first_live"), F.max("window_start").alias("last_live"))
    grouped = (
        sides[0]
        .unionByName(sides[1], allowMissingColumns=True)
        .groupBy(*place)
        .agg(
            F.count("result").alias("results"),
            F.count("live").alias("lives"),
            # Spark cannot compare maps, so max() is not possible.
            F.first("result", ignorenulls=True).alias("result"),
            F.first("live", ignorenulls=True).alias("live"),
        )
        .crossJoin(F.broadcast(span))
        .where("window_start BETWEEN first_live AND last_live")
    )
    kinds = {field.name: field.dataType for field in own.schema}
    same = (_same(name, kinds[name], _tolerance(staged.pipeline)) for name in names)
    return grouped.withColumn("same", reduce(Column.__and__, same))


def _same(name: str, kind: T.DataType, tolerance: float) -> Column:
    own, live = (F.col(side).getField(name) for side in ("result", "live"))
    if "map<" in kind.simpleString():
        # Spark cannot compare maps.
        own, live = F.to_json(F.struct(own)), F.to_json(F.struct(live))
    if not tolerance or not isinstance(kind, T.NumericType):
        return own.eqNullSafe(live)
    near = F.abs(own - live) <= F.lit(tolerance) * F.greatest(F.abs(own), F.abs(live))
    return own.eqNullSafe(live) | F.coalesce(near, F.lit(False))


def _tolerance(pipeline: Pipeline) -> float:
    return pipeline.quality.compare_with.tolerance if pipeline.quality.compare_with else 0.0


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the comparison; none without `quality.compare_with`."""
    if pipeline.quality.compare_with is None:
        return ()
    table = f"{pipeline.quality.compare_with.table} (quality.compare_with)"
    tolerance = _tolerance(pipeline)
    near = f", or differs by a share of at most {tolerance:g}" if tolerance else ""
    return (
        Invariant(
            "every_window_of_the_live_job_has_a_result",
            f"Every key and window in {table} has a result.",
            "lives = 0 OR results > 0",
        ),
        Invariant(
            "every_result_is_one_of_the_live_job",
            f"Every result between the first and the last window in {table} is in that table, once.",
            "lives = 1 OR (lives = 0 AND results = 0)",
        ),
        Invariant(
            "results_are_those_of_the_live_job",
            f"Every aggregate of a result equals the value in {table}{near}.",
            "results <> 1 OR lives <> 1 OR same",
        ),
    )


SUITE = Suite("live", WINDOW_RESULTS, rows, invariants, shows=("key", "window_start", "result", "live"))
