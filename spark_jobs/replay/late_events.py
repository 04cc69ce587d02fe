"""Late events: the rows that came behind their window's firing, and of them those that no window took.

Every one is kept, with the watermark it missed: `late_by_ms = watermark before the row - event time` (rules 52, 53).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay import arrival_order, lateness, timestamps, watermark, windows
from spark_jobs.replay import columns as c
from spark_jobs.replay.census import moving
from spark_jobs.replay.events import quoted


def behind(rows: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The late and too late rows of `rows` (prepared, filling windows, with epoch), with `TOO_LATE` and `POSITION`."""
    return lateness.late(rows, calendar).withColumn(c.POSITION, arrival_order.position(rows, pipeline))


def late_rows(behind: DataFrame, groups: DataFrame, pipeline: Pipeline, moved_by: DataFrame) -> DataFrame:
    """The rows of `behind` with `WATERMARK_MS`, the watermark before each.

    `groups` is the census, `moved_by` the prepared rows with epoch that move the watermark. `behind` is read twice and
    should be stored.
    """
    points = watermark.points_before(behind.select(F.col(c.EPOCH).alias("epoch")).distinct(), pipeline)
    reached = watermark.combined(points, moving(groups, pipeline), moved_by, pipeline)
    missed = reached.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))
    return behind.join(missed, c.EPOCH)


def late_events(late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The rows of `late` that no window took: the columns of `late_events`."""
    arrival = c.ARRIVAL_US if pipeline.source.arrival_time else c.CLOCK_US
    added = {
        "event_time": F.timestamp_micros(c.EVENT_US),
        "arrival_time": F.timestamp_micros(arrival),
        "watermark": timestamps.from_millis(F.col(c.WATERMARK_MS)),
        "late_by_ms": F.col(c.WATERMARK_MS) - F.col(c.TS_MS),
        "window_start": timestamps.from_millis(F.col(c.WINDOW_MS)),
        "window_end": timestamps.from_millis(F.col(c.WINDOW_MS) + F.lit(windows.length_ms(pipeline.windows))),
    }
    return late.where(c.TOO_LATE).select(*_beside(late, added, pipeline))


def invalid_events(prepared: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The rows without a usable time: the columns of `invalid_events`."""
    added = {"reason": F.col(c.REASON)}
    return prepared.where(F.col(c.REASON).isNotNull()).select(*_beside(prepared, added, pipeline))


def _beside(rows: DataFrame, added: dict[str, Column], pipeline: Pipeline) -> list[Column]:
    """The source's columns and the added ones.

    A source column with the name of an added one is kept as `source_<name>`, unless it is the same timestamp.
    """
    taken = {name.lower() for name in (*added, "run_id")}
    times = {"event_time": pipeline.source.event_time, "arrival_time": pipeline.source.arrival_time}
    kept = []
    for field in rows.schema:
        name = field.name.lower()
        if field.name.startswith(c.PREFIX):
            continue
        declared = times.get(name)
        if name in added and declared and declared.expression.lower() == name and field.dataType == T.TimestampType():
            continue
        kept.append(F.col(quoted(field.name)).alias(f"source_{field.name}" if name in taken else field.name))
    return [*kept, *(column.alias(name) for name, column in added.items())]
