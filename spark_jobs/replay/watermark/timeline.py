"""The timeline of the combined watermark: its advances, in order, each with its emission.

Law: with advances `W_1 < W_2 < ...` at epochs `k_1 < k_2 < ...`,

    the watermark before a row of epoch e is max { W_i : k_i < e }, null (MIN) if there is none
    a window with last instant T fires at the first i with W_i >= T

Tumbling and sliding windows share few thresholds, which first passages solve without a timeline (semantics B4). The
threshold of a session may be any millisecond, so it is looked up in the timeline (`stretches`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order, emission, timestamps
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import declared_labels
from spark_jobs.replay.watermark import combined, custom, multiplexer, union
from spark_jobs.replay.watermark.stretches import REACHED_MS, REACHED_US, stretches

FIRED_US = c.PREFIX + "fired_us"  # clock of the emission that fires the row's window; null: not fired
FIRED_WATERMARK = c.PREFIX + "fired_watermark"  # the watermark of that emission, a TIMESTAMP

_STRETCH = c.PREFIX + "stretch_before"
_END = c.PREFIX + "end_us"


def advances(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """Return all advances of the combined watermark: `epoch, clock_us` (of the emission), `watermark_ms`, a row each.

    With `partition_watermarks` where the timeline is the only source of watermarks (`defines_watermark`). `groups` are
    the census groups that move the watermark, `rows` the prepared rows with epoch that move it. `until_us` is the last
    known value of the arrival clock. The end of the input is no advance.
    """
    if pipeline.watermark.is_custom:
        clock = emission.Clock(groups, pipeline, until_us)
        everyone = F.broadcast(combined.partitions(groups, pipeline).select("partition"))
        changes = custom.changes(rows, custom.own_columns(rows), clock.ticks().crossJoin(everyone), pipeline)
        labels = declared_labels(pipeline)
        return multiplexer.advances(changes.withColumn("source", F.lit(0)), clock, multiplexer.of_one(labels))
    if pipeline.sources:
        return union.advances(groups, rows, pipeline, until_us=until_us)
    turns = combined.turning_points(groups, rows, pipeline, until_us=until_us)
    points = combined.points_after(turns, pipeline)
    reached = combined.combined(points, groups, rows, pipeline).where("watermark_ms is not null")
    rises = reached.groupBy("watermark_ms").agg(F.min("epoch").alias("epoch"))
    clocked = emission.clocked(rises, {"epoch": "clock_us"}, groups, pipeline)
    return clocked.select("epoch", "clock_us", "watermark_ms")


def defines_watermark(pipeline: Pipeline) -> bool:
    """Return whether the timeline alone defines the watermark: for custom generators and for several sources."""
    return pipeline.watermark.is_custom or pipeline.is_united


def before(groups: DataFrame, timeline: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the watermark before the rows of each stretch of the arrival order: `bucket, watermark_ms` (null: MIN).

    Where rows are epochs a stretch has many watermarks. The result is then the watermark after the stretch, an upper
    bound for all of its rows. `groups` are census groups, `timeline` is `advances`.
    """
    risen = timeline.select(arrival_order.bucket(F.col("epoch"), pipeline).alias("bucket"), "watermark_ms")
    stretches = groups.where("bucket is not null").select("bucket", F.lit(None).cast("long").alias("watermark_ms"))
    steps = risen.union(stretches).groupBy("bucket").agg(F.max("watermark_ms").alias("watermark_ms"))
    last = -1 if is_exact_by_row(pipeline) else 0
    # One partition for this window: a row an epoch, not a row an event.
    so_far = Window.partitionBy(F.lit(0)).orderBy("bucket").rowsBetween(Window.unboundedPreceding, last)
    return steps.select("bucket", F.max("watermark_ms").over(so_far).alias("watermark_ms"))


def watermark_before(epochs: DataFrame, timeline: DataFrame) -> DataFrame:
    """Return the watermark before the rows of each of `epochs`: `epoch, watermark_ms` (null: MIN).

    `timeline` is `advances`.
    """
    probes = epochs.withColumn("is_probe", F.lit(True))
    steps = probes.unionByName(timeline.select("epoch", "watermark_ms"), allowMissingColumns=True)
    # One partition for this window: a row a requested epoch and a row an advance. The advances of an epoch come after
    # its rows.
    so_far = (
        Window.partitionBy(F.lit(0))
        .orderBy("epoch", F.col("is_probe").asc_nulls_last())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    return steps.withColumn("watermark_ms", F.max("watermark_ms").over(so_far)).where("is_probe").drop("is_probe")


def first_reaching(thresholds: DataFrame, timeline: DataFrame) -> DataFrame:
    """Return `thresholds` (with a column `threshold_ms`) with `reached`: the first advance that reaches it, or null.

    `reached` has the columns of `timeline`, which is `advances`.
    """
    reaching = timeline.select(
        F.col("watermark_ms").alias("threshold_ms"), F.struct(*timeline.columns).alias("reached")
    )
    steps = thresholds.withColumn("is_probe", F.lit(True)).unionByName(reaching, allowMissingColumns=True)
    # One partition for this window: a row a window and a row an advance.
    highest_first = (
        Window.partitionBy(F.lit(0))
        .orderBy(F.col("threshold_ms").desc(), F.col("is_probe").asc_nulls_first())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    filled = steps.withColumn("reached", F.last("reached", ignorenulls=True).over(highest_first))
    return filled.where("is_probe").drop("is_probe")


def is_exact_by_row(pipeline: Pipeline) -> bool:
    """Return whether all rows of a stretch have one watermark before them, so that `before` is exact for each row."""
    return axis(pipeline) is Axis.TICKS


def judged(rows: DataFrame, before: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `rows` (prepared, with epoch, each in a stretch of `before`) with the stretch's `WATERMARK_MS`."""
    of_stretch = F.broadcast(before.withColumnsRenamed({"watermark_ms": c.WATERMARK_MS, "bucket": _STRETCH}))
    return rows.join(of_stretch, arrival_order.bucket(F.col(c.EPOCH), pipeline) == F.col(_STRETCH)).drop(_STRETCH)


def fired(
    windows: DataFrame,
    last_ms: Column,
    timeline: DataFrame,
    groups: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
) -> DataFrame:
    """`windows` with `FIRED_US` and `FIRED_WATERMARK`: the first advance that reaches `last_ms`, or the end of input.

    Both are null if neither reaches it. `timeline` is `advances` and should be stored: small jobs read it first.
    `groups` are the census groups that move the watermark.
    """
    closes = pipeline.replay.closes
    ended = F.coalesce(F.lit(until_us).cast("long"), F.max("last_clock_us"))
    end = groups.agg(F.when(F.lit(closes), ended).alias(_END))
    passed = _first_reaching(windows, last_ms, timeline).crossJoin(F.broadcast(end))
    at_end = F.when(F.col(_END).isNotNull(), timestamps.end_of_input())
    return passed.withColumns(
        {
            FIRED_US: F.coalesce(REACHED_US, _END),
            FIRED_WATERMARK: F.coalesce(timestamps.from_millis(F.col(REACHED_MS)), at_end),
        }
    ).drop(REACHED_MS, REACHED_US, _END)


def _first_reaching(windows: DataFrame, last_ms: Column, timeline: DataFrame) -> DataFrame:
    """Return `windows`, each with `REACHED_MS` and `REACHED_US`; null after the last advance."""
    by_cell = stretches(timeline)
    if by_cell is None:
        nothing = F.lit(None).cast("long")
        return windows.withColumns({REACHED_MS: nothing, REACHED_US: nothing})
    return by_cell.first_reaching(windows, last_ms)
