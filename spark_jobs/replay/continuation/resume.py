"""Resuming a replay: the state of the watermark after an earlier run, and the rows that still affect results.

Law (semantics B7): with A the moment up to which arrivals are covered and W the watermark at A,

    S    the oldest window that W has not closed; earlier windows do not change any more
    K    the last kept emission that fires no window from S on
    rows that matter: all rows that arrived after K, and earlier rows in the windows from S on

A row before K is on time for every window from S on. So the only state from before K is the watermark of each partition
after K. The kept emissions are those at which the watermark passes a window. From them also follows when each window
before S fired and closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import EmitKind, Order, Pipeline
from spark_jobs.pipeline.published_tables import ADVANCES
from spark_jobs.replay.rows import arrival_order, candidates, emission, timestamps, window_assigners
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import CLOSE_CELL, FIRE_CELL, moving, with_cells
from spark_jobs.replay.windows import lateness
from spark_jobs.replay.windows.calendar import first_passages
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS

#: The columns of a kept emission; `watermark` and `partition_watermarks` as in the table `watermarks`.
COLUMNS = tuple(name for name in ADVANCES.names if name != "run_id")

# A run lists all source partitions at its newest emissions, as far as these numbers make at most so many entries.
_ENTRIES = 2_000_000
# Before every clock that a row may have, and as the number of a tick still a long.
_BEFORE_ALL_US = -(2**61)


@dataclass(frozen=True)
class Resumption:
    """The state from which a run resumes: microseconds and milliseconds since 1970.

    `covered_us` is A, `oldest_ms` the start of S, `since_us` the clock of K; `partitions` the watermark of each
    partition that had one after K.
    """

    covered_us: int
    oldest_ms: int
    since_us: int
    partitions: Sequence[tuple[str, int]]


def can_resume(pipeline: Pipeline) -> bool:
    """Return whether the law holds: one source by arrival, ticks of the clock, a watermark that only rows move.

    Windows must close, and fire by the watermark alone.
    """
    return obstacle(pipeline) is None


def obstacle(pipeline: Pipeline) -> str | None:
    """Return the property of the pipeline that the law does not cover, in words; None if it covers all."""
    spec, rule = pipeline.windows, pipeline.watermark
    obstacles = {
        "a join": pipeline.join is not None,
        "several sources": bool(pipeline.sources),
        f"replay.order {pipeline.replay.order}": pipeline.replay.order is not Order.ARRIVAL,
        f"watermark.strategy {rule.strategy}": not rule.is_bounded,
        "an idle timeout": rule.may_fall_idle,
        "alignment": rule.alignment is not None,
        "sessions": spec.is_session,
        "late_data update": spec.updates,
        "another trigger than event_time": not spec.trigger.is_default,
    }
    obstacle = next((text for text, applies in obstacles.items() if applies), None)
    if obstacle is None and not (axis(pipeline) is Axis.TICKS and rule.emit.kind is EmitKind.EVERY):
        return "emissions other than emit: {every}"
    return obstacle


def emissions(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, until_us: int | None) -> DataFrame:
    """Return the emissions at which the watermark passes a window, to fire or to close it: `COLUMNS`.

    `groups` is the census, `rows` the prepared rows with epoch that move the watermark.
    """
    moves = moving(groups, pipeline)
    cells = {"fires": F.col(FIRE_CELL), "closes": F.col(CLOSE_CELL)}
    windows = moves.select(F.explode(F.array(*cells.values())).alias("window_ms")).where("window_ms is not null")
    passed = first_passages(moves, windows.distinct(), pipeline, cells)
    happened = emission.happened(passed, list(cells), moves, pipeline, until_us=until_us)
    epochs = happened.select(F.explode(F.array(*cells)).alias("epoch")).where("epoch is not null").distinct()
    epochs = epochs.localCheckpoint()
    points = combined.points_after(epochs, pipeline)
    reached = combined.combined(points, moves, rows, pipeline).where("watermark_ms is not null")
    count = _number_of_partitions(moves, pipeline)
    if count > LISTED_PARTITIONS:
        newest = epochs.orderBy(F.col("epoch").desc()).limit(max(1, _ENTRIES // count)).localCheckpoint()
        points = combined.points_after(newest, pipeline)
        listed = combined.combined(points, moves, rows, pipeline, listed=count).where("watermark_ms is not null")
        reached = reached.join(newest, "epoch", "left_anti").unionByName(listed)
    clocked = emission.clocked(reached, {"epoch": "clock_us"}, moves, pipeline)
    return clocked.select(
        F.timestamp_micros("clock_us").alias("emitted_at"),
        timestamps.from_millis(F.col("watermark_ms")).alias("watermark"),
        combined.of_partitions(F.col("partition_watermarks")).alias("partition_watermarks"),
    )


def _number_of_partitions(moves: DataFrame, pipeline: Pipeline) -> int:
    if not pipeline.source.source_partition.columns:
        return 1
    return combined.partitions(moves, pipeline).count()


def advances(kept_emissions: DataFrame) -> DataFrame:
    """Return the kept emissions as `timeline.advances`; the clock replaces the epoch."""
    clock = F.unix_micros("emitted_at")
    return kept_emissions.select(
        clock.alias("epoch"),
        clock.alias("clock_us"),
        F.unix_millis("watermark").alias("watermark_ms"),
        F.transform(
            "partition_watermarks",
            lambda p: F.struct(
                p.getField("source_partition").alias("source_partition"),
                F.unix_millis(p.getField("watermark")).alias("watermark_ms"),
            ),
        ).alias("partition_watermarks"),
    )


def resumption(kept_emissions: DataFrame, covered_us: int, pipeline: Pipeline) -> Resumption | None:
    """Return the state from which to resume after `covered_us`; None if the kept emissions begin too late."""
    spec, covered = pipeline.windows, advances(kept_emissions).where(F.col("clock_us") <= covered_us)
    newest = covered.agg(F.max("watermark_ms").alias("watermark_ms"))
    oldest = lateness.oldest_accepting_ms(F.col("watermark_ms"), spec)
    oldest_ms = newest.select(oldest.alias("oldest_ms")).collect()[0].oldest_ms
    if oldest_ms is None:
        return None
    before = covered.where(F.col("watermark_ms") < window_assigners.last_ms(F.lit(oldest_ms), spec))
    row = before.orderBy(F.col("watermark_ms").desc()).head()
    if row is None or row.partition_watermarks is None:
        return None
    partitions = [(p.source_partition, p.watermark_ms) for p in row.partition_watermarks if p.watermark_ms is not None]
    return Resumption(covered_us, oldest_ms, row.clock_us, partitions)


def with_known(groups: DataFrame, resumed: Resumption, pipeline: Pipeline) -> DataFrame:
    """Return the census `groups` of rows that matter, preceded by the watermark of each partition as an empty group."""
    watermarks = local_rows(groups.sparkSession, resumed.partitions, "partition string, watermark_ms long")
    first = arrival_order.every(F.lit(_BEFORE_ALL_US), pipeline)
    empty_groups = watermarks.select(
        F.lit(None).cast("string").alias("reason"),
        F.lit(True).alias("kept"),
        "partition",
        first.alias("bucket"),
        first.alias("first_epoch"),
        F.lit(None).cast("long").alias("slice_ms"),
        F.lit(None).cast("long").alias("window_ms"),
        candidates.highest_ms(F.col("watermark_ms"), pipeline).alias("max_ts_ms"),
        F.lit(_BEFORE_ALL_US).alias("last_clock_us"),
        F.lit(0).cast("long").alias("row_count"),
    )
    return groups.unionByName(with_cells(empty_groups, pipeline), allowMissingColumns=True)
