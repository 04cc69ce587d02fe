"""What surrounds a run, measured for its audit: the census of its rows, and the published results that it replaces."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.run_context import RunContext
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PAIRS, WINDOW_RESULTS
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.semantics.rows.event_time import ARRIVAL_CLOCK_FLOOR_US, LATEST_US
from spark_jobs.session import interpreting
from spark_jobs.tables import ledger, published, staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake


def measured(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str, interval: Interval, *, is_change: bool = False
) -> RunContext:
    """Return the context of a run over `interval`. Costs two small aggregations, and none without their limits.

    `is_change`: the run is a part of one over all of time, whose other results are published already.
    """
    published_rows = _published_rows(spark, pipeline, lake, interval)
    distances = _distances(spark, pipeline, lake, run_id)
    context = RunContext(is_whole=interval.whole, stretches=interval.stretches, **distances)
    if published_rows is None:
        return context
    inside, outside = published_rows
    return replace(context, replaced_rows=inside, untouched_rows=outside if is_change else 0)


def _distances(spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str) -> dict[str, int]:
    """Count the rows that are far behind their arrival."""
    lag_ms = pipeline.quality.max_arrival_lag_ms
    if lag_ms is None or not pipeline.replay.by_clock:
        return {}
    if pipeline.join is not None:
        return _counted(_of_pairs(staging.read_staged(spark, lake, run_id, PAIRS.name)), lag_ms)
    if not staging.has_work(lake, run_id, "census"):
        return {}
    groups = staging.read_work(spark, lake, run_id, "census")
    if is_small(groups):
        groups = staging.read_work(interpreting(spark), lake, run_id, "census")
    return _counted(_of_census(groups), lag_ms)


def _of_census(groups: DataFrame) -> DataFrame:
    """Return `event_ms, arrival_ms, rows` of the groups of valid rows."""
    arrival_ms = F.floor(F.col("last_clock_us") / F.lit(1000))
    valid = groups.where(F.col("reason").isNull())
    return valid.select(
        F.col("max_ts_ms").alias("event_ms"), arrival_ms.alias("arrival_ms"), F.col("row_count").alias("rows")
    )


def _of_pairs(pairs: DataFrame) -> DataFrame:
    """Return `event_ms, arrival_ms, rows` of the pairs that a row fired; the end of the input is no arrival."""
    event = F.col("event_time" if "event_time" in pairs.columns else "window_start")
    fired = pairs.where(F.col("fired_at") < timestamps.moment(LATEST_US // 1000))
    return fired.select(
        F.unix_millis(event).alias("event_ms"), F.unix_millis("fired_at").alias("arrival_ms"), F.lit(1).alias("rows")
    )


def _counted(distances: DataFrame, lag_ms: int) -> dict[str, int]:
    event_ms, arrival_ms, rows = F.col("event_ms"), F.col("arrival_ms"), F.col("rows")
    row = (
        distances.where(arrival_ms >= F.lit(ARRIVAL_CLOCK_FLOOR_US // 1000))
        .agg(
            F.coalesce(F.sum(rows), F.lit(0)).alias("timed_rows"),
            F.coalesce(F.sum(F.when(arrival_ms - event_ms > F.lit(lag_ms), rows)), F.lit(0)).alias("far_behind_rows"),
            F.max(event_ms).alias("newest_event_ms"),
            F.max(arrival_ms).alias("newest_arrival_ms"),
        )
        .collect()[0]
    )
    return {name: int(value) for name, value in row.asDict().items() if value is not None}


def _published_rows(spark: SparkSession, pipeline: Pipeline, lake: Lake, interval: Interval) -> tuple[int, int] | None:
    """Count the rows, or pairs, in the published results in and outside the interval; None without such results."""
    runs = ledger.published(spark, lake)
    table = WINDOW_RESULTS if pipeline.join is None else PAIRS
    if pipeline.quality.max_removed_ratio is None or not runs or table.name not in runs[-1].versions:
        return None
    results = published.read_as_of(spark, lake, runs[-1], table.name)
    start = "window_start" if "window_start" in results.columns else "event_time"
    is_inside = holds(interval, start)
    rows = F.lit(1) if pipeline.join is not None else F.col("row_count")
    sums = {"inside": F.when(is_inside, rows), "outside": F.when(~is_inside, rows)}
    row = results.agg(*(F.coalesce(F.sum(n), F.lit(0)).alias(name) for name, n in sums.items())).collect()[0]
    return int(row["inside"]), int(row["outside"])
