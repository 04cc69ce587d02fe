"""Affected windows: the windows whose published rows can differ after rows of the source were added or taken away.

Two replays of one pipeline are compared, `before` the change and `after` it, each by its ground. Law: the rows of a
window are equal in both if

    content    no row of the window was added or taken away
    calendar   the window fires and closes at the same emissions, with the same watermarks
    late rows  the watermark before each of its late rows is the same
    life       the watermark is the same from its first row to its end; only with a trigger that fires before the end

because its panes, its results, its late events and its row of the calendar follow from these (semantics B4, B5, B6).
Sessions have no calendar: see `affected_sessions`.

The law needs positions and epochs that do not depend on other rows (`obstacle`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.replay.continuation.differing_watermarks import FROM, NEVER, TO, differing_buckets
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import arrival_order, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.replay.windows import late_events
from spark_jobs.replay.windows.slice import oldest_window_ms
from spark_jobs.semantics.windows.grid import grid, next_start


def obstacle(pipeline: Pipeline) -> str | None:
    """Return the property of the pipeline that the law does not cover, in words; None if it covers all."""
    watermark, sources = pipeline.watermark, pipeline.all_sources
    obstacles = {
        "a join": pipeline.join is not None,
        f"replay.order {pipeline.replay.order}": pipeline.replay.order in (Order.COMMIT, Order.OFFSET),
        "source.deduplicate": pipeline.deduplicates,
        "source.quarantine": any(source.quarantine for source in sources),
        "emissions that count rows": pipeline.join is None and arrival_order.is_numbered(pipeline),
        "a time lag with an idle timeout": watermark.moves_at_every_tick and watermark.may_fall_idle,
    }
    return next((text for text, applies in obstacles.items() if applies), None)


def affected_windows(before: Ground, after: Ground, changed: DataFrame) -> DataFrame:
    """Return the windows that can differ, among them each that only one of the replays has: `window_ms`, distinct.

    `changed` are the prepared rows that were added or taken away.
    """
    entries = _differing_entries(before.calendar, after.calendar)
    buckets = differing_buckets(before, after).localCheckpoint()
    groups = (after.census, after.calendar)
    return affected_windows_of(changed, after.pipeline, entries, buckets, late=groups, lives=groups)


def affected_windows_of(
    changed: DataFrame,
    pipeline: Pipeline,
    entries: DataFrame | None = None,
    buckets: DataFrame | None = None,
    *,
    late: tuple[DataFrame, DataFrame] | None = None,
    lives: tuple[DataFrame, DataFrame] | None = None,
) -> DataFrame:
    """Return the windows of the law: `window_ms`, distinct.

    `entries` are the windows with differing entries, `buckets` the ranges of `differing_buckets`. `late` are the census
    groups among which are the late rows of these buckets, and `lives` all groups, each with a calendar.
    """
    windows = [windows_of_rows(changed, pipeline), *([] if entries is None else [entries])]
    if buckets is not None and not buckets.isEmpty():
        few = F.broadcast(buckets) if is_small(buckets) else buckets
        if late is not None:
            windows.append(_of_late_rows(*late, few, pipeline))
        if lives is not None and not pipeline.windows.trigger.is_default:
            windows.append(_of_lives(*lives, few, pipeline))
    return reduce(DataFrame.union, windows).distinct()


def stretches(affected: DataFrame, grounds: Sequence[Ground], most: int) -> list[tuple[int, int]]:
    """Return at most `most` stretches of window starts `[start_ms, end_ms)` with all `affected` windows, in order.

    `grounds` are of all replays whose calendars differ. Windows without a row in any of them separate no stretches. If
    there are too many stretches, those with the fewest windows between them become one.
    """
    spec = grounds[0].pipeline.windows
    calendars = [ground.calendar.select("window_ms") for ground in grounds]
    every = reduce(DataFrame.union, [*calendars, affected]).distinct()
    # One partition for these windows: a row a window of event time.
    in_order = Window.partitionBy(F.lit(0)).orderBy("window_ms")
    numbered = every.withColumn("number", F.row_number().over(in_order)).join(affected, "window_ms")
    gaps = numbered.select(
        "window_ms",
        F.lag("window_ms").over(in_order).alias("last_ms"),
        (F.col("number") - F.lag("number").over(in_order)).alias("distance"),
    ).localCheckpoint()
    edges = gaps.agg(F.min("window_ms").alias("first"), F.max("window_ms").alias("last")).collect()[0]
    if edges["first"] is None:
        return []
    cuts = gaps.where("distance > 1").orderBy(F.col("distance").desc(), "window_ms").limit(most - 1).collect()
    cuts = sorted(cuts, key=lambda cut: cut["window_ms"])
    starts = [edges["first"], *(cut["window_ms"] for cut in cuts)]
    lasts = [*(cut["last_ms"] for cut in cuts), edges["last"]]
    return [(start, next_start(last, grid(spec))) for start, last in zip(starts, lasts, strict=True)]


def windows_of_rows(changed: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows of rows, also the window before a row that has none."""
    filling = changed.where(fills_windows())
    return _between(filling, oldest_window_ms(pipeline.windows), F.col(c.WINDOW_MS), pipeline)


def _between(rows: DataFrame, oldest_ms: Column, newest_ms: Column, pipeline: Pipeline) -> DataFrame:
    spec = pipeline.windows
    if not spec.is_sliding:
        return rows.select(newest_ms.alias("window_ms"))
    starts = window_assigners.starts_ms(F.least(oldest_ms, newest_ms), newest_ms, spec)
    return rows.select(F.explode(starts).alias("window_ms"))


def _differing_entries(before: DataFrame, after: DataFrame) -> DataFrame:
    """Return the windows whose entries of the two calendars differ."""
    names = [name for name in after.columns if name != "window_ms"]
    entries = [
        calendar.select("window_ms", F.struct(*names).alias(side))
        for calendar, side in ((before, "before"), (after, "after"))
    ]
    compared = entries[0].join(entries[1], "window_ms", "full_outer")
    return compared.where(~F.col("before").eqNullSafe(F.col("after"))).select("window_ms")


def _of_late_rows(groups: DataFrame, calendar: DataFrame, buckets: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows of late rows in buckets that may have another watermark before them.

    A row that is late in one of the replays alone is in a window whose entry differs.
    """
    oldest, newest = window_assigners.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms")
    met = (F.col("bucket") >= F.col(FROM)) & (F.col("bucket") <= F.col(TO))
    moved = groups.where("bucket is not null").join(buckets, met, "left_semi")
    late = late_events.maybe_late(moved, calendar, pipeline)
    return _between(late, oldest, newest, pipeline)


def _of_lives(groups: DataFrame, calendar: DataFrame, buckets: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows with a differing bucket between their first row and the end of their state."""
    filling = groups.where("reason is null and kept and bucket is not null")
    oldest, newest = window_assigners.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms")
    starts = F.array(newest)
    if pipeline.windows.is_sliding:
        starts = window_assigners.starts_ms(oldest, newest, pipeline.windows)
    first = (
        filling.where(oldest <= newest)
        .select("bucket", F.explode(starts).alias("window_ms"))
        .groupBy("window_ms")
        .agg(F.min("bucket").alias("first"))
    )
    closes = arrival_order.bucket(F.col("closes_epoch"), pipeline)
    closed = calendar.select("window_ms", F.coalesce(closes, F.lit(NEVER)).alias("last"))
    met = (F.col("first") <= F.col(TO)) & (F.col("last") >= F.col(FROM))
    return first.join(closed, "window_ms").join(buckets, met, "left_semi").select("window_ms")
