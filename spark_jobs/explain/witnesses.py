"""Witnesses: the few rows of a source that moved the watermark of each partition to where it was at some moments.

Law: under a bound the watermark of a partition is the highest event time so far, less the bound, less a millisecond. So
the first row with that event time is a witness of it. The first row of each partition is a witness that the partition
existed. At the moments, the witnesses alone give the watermark of all rows. There is one exception: a partition that
joined late may be behind the watermark, which never falls.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.explain.streams import Stream
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark import combined

_PARTITION, _TS, _PLACE = c.PREFIX + "of_partition", c.PREFIX + "of_ts", c.PREFIX + "place_of_ts"


def has_witnesses(stream: Stream) -> bool:
    """Return whether the watermark of a stream has witnesses: that of one source, with a bound, without idleness."""
    watermark = stream.pipeline.watermark
    return not stream.is_listed and len(stream.inputs) == 1 and watermark.is_bounded and not watermark.may_fall_idle


def witnesses(
    stream: Stream, before: DataFrame, after: DataFrame, *, to_end: bool = False
) -> list[dict[str, Any]] | None:
    """Return the witnesses of the watermarks before the rows of epochs, and after the emissions of epochs.

    `before` and `after` have the column `epoch`. With `to_end`, the last row is among them, at whose clock the input
    ends. A row of the result has the columns of the source. None: the stream has too many partitions to list.
    """
    pipeline, ground = stream.pipeline, stream.ground
    points = combined.points_before(before, pipeline).union(combined.points_after(after, pipeline))
    reached = combined.combined(points, ground.moving, ground.rows.moving, pipeline).localCheckpoint()
    if reached.where("partition_watermarks is null").take(1):
        return None
    above = pipeline.watermark.bound_ms + 1
    levels = (
        reached.select(F.explode("partition_watermarks").alias("of"))
        .where("of.watermark_ms is not null")
        .select(F.col("of.source_partition").alias(_PARTITION), (F.col("of.watermark_ms") + above).alias(_TS))
        .distinct()
    )
    at_level = (F.col(c.PARTITION) == F.col(_PARTITION)) & (F.col(c.TS_MS) == F.col(_TS))
    first_at_level = Window.partitionBy(_PARTITION, _TS).orderBy(c.POSITION)
    highest = (
        stream.moving.join(F.broadcast(levels), at_level)
        .withColumn(_PLACE, F.row_number().over(first_at_level))
        .where(F.col(_PLACE) == 1)
    )
    places = stream.moving.groupBy(c.PARTITION).agg(F.min(c.POSITION).alias(_PLACE)).select(_PLACE)
    if to_end:
        places = places.union(stream.moving.agg(F.max(c.POSITION).alias(_PLACE)))
    joining = stream.moving.join(F.broadcast(places), F.col(c.POSITION) == F.col(_PLACE))
    (source,) = stream.inputs
    columns = [quoted(column.name) for column in source.schema]
    rows = highest.select(columns).union(joining.select(columns)).collect()
    return [source.values(row) for row in rows]
