"""Affected sessions: the sessions whose published rows can differ after rows were added or taken away.

A session belongs to a component of its key's rows (`session_components`). Law: the sessions of a component are equal
before and after the change if

    content    no row of the component was added or taken away
    firing     it is clean in both replays, and the same emission fires it
    life       or else, from its first row to its last row and its end, the watermark is the same

A component that the change splits, joins or ends is in the range of one that has a changed row.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation.differing_watermarks import FROM, NEVER, TO, differing_buckets
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.replay.sessions.session_components import LAST_TS_MS, UNCLEAN
from spark_jobs.replay.stages.session_stages import SessionStages
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.replay.windows.slice import EVERYTHING

_KEY, _AT = c.PREFIX + "changed_key_", c.PREFIX + "changed_ts_ms"
_OTHER = "other_"


def affected_sessions(before: Ground, after: Ground, changed: DataFrame) -> DataFrame:
    """Return the components with affected sessions, by event time: `start_ms` and `end_ms`, exclusive.

    `changed` are the prepared rows that were added or taken away.
    """
    pipeline = after.pipeline
    old, new = SessionStages(before, EVERYTHING), SessionStages(after, EVERYTHING)
    rows = changed.where(fills_windows()).localCheckpoint()
    affected = [_with_rows(stages.components, rows, pipeline) for stages in (old, new)]
    buckets = differing_buckets(before, after).localCheckpoint()
    if not buckets.isEmpty():
        few = F.broadcast(buckets) if is_small(buckets) else buckets
        affected += [
            _fired_otherwise(before, after, new),
            _clean_in_one(old, new, pipeline),
            _of_lives(new, after, few),
        ]
    ranges = (components.select(F.col(c.WINDOW_MS), F.col(LAST_TS_MS)) for components in affected)
    return reduce(DataFrame.union, ranges).select(
        F.col(c.WINDOW_MS).alias("start_ms"), (F.col(LAST_TS_MS) + F.lit(1)).alias("end_ms")
    )


def stretches(affected: DataFrame, most: int) -> list[tuple[int, int]]:
    """Return at most `most` stretches of time `[start_ms, end_ms)` with all `affected` ranges, in order.

    If there are too many, those with the least time between them become one.
    """
    # One partition for this window: a row a component with affected sessions.
    in_order = Window.partitionBy(F.lit(0)).orderBy("start_ms", "end_ms")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    gaps = affected.select("start_ms", "end_ms", F.max("end_ms").over(earlier).alias("last_ms")).localCheckpoint()
    edges = gaps.agg(F.min("start_ms").alias("first"), F.max("end_ms").alias("last")).collect()[0]
    if edges["first"] is None:
        return []
    widest = gaps.where("start_ms > last_ms").orderBy((F.col("last_ms") - F.col("start_ms")), "start_ms")
    cuts = sorted(widest.limit(most - 1).collect(), key=lambda cut: cut["start_ms"])
    starts = [edges["first"], *(cut["start_ms"] for cut in cuts)]
    return list(zip(starts, [*(cut["last_ms"] for cut in cuts), edges["last"]], strict=True))


def _with_rows(components: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the components that contain one of the rows."""
    keys = [column.alias(f"{_KEY}{i}") for i, column in enumerate(key_columns(pipeline))]
    at = rows.select(*keys, F.col(c.TS_MS).alias(_AT)).distinct()
    same = [column.eqNullSafe(F.col(f"{_KEY}{i}")) for i, column in enumerate(key_columns(pipeline))]
    contains = (F.col(c.WINDOW_MS) <= F.col(_AT)) & (F.col(LAST_TS_MS) >= F.col(_AT))
    few = F.broadcast(at) if is_small(at) else at
    return components.join(few, reduce(Column.__and__, [contains, *same]), "left_semi")


def _fired_otherwise(before: Ground, after: Ground, new: SessionStages) -> DataFrame:
    """Return the components whose only firing is another in the two replays."""
    end = F.col(LAST_TS_MS) + F.lit(after.pipeline.windows.gap_ms - 1)
    ends = new.components.select(c.WINDOW_MS, LAST_TS_MS).distinct()
    fired = [ground.fire(ends, end) for ground in (before, after)]
    names = (timeline.FIRED_US, timeline.FIRED_WATERMARK)
    other = fired[0].withColumnsRenamed({name: _OTHER + name for name in names})
    firings = fired[1].join(other, [c.WINDOW_MS, LAST_TS_MS])
    equal = reduce(Column.__and__, (F.col(name).eqNullSafe(F.col(_OTHER + name)) for name in names))
    return firings.where(~equal)


def _clean_in_one(old: SessionStages, new: SessionStages, pipeline: Pipeline) -> DataFrame:
    """Return the components that are clean in one of the replays alone."""
    same = [c.WINDOW_MS, LAST_TS_MS]
    names = [f"{_KEY}{i}" for i in range(len(pipeline.windows.key))]
    sides = [
        stages.components.select(
            *same, UNCLEAN, *(column.alias(name) for column, name in zip(key_columns(pipeline), names, strict=True))
        )
        for stages in (old, new)
    ]
    left, right = sides[0].alias("old"), sides[1].alias("new")
    equal = [F.col(f"old.{name}").eqNullSafe(F.col(f"new.{name}")) for name in (*same, *names)]
    differs = F.col(f"old.{UNCLEAN}") != F.col(f"new.{UNCLEAN}")
    return right.join(left, reduce(Column.__and__, [*equal, differs]), "left_semi")


def _of_lives(new: SessionStages, after: Ground, buckets: DataFrame) -> DataFrame:
    """Return the unclean components with a differing bucket between their first row and their last row or end."""
    pipeline = after.pipeline
    bucket = arrival_order.bucket(F.col(c.EPOCH), pipeline)
    rows = new.unclean_rows.groupBy(c.COMPONENT).agg(F.min(bucket).alias("first"), F.max(bucket).alias("last_row"))
    kept_ms = pipeline.windows.gap_ms - 1 + pipeline.windows.lateness_ms
    ends = new.unclean.withColumn("threshold_ms", F.col(LAST_TS_MS) + F.lit(kept_ms))
    closed = timeline.first_reaching(ends, after.timeline)
    closes = F.coalesce(arrival_order.bucket(F.col("reached.epoch"), pipeline), F.lit(NEVER))
    lives = closed.join(rows, c.COMPONENT).withColumn("last", F.greatest(closes, F.col("last_row")))
    met = (F.col("first") <= F.col(TO)) & (F.col("last") >= F.col(FROM))
    return lives.join(buckets, met, "left_semi")
