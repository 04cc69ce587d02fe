"""Changes of the source seen from nearby: what differs between two replays, from the part of the arrival order around.

    where watermarks may differ     from the first changed group until all partitions have equal watermarks again
                                    (`differing_range`)
    what a run over windows reads   from a firing before these windows to a closing after them (`census_around`)

In such a range few groups stand for all others (`nearby_groups`). The calendar before the change is known: an entry
differs only if it fires or closes in the first range.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation.affected_windows import affected_windows_of
from spark_jobs.replay.continuation.differing_watermarks import differing_buckets
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import candidates
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.watermark.census import moving
from spark_jobs.replay.watermark.changed_census import Recounted
from spark_jobs.replay.watermark.nearby_groups import Range, nearby_groups
from spark_jobs.replay.windows import calendar
from spark_jobs.replay.windows.slice import Slice

_BEFORE, _AFTER = "before_", "after_"


def affected_windows(before: Ground, after: Ground, census: Recounted, changed: DataFrame) -> DataFrame:
    """Return the windows that can differ, as `affected_windows.affected_windows` does: `window_ms`, distinct.

    `before` knows its census and its calendar. Of `after`, only what the range of differences needs is computed.
    `changed` are the prepared rows that were added or taken away.
    """
    pipeline = after.pipeline
    near = differing_range(before, after, census)
    if near is None:
        return affected_windows_of(changed, pipeline)
    groups = nearby_groups(census.before, near, pipeline).localCheckpoint()
    changed_groups = census.groups.of(groups).localCheckpoint()
    sides = [_of_groups(before, groups), _of_groups(after, changed_groups)]
    buckets = differing_buckets(*sides).localCheckpoint()
    return affected_windows_of(
        changed,
        pipeline,
        _differing_entries(before.calendar, sides[1], near),
        buckets,
        late=(sides[1].census, before.calendar),
        lives=(census.census, before.calendar),
    )


def differing_range(before: Ground, after: Ground, census: Recounted) -> Range | None:
    """Return the range outside of which no watermark of the two replays differs; None: none differs at all."""
    if census.is_same and before.until_us == after.until_us:
        return None
    pipeline, bucket = after.pipeline, F.col("bucket")
    touched = census.groups.keys.agg(F.min("bucket").alias("first"), F.max("bucket").alias("last")).collect()[0]
    sides = (
        _partitions(census.before, touched.last, pipeline, _BEFORE),
        _partitions(census.census, touched.last, pipeline, _AFTER),
    )
    partitions = sides[0].join(sides[1], "partition", "full_outer").localCheckpoint()
    ends = [_end(partitions, side, ground.until_us) for side, ground in ((_BEFORE, before), (_AFTER, after))]
    if ends[0] != ends[1]:
        firsts = (touched.first, *(end.bucket - 1 for end in ends if end.bucket is not None))
        return Range(min((first for first in firsts if first is not None), default=None), None)
    if touched.first is None:
        return None
    highs = [F.col(f"{side}high") for side in (_BEFORE, _AFTER)]
    levels = partitions.where(~highs[0].eqNullSafe(highs[1])).select("partition", F.greatest(*highs).alias("level"))
    levels = levels.localCheckpoint()
    # Later groups are those of both replays.
    later = moving(census.before, pipeline).where(bucket > F.lit(touched.last))
    above = later.join(F.broadcast(levels), "partition").where(candidates.of_group(pipeline) >= F.col("level"))
    reached = above.groupBy("partition").agg(F.min("bucket").alias("at"))
    row = reached.agg(F.count("*").alias("n"), F.max("at").alias("at")).collect()[0]
    last = touched.last if row.at is None else max(touched.last, row.at)
    is_closed = row.n == levels.count() and _joins(partitions, touched.first, last).isEmpty()
    return Range(touched.first, last if is_closed else None)


def windows_around(part: Slice, pipeline: Pipeline) -> Slice:
    """Return a slice with all windows of the rows that fill windows of `part`."""
    longest_ms = pipeline.windows.longest_ms
    start_ms = None if part.start_ms is None else part.start_ms - longest_ms
    return Slice("around", start_ms, None if part.end_ms is None else part.end_ms + longest_ms)


def census_around(around: Slice, census: Recounted, book: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the census after the change, as far as a run over windows reads it that are inside of `around`.

    The run reads rows of these windows, and the watermarks before and after them: from a firing before the windows to a
    closing after them. `book` is the calendar, whose entries outside of `around` are the same after the change.
    """
    near = _range_of_windows(around, census, book, pipeline)
    return census.groups.of(nearby_groups(census.before, near, pipeline))


def _range_of_windows(around: Slice, census: Recounted, book: DataFrame, pipeline: Pipeline) -> Range:
    start, bucket = F.col("window_ms"), F.col("bucket")
    is_near = around.reaches_group(pipeline.windows)
    extents = [
        rows.agg(F.min(bucket).alias("first"), F.max(bucket).alias("last")).collect()[0]
        for rows in (census.before.where(is_near), census.groups.rows, census.groups.keys)
    ]
    is_before = F.lit(False) if around.start_ms is None else start < F.lit(around.start_ms)
    is_after = F.lit(False) if around.end_ms is None else start >= F.lit(around.end_ms)
    edges = book.agg(
        F.max_by(F.struct("fires_epoch"), F.when(is_before, start)).alias("earlier"),
        F.min_by(F.struct("closes_epoch"), F.when(is_after, start)).alias("later"),
    ).collect()[0]
    # A later window fires and closes later.
    fires = [] if edges.earlier is None else [edges.earlier.fires_epoch, *(extent.first for extent in extents)]
    closes = [] if edges.later is None or edges.later.closes_epoch is None else [edges.later.closes_epoch]
    closes += [extent.last for extent in extents if closes]
    first = min((bucket for bucket in fires if bucket is not None), default=None)
    return Range(first, max((bucket for bucket in closes if bucket is not None), default=None))


def _of_groups(ground: Ground, groups: DataFrame) -> Ground:
    """Return the ground of a replay with other census groups."""
    store = MemoryStore({"census": groups})
    return Ground(ground.rows, ground.pipeline, store, until_us=ground.until_us, plans=ground.small_plans)


def _differing_entries(book: DataFrame, after: Ground, near: Range) -> DataFrame:
    """Return the windows of the calendar `book` that have another entry after the change: `window_ms`."""
    moving_entries = near.holds(F.col("fires_epoch")) | near.holds(F.col("closes_epoch"))
    earlier = book.where(moving_entries).drop("holds").localCheckpoint()
    windows = earlier.select("window_ms")
    now = calendar.entries(windows, after.census, after.rows.moving, after.pipeline, until_us=after.until_us)
    return earlier.select(*now.columns).exceptAll(now).select("window_ms")


@dataclass(frozen=True)
class _End:
    """The end of a replay: the last bucket with rows, and the clock."""

    bucket: int | None
    clock_us: int | None


def _end(partitions: DataFrame, side: str, until_us: int | None) -> _End:
    row = partitions.agg(F.max(f"{side}last").alias("bucket"), F.max(f"{side}clock").alias("clock_us")).collect()[0]
    return _End(row.bucket, row.clock_us if until_us is None else until_us)


def _partitions(groups: DataFrame, until: int | None, pipeline: Pipeline, side: str) -> DataFrame:
    """Return for each partition its first and last bucket, and the highest candidate up to a bucket."""
    bucket = F.col("bucket")
    is_until = bucket <= F.lit(until).cast("long")
    values = {
        "joined": F.min(bucket),
        "last": F.max(bucket),
        "high": F.max(F.when(is_until, candidates.of_group(pipeline))),
        "clock": F.max("last_clock_us"),
    }
    named = (value.alias(side + name) for name, value in values.items())
    return moving(groups, pipeline).where("bucket is not null").groupBy("partition").agg(*named)


def _joins(partitions: DataFrame, first: int, last: int) -> DataFrame:
    """Return the partitions that join in a range, or at different moments: then the minimum falls."""
    before, after = (F.col(f"{side}joined") for side in (_BEFORE, _AFTER))
    return partitions.where(~before.eqNullSafe(after) | after.between(F.lit(first), F.lit(last)))
