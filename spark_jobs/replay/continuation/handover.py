"""The handover to a live job: the state and the rows that the job needs to continue a replay of arrivals.

A is the moment up to which arrivals are covered, S the oldest window that is not closed then (`resume`), and

    E    the lesser of S and the event time of a row that closes the window before S
    R    the last kept emission that fires no window from S on, and before which no row from E on arrived
    P    the partitions that had a row before R

Law: a job starts without state and reads the rows that arrived at R or later, in their order. It holds its watermark
until every partition of P has a row. Then it has the results of a job that reads all rows, for

- each window from S on,
- each row that arrives at A or later.

Reason: a watermark that matters to a window from S on is reached by rows from E on, in every partition with rows by
then. All of these rows arrive at R or later. The partitions that hold the watermark back at R or later are
those of P and of the rows read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.rows import arrival_order, candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import moves_watermark
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import census, moving
from spark_jobs.semantics.windows.grid import grid, previous_start
from spark_jobs.semantics.windows.window_assigners import assigner

PartitionWatermark = tuple[str, int | None]


# The live job needs the watermark of each partition.
_ALL = 2**31 - 1


@dataclass(frozen=True)
class LiveStart:
    """The start of a live job; microseconds and milliseconds since 1970, None for the watermark MIN.

    `state_from_ms` is E, `read_from_us` R, `partitions_before` P. Without R all rows are read, and P is empty.
    `watermark_ms` and `partitions` are the watermarks at A.
    """

    state_from_ms: int
    read_from_us: int | None
    partitions_before: Sequence[str]
    watermark_ms: int | None
    partitions: Sequence[PartitionWatermark]


def state_from_ms(oldest_ms: int, pipeline: Pipeline) -> int:
    """Return E of the window that starts at `oldest_ms`. It may be earlier if windows leave gaps."""
    spec = pipeline.windows
    closed = assigner(spec).assign(previous_start(oldest_ms, grid(spec)))[0]
    closing_ms = closed.last + spec.lateness_ms + candidates.delay_ms(pipeline)
    return min(oldest_ms, closing_ms)


def live_start(prepared: DataFrame, kept_emissions: DataFrame, resumed: Resumption, pipeline: Pipeline) -> LiveStart:
    """Return the start of a live job at `resumed`.

    `prepared` are the prepared rows that arrived before A. Rows may be left out if they are before E and arrived before
    the emission at which `resumed` continues.
    """
    from_ms = state_from_ms(resumed.oldest_ms, pipeline)
    least = prepared.where(F.col(c.VALID) & (F.col(c.TS_MS) >= F.lit(from_ms))).agg(F.min(c.CLOCK_US)).collect()[0][0]
    # A tick precedes the rows of its millisecond.
    limit_us = min(resumed.since_us, resumed.since_us if least is None else least)
    advances = resume.advances(kept_emissions)
    before = last_listed(advances, limit_us)
    combined_ms, partitions = _watermarks(prepared, advances, resumed, pipeline)
    return LiveStart(
        state_from_ms=from_ms,
        read_from_us=None if before is None else before.clock_us,
        partitions_before=() if before is None else sorted(p.source_partition for p in before.partition_watermarks),
        watermark_ms=combined_ms,
        partitions=partitions,
    )


def last_listed(advances: DataFrame, limit_us: int) -> Row | None:
    """Return the last emission until `limit_us` that lists its partitions: a live job has to wait for them."""
    listed = advances.where((F.col("clock_us") <= F.lit(limit_us)) & F.col("partition_watermarks").isNotNull())
    return listed.orderBy(F.col("clock_us").desc()).head()


def _watermarks(
    prepared: DataFrame, advances: DataFrame, resumed: Resumption, pipeline: Pipeline
) -> tuple[int | None, list[PartitionWatermark]]:
    """Return the combined watermark after the last emission until A, and the watermark of each partition."""
    rows = arrival_order.with_epoch(prepared, pipeline)
    groups = resume.with_known(census(rows, pipeline), resumed, pipeline)
    last = arrival_order.every(F.lit(resumed.covered_us), pipeline) - F.lit(1)
    points = combined.points_after(prepared.sparkSession.range(1).select(last.alias("epoch")), pipeline)
    moves = moving(groups, pipeline)
    now = combined.combined(points, moves, rows.where(moves_watermark(pipeline)), pipeline, listed=_ALL).collect()[0]
    # A partition that joined later may hold the watermark back, but never lowers it.
    highest = advances.where(F.col("clock_us") <= F.lit(resumed.covered_us)).agg(F.max("watermark_ms")).collect()[0][0]
    reached = [value for value in (now.watermark_ms, highest) if value is not None]
    of_each = sorted((p.source_partition, p.watermark_ms) for p in now.partition_watermarks)
    return max(reached, default=None), of_each
