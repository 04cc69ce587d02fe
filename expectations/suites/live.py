"""Live: what the run says of each window beside what a live job has said of it (`quality.compare_with`).

The live job's table has the key, `window_start`, of sessions `window_end`, and some of the pipeline's aggregates under
their names; other columns are not looked at. Windows before its first and behind its last are not compared: the job did
not run yet, or has not told them.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline


def rows(staged: Staged) -> DataFrame:
    """One row a (key, window) that the run or the live job tells, in the span of the live job's windows.

    `results` and `lives` are how many rows each has of it, `result` and `live` the aggregates that both tell, `same`
    whether all of these are the same.
    """
    names = staged.told_live
    where = [F.col("key"), *(F.col(name) for name in windows.bounds(staged.pipeline))]
    told = [
        rows.select(*where, F.struct(*(F.col(name) for name in names)).alias(side))
        for rows, side in ((staged.own_beside_live, "result"), (staged.live, "live"))
    ]
    span = staged.live.agg(F.min("window_start").alias("first_live"), F.max("window_start").alias("last_live"))
    grouped = (
        told[0]
        .unionByName(told[1], allowMissingColumns=True)
        .groupBy(*where)
        .agg(
            F.count("result").alias("results"),
            F.count("live").alias("lives"),
            # Maps have no order to take the greatest by.
            F.first("result", ignorenulls=True).alias("result"),
            F.first("live", ignorenulls=True).alias("live"),
        )
        .crossJoin(F.broadcast(span))
        .where("window_start BETWEEN first_live AND last_live")
    )
    kinds = {field.name: field.dataType for field in staged.own_beside_live.schema}
    same = (_same(name, kinds[name], _tolerance(staged.pipeline)) for name in names)
    return grouped.withColumn("same", reduce(Column.__and__, same))


def _same(name: str, kind: T.DataType, tolerance: float) -> Column:
    own, live = (F.col(side).getField(name) for side in ("result", "live"))
    if "map<" in kind.simpleString():
        # Maps have no equality in Spark.
        own, live = F.to_json(F.struct(own)), F.to_json(F.struct(live))
    if not tolerance or not isinstance(kind, T.NumericType):
        return own.eqNullSafe(live)
    near = F.abs(own - live) <= F.lit(tolerance) * F.greatest(F.abs(own), F.abs(live))
    return own.eqNullSafe(live) | F.coalesce(near, F.lit(False))


def _tolerance(pipeline: Pipeline) -> float:
    return pipeline.quality.compare_with.tolerance if pipeline.quality.compare_with else 0.0


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of a comparison; none where none is asked for."""
    if pipeline.quality.compare_with is None:
        return ()
    beside = f"{pipeline.quality.compare_with.table} (quality.compare_with)"
    tolerance = _tolerance(pipeline)
    near = f", or differs by a share of {tolerance:g} at most" if tolerance else ""
    return (
        Invariant(
            "every_window_of_the_live_job_has_a_result",
            f"Every key and window in {beside} has a result.",
            "lives = 0 OR results > 0",
        ),
        Invariant(
            "every_result_is_one_of_the_live_job",
            f"Every result between the first and the last window in {beside} is there, once.",
            "lives = 1 OR (lives = 0 AND results = 0)",
        ),
        Invariant(
            "results_are_those_of_the_live_job",
            f"Every aggregate of a result is what {beside} says{near}.",
            "results <> 1 OR lives <> 1 OR same",
        ),
    )


SUITE = Suite("live", rows, invariants, shows=("key", "window_start", "result", "live"))
