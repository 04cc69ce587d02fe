"""The seam: what a live job has to know and to read again, to go on where a replay of arrivals has stopped.

With A the moment up to which arrivals are covered, S the oldest window that is not closed then (`resume`), and

    E    the lesser of S and the event time whose row closes the window before S
    R    the last kept emission that fires no window from S on, and before which no row from E on has arrived
    P    the partitions that had spoken before R

Law: a job that begins with nothing, holds its watermark until every partition of P has spoken, and is given the rows
that arrived at R or later, in their order, says of each window from S on, and of each row that arrives at A or later,
what a job says that was given all rows.

For a watermark that matters to a window from S on is reached by rows from E on alone, in every partition that had
spoken by then; all of them arrive at R or later. Which partitions hold it back at R or later is told by P, and by rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.rows import arrival_order, candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import moves_watermark
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import census, moving

PartitionWatermark = tuple[str, int | None]


@dataclass(frozen=True)
class Seam:
    """Microseconds and milliseconds since 1970; None for the watermark MIN.

    `state_from_ms` is E, `read_from_us` R, `spoken` P; without R everything is read, and there is no P. `watermark_ms`
    and `partitions` are what they are at A.
    """

    state_from_ms: int
    read_from_us: int | None
    spoken: Sequence[str]
    watermark_ms: int | None
    partitions: Sequence[PartitionWatermark]


def state_from_ms(oldest_ms: int, pipeline: Pipeline) -> int:
    """E of the window that starts at `oldest_ms`. Between windows with gaps it may lie before that."""
    spec = pipeline.windows
    closing_ms = oldest_ms - spec.period_ms + spec.size_ms - 1 + spec.lateness_ms + candidates.behind_ms(pipeline)
    return min(oldest_ms, closing_ms)


def seam(prepared: DataFrame, kept: DataFrame, resumed: Resumption, pipeline: Pipeline) -> Seam:
    """The seam at `resumed`.

    `prepared` are the prepared rows that arrived before A, and may lack those that are neither from E on nor arrived
    after the emission where `resumed` goes on; `kept` are the emissions kept.
    """
    from_ms = state_from_ms(resumed.oldest_ms, pipeline)
    least = prepared.where(F.col(c.VALID) & (F.col(c.TS_MS) >= F.lit(from_ms))).agg(F.min(c.CLOCK_US)).collect()[0][0]
    # A tick comes before the rows of its own instant, to the millisecond.
    limit_us = min(resumed.since_us, resumed.since_us if least is None else least)
    told = resume.advances(kept)
    before = told.where(F.col("clock_us") <= F.lit(limit_us)).orderBy(F.col("clock_us").desc()).head()
    combined_ms, partitions = _watermarks(prepared, told, resumed, pipeline)
    return Seam(
        state_from_ms=from_ms,
        read_from_us=None if before is None else before.clock_us,
        spoken=() if before is None else sorted(p.source_partition for p in before.partition_watermarks),
        watermark_ms=combined_ms,
        partitions=partitions,
    )


def _watermarks(
    prepared: DataFrame, told: DataFrame, resumed: Resumption, pipeline: Pipeline
) -> tuple[int | None, list[PartitionWatermark]]:
    """The combined watermark after the last emission by A, and that of each partition."""
    rows = arrival_order.with_epoch(prepared, pipeline)
    groups = resume.with_known(census(rows, pipeline), resumed, pipeline)
    last = arrival_order.every(F.lit(resumed.covered_us), pipeline) - F.lit(1)
    points = combined.points_after(prepared.sparkSession.range(1).select(last.alias("epoch")), pipeline)
    moves = moving(groups, pipeline)
    now = combined.combined(points, moves, rows.where(moves_watermark(pipeline)), pipeline).collect()[0]
    # What joined since may hold back the rest, but takes back nothing.
    highest = told.where(F.col("clock_us") <= F.lit(resumed.covered_us)).agg(F.max("watermark_ms")).collect()[0][0]
    reached = [value for value in (now.watermark_ms, highest) if value is not None]
    of_each = sorted((p.source_partition, p.watermark_ms) for p in now.partition_watermarks)
    return max(reached, default=None), of_each
