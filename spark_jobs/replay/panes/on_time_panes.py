"""On-time panes: the first firing of each window. Panes are the results that a window emits at its firings.

Law: the on-time pane of (key, window) aggregates its on-time rows. It fires when the watermark passes the window's last
millisecond (rule 63); late rows fire later panes (`late_panes`). Panes of a (key, window) are numbered from 0 in firing
order. `window_results` contains the latest pane.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates, pane_columns
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated, finished
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps, window_assigners
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.windows import window_slices

_LATEST = c.PREFIX + "latest_"
_RANK = c.PREFIX + "rank"
INDEX = c.PREFIX + "pane_index"
_FIRES_US = c.PREFIX + "fires_us"


def on_time_panes(
    on_time: DataFrame, late_rows: DataFrame | None, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """Return the on-time pane of every (key, window) that fires: the columns of `panes`, and states.

    The result has states (`aggregates.stored_columns`) if all aggregates can be continued. `on_time` are the prepared
    rows on time for all of their windows. `late_rows` is `late_events.late_rows`, or None if a row has one window.
    """
    fires = calendar.where("fires_us is not null").select(
        F.col("window_ms").alias(c.WINDOW_MS),
        F.col("fires_us").alias(_FIRES_US),
        F.col("fires_epoch").alias(c.FIRES_EPOCH),
        F.col("watermark_ms").alias(c.WATERMARK_MS),
    )
    by_window = [*key_columns(pipeline), F.col(c.WINDOW_MS)]
    going_on = aggregates.continued(on_time, pipeline)
    if going_on is None:
        pane = _of_rows(window_slices.on_time_pairs(on_time, late_rows, pipeline), fires, pipeline)
    else:
        pane = window_slices.on_time_states(on_time, late_rows, aggregates.at_once(going_on), pipeline)
        if late_rows is not None:
            pane = pane.groupBy(*by_window).agg(*aggregates.merged(going_on))
        pane = pane.withColumns(finished(going_on))
    fired = pane.join(F.broadcast(fires), c.WINDOW_MS)
    states = aggregates.stored_columns(going_on or [])
    fired_at = F.timestamp_micros(_FIRES_US)
    return contract(fired, pipeline, F.lit(0), F.lit("on_time"), fired_at, _watermark(), *states)


def _of_rows(pairs: DataFrame, fires: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the aggregates of `window_slices.on_time_pairs` by key and `WINDOW_MS`, for windows that fire."""
    requested = pane_columns.requested(pairs.columns, pipeline)
    if requested:
        values = pane_columns.values(
            F.col(c.WINDOW_MS), window_assigners.end_ms(F.col(c.WINDOW_MS), pipeline.windows), _watermark()
        )
        pairs = pane_columns.with_values(pairs.join(F.broadcast(fires), c.WINDOW_MS), values, pipeline)
    grouped = pairs.groupBy(*key_columns(pipeline), c.WINDOW_MS, *requested)
    return grouped.agg(*aggregated(pipeline)).drop(*requested)


def _watermark() -> Column:
    """Return the watermark of the emission that fires an on-time pane."""
    reached = timestamps.from_millis(F.col(c.WATERMARK_MS))
    return F.when(F.col(c.FIRES_EPOCH).isNull(), timestamps.end_of_input()).otherwise(reached)


def window_results(on_time: DataFrame, late: DataFrame, too_late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the latest pane of every (key, window) that fired: the columns of `window_results`.

    `on_time` and `late` are panes, `too_late` is `window_slices.too_late_counts`. The last two have few rows.
    """
    values = ["window_end", *(a.name for a in pipeline.windows.aggregates), "row_count", "fired_at"]
    names = [*pipeline.windows.key, "window_start"]
    group = [F.col(quoted(name)) for name in names]
    start = timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start")
    revising = late.select(*group, "pane_index", *(F.col(quoted(v)).alias(_LATEST + v) for v in values))
    missing = too_late.select(*key_columns(pipeline), start, "too_late_count")
    beside = _latest(revising.unionByName(missing, allowMissingColumns=True), group)
    revised = F.col("pane_count").isNotNull()
    fired = keys.beside(on_time, beside, names)
    late_value = {v: F.col(quoted(_LATEST + v)) for v in values}
    value = {v: F.when(revised, late_value[v]).otherwise(F.col(quoted(v))) for v in values}
    first_was_late = beside.where(F.col(INDEX) == 0)
    return _results(fired, value, pipeline).unionByName(_results(first_was_late, late_value, pipeline))


def _latest(beside: DataFrame, group: list[Column]) -> DataFrame:
    """Return one row a (key, window) of late panes and of too late rows: the values of the latest pane, and counts.

    In place of an aggregate `max_by` of a struct, which the native engine does not have.
    """
    of_window = Window.partitionBy(*group)
    counts = {
        "pane_count": F.max("pane_index").over(of_window) + 1,
        INDEX: F.min("pane_index").over(of_window),
        "too_late_count": F.sum("too_late_count").over(of_window),
        _RANK: F.row_number().over(of_window.orderBy(F.col("pane_index").desc_nulls_last())),
    }
    return beside.withColumns(counts).where(F.col(_RANK) == 1).drop("pane_index", _RANK)


def _results(fired: DataFrame, value: dict[str, Column], pipeline: Pipeline) -> DataFrame:
    return fired.select(
        *key_columns(pipeline),
        "window_start",
        value["window_end"].alias("window_end"),
        *(value[a.name].alias(a.name) for a in pipeline.windows.aggregates),
        F.coalesce("pane_count", F.lit(1)).alias("pane_count"),
        value["row_count"].alias("row_count"),
        F.coalesce("too_late_count", F.lit(0)).cast("long").alias("too_late_count"),
        value["fired_at"].alias("last_fired_at"),
    )


def contract(
    fired: DataFrame, pipeline: Pipeline, index: Column, timing: Column, fired_at: Column, watermark: Column, *more: str
) -> DataFrame:
    """Return the columns of `panes`, in their order, and `more` of `fired`."""
    start = F.col(c.WINDOW_MS)
    return fired.select(
        *key_columns(pipeline),
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(window_assigners.end_ms(start, pipeline.windows)).alias("window_end"),
        index.cast("int").alias("pane_index"),
        timing.alias("timing"),
        fired_at.alias("fired_at"),
        watermark.alias("watermark"),
        *(F.col(aggregate_column(a.name)).alias(a.name) for a in pipeline.windows.aggregates),
        F.col(ROW_COUNT).alias("row_count"),
        *more,
    )
