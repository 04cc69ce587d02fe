"""Late events: rows that arrive after one of their windows has fired. No window accepts a too late row.

Each row is kept with the watermark that it missed: `late_by_ms = watermark before the row - event time` (rules 52, 53).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order, left_out, timestamps, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark import combined, timeline
from spark_jobs.replay.watermark.census import moving
from spark_jobs.replay.windows import lateness
from spark_jobs.semantics.rows import carried_columns, used_columns


def behind(rows: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of `rows` (prepared, filling windows, with epoch) that are late or too late for a window.

    The result has `POSITION`. If windows leave gaps, it also has the rows without a window that may be too late.
    """
    late = lateness.behind(rows, calendar, pipeline.windows)
    return late.withColumn(c.POSITION, arrival_order.position(rows, pipeline))


def epochs(groups: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame | None:
    """Return the epochs of the rows of `behind`, from the census `groups` alone: `epoch`.

    Returns None where rows are epochs: a group may have rows on both sides of a firing.
    """
    if axis(pipeline) is not Axis.TICKS:
        return None
    judged = _passed(groups, calendar, pipeline)
    late = judged.where(~lateness.is_on_time(F.col("bucket"), F.col("passed")))
    return late.select(F.col("bucket").alias("epoch")).distinct()


def may_hold_late(groups: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> bool:
    """Return whether a row of the census `groups` may be late, where rows are epochs."""
    return not maybe_late(groups, calendar, pipeline).isEmpty()


def maybe_late(groups: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the census `groups` that fill windows and may have a row of `behind`."""
    fires = arrival_order.bucket(F.col("passed"), pipeline)
    return _passed(groups, calendar, pipeline).where(F.col("bucket") >= fires)


def _passed(groups: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the census groups that fill windows with `passed`: rows after this epoch are in `lateness.behind`."""
    oldest, newest = window_assigners.oldest_ms(F.col("slice_ms"), pipeline.windows), F.col("window_ms")
    passed = lateness.passed(oldest, newest, F.col("fires_epoch"), F.col("closes_epoch"))
    entry = calendar.select(F.col("window_ms").alias("at_ms"), "fires_epoch", "closes_epoch")
    filling = groups.where(F.col("reason").isNull() & F.col("kept")).withColumn("at_ms", F.least(oldest, newest))
    return filling.join(F.broadcast(entry), "at_ms").withColumn("passed", passed)


def epochs_of(behind: DataFrame) -> DataFrame:
    """Return the epochs of the rows of `behind`: `epoch`."""
    return behind.select(F.col(c.EPOCH).alias("epoch")).distinct()


def missed_watermarks(
    epochs: DataFrame,
    groups: DataFrame,
    pipeline: Pipeline,
    moved_by: DataFrame,
    *,
    advances: DataFrame | None = None,
) -> DataFrame:
    """Return the watermark before the rows of each of `epochs`: `EPOCH`, `WATERMARK_MS`.

    `groups` is the census, `moved_by` the prepared rows with epoch that move the watermark; `advances` is
    `timeline.advances` if the watermark is read from the timeline.
    """
    if advances is None:
        points = combined.points_before(epochs, pipeline)
        reached = combined.combined(points, moving(groups, pipeline), moved_by, pipeline, listed=0)
    else:
        reached = timeline.watermark_before(epochs, advances)
    return reached.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))


def late_rows(behind: DataFrame, watermarks: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of `behind` with `WATERMARK_MS`, the watermark before each, and `TOO_LATE`.

    `watermarks` is `missed_watermarks`.
    """
    return lateness.with_too_late(behind.join(watermarks, c.EPOCH), pipeline.windows)


def late_events(late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of `late` that no window accepted: the columns of `late_events`.

    The window is the newest of the row; null for a row without a window. The result is empty if the pipeline drops too
    late rows.
    """
    if pipeline.windows.drops_late:
        late = late.limit(0)
    spec, newest = pipeline.windows, F.col(c.WINDOW_MS)
    if spec.have_gaps:
        newest = F.when(window_assigners.oldest_ms(F.col(c.TS_MS), spec) <= newest, newest)
    added = {
        **late_columns(pipeline),
        "window_start": timestamps.from_millis(newest),
        "window_end": timestamps.from_millis(window_assigners.end_ms(newest, spec)),
    }
    return late.where(c.TOO_LATE).select(*beside(late, added, pipeline))


def late_columns(pipeline: Pipeline) -> dict[str, Column]:
    """Return the columns of a late row: its event time and arrival time, the watermark it missed, and by how much."""
    # The clock of rounds is artificial: it is the time of emissions, not of rows.
    is_artificial = pipeline.replay.in_rounds
    arrival = F.col(c.ARRIVAL_US) if is_artificial else F.coalesce(c.ARRIVAL_US, c.CLOCK_US)
    return {
        "event_time": F.timestamp_micros(c.EVENT_US),
        "arrival_time": F.timestamp_micros(arrival),
        "watermark": timestamps.from_millis(F.col(c.WATERMARK_MS)),
        "late_by_ms": F.col(c.WATERMARK_MS) - F.col(c.TS_MS),
    }


def invalid_events(prepared: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows without a usable time and those in quarantine: the columns of `invalid_events`."""
    reason = left_out.reason(pipeline)
    added = {"reason": reason}
    return prepared.where(reason.isNotNull()).select(*beside(prepared, added, pipeline))


def beside(rows: DataFrame, added: dict[str, Column], pipeline: Pipeline) -> list[Column]:
    """Return the source's columns of `rows` and the added ones.

    A source column with the name of an added column has another name (`carried_columns`), unless it is the same
    timestamp.
    """
    of_source = [field.name for field in rows.schema if not field.name.startswith(c.PREFIX)]
    carriers = _carriers(of_source, pipeline)
    own = [name for name in of_source if carriers.get(name) != ()]
    names = carried_columns.carried_names(own, (*added, "run_id"))
    times = {"event_time": pipeline.source.event_time, "arrival_time": pipeline.source.arrival_time}
    selected = []
    for field in rows.schema:
        name = field.name.lower()
        if field.name not in names:
            continue
        declared = times.get(name)
        if name in added and declared and declared.expression.lower() == name and field.dataType == T.TimestampType():
            continue
        column = F.col(quoted(field.name))
        if carriers.get(field.name):
            column = F.when(F.col(c.SOURCE).isin(*carriers[field.name]), column)
        selected.append(_carried(column, field.name, names[field.name], is_whole=not carriers.get(field.name)))
    return [*selected, *(column.alias(name) for name, column in added.items())]


def _carriers(names: list[str], pipeline: Pipeline) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the sources that carry a column, for each column that not all sources carry.

    Without a number, no source carries the column.
    """
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    by_source = [set(used_columns.carried(names, of)) for of in alone]
    numbers = {name: tuple(n for n, carried in enumerate(by_source) if name in carried) for name in names}
    return {name: carriers for name, carriers in numbers.items() if len(carriers) < len(alone)}


def _carried(column: Column, name: str, in_table: str, *, is_whole: bool) -> Column:
    if name == in_table:
        return column if is_whole else column.alias(name)
    return column.alias(in_table, metadata={carried_columns.ORIGIN: name})
