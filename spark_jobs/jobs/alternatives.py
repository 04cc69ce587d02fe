"""What other settings would have given: rows on time, late and too late for other bounds and latenesses.

The census of a run holds, for each source partition, epoch and window, how many rows there are. All rows of a group
share their fate under any bound and lateness, so the counts are exact and no event is read again. Per-event emission
has no such groups, and no alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind, Pipeline, Strategy
from spark_jobs.replay import lateness
from spark_jobs.replay.calendar import passages
from spark_jobs.replay.census import gathered, under
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run


def alternatives(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> list[dict[str, int]]:
    """The run's own settings and others around them.

    An entry has `out_of_orderness` and `allowed_lateness` (milliseconds), and the rows `on_time`, `late`, `too_late` of
    the whole source. Empty for per-event emission.
    """
    if pipeline.watermark.emit.kind is EmitKind.PER_EVENT:
        return []
    groups = gathered(staging.found(spark, lake, run.run_id, "census"))
    return [_counted(groups, other) for other in _others(pipeline)]


def _others(pipeline: Pipeline) -> Iterator[Pipeline]:
    bound, allowed = pipeline.watermark.out_of_orderness_ms, pipeline.windows.allowed_lateness_ms
    bounds = [bound] if pipeline.watermark.strategy is Strategy.MONOTONOUS else [bound // 2, bound, bound * 2]
    for out_of_orderness_ms in dict.fromkeys(bounds):
        for allowed_lateness_ms in dict.fromkeys([0, allowed, allowed * 2]):
            yield replace(
                pipeline,
                watermark=replace(pipeline.watermark, out_of_orderness_ms=out_of_orderness_ms),
                windows=replace(pipeline.windows, allowed_lateness_ms=allowed_lateness_ms),
            )


def _counted(groups: DataFrame, pipeline: Pipeline) -> dict[str, int]:
    seen = under(groups, pipeline)
    filling = seen.where(F.col("reason").isNull() & F.col("kept"))
    judged = filling.join(F.broadcast(passages(seen, pipeline)), "window_ms")
    on_time = lateness.is_on_time(F.col("bucket"), F.col("fires_epoch"))
    too_late = lateness.is_too_late(F.col("bucket"), F.col("closes_epoch"))
    fates = {"on_time": on_time, "late": ~on_time & ~too_late, "too_late": too_late}
    row = judged.agg(*(F.sum(F.when(fate, F.col("row_count"))).alias(name) for name, fate in fates.items())).collect()[
        0
    ]
    return {
        "out_of_orderness": pipeline.watermark.out_of_orderness_ms,
        "allowed_lateness": pipeline.windows.allowed_lateness_ms,
        **{name: int(row[name] or 0) for name in fates},
    }
