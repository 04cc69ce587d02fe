"""Panes: what a window emits each time it fires.

Law: the on-time pane of (key, window) aggregates its on-time rows and fires when the watermark passes the window's last
millisecond (rule 63). Each late row fires a pane of its own: everything so far, or with discarding accumulation the row
alone (rules 64, 68). Panes of a (key, window) are numbered from 0 in firing order. `window_results` holds the latest.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Accumulation, Pipeline
from spark_jobs.replay import aggregates, timestamps, window_slices
from spark_jobs.replay import columns as c
from spark_jobs.replay.events import quoted

_AGGREGATE = c.PREFIX + "aggregate_"
_IS_LATE = c.PREFIX + "is_late"
_RANK = c.PREFIX + "rank"
_OF_RANK = c.PREFIX + "of_rank"
_ROW_COUNT = c.PREFIX + "row_count"
_LATEST = c.PREFIX + "latest"
_INDEX = c.PREFIX + "pane_index"
_FIRES_US = c.PREFIX + "fires_us"


def on_time_panes(
    on_time: DataFrame, late_rows: DataFrame | None, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """The on-time pane of every (key, window) that fires: the columns of `panes`, and states.

    States of the aggregates (`aggregates.stored_columns`) are there where all of them can be continued. `on_time` are
    the prepared rows on time for all of their windows; `late_rows` (`late_events.late_rows`) are those that are not,
    and None where a row has one window.
    """
    by_window = [*_key(pipeline), F.col(c.WINDOW_MS)]
    going_on = aggregates.continued(on_time, pipeline)
    if going_on is None:
        pairs = window_slices.on_time_pairs(on_time, late_rows, pipeline)
        pane = pairs.groupBy(*by_window).agg(*_aggregates(pipeline), F.count("*").alias(_ROW_COUNT))
    else:
        names = aggregates.state_columns(going_on)
        parts = dict(zip(names, (part for a in going_on for part in a.parts), strict=True))
        at_once = {**{name: part.at_once for name, part in parts.items()}, _ROW_COUNT: F.count("*")}
        pane = window_slices.on_time_states(on_time, late_rows, at_once, pipeline)
        if late_rows is not None:
            merged = (part.merge(F.col(name)).alias(name) for name, part in parts.items())
            pane = pane.groupBy(*by_window).agg(*merged, F.sum(_ROW_COUNT).alias(_ROW_COUNT))
        pane = pane.withColumns(_finished(going_on))
    firing = calendar.where("fires_us is not null").select(
        F.col("window_ms").alias(c.WINDOW_MS),
        F.col("fires_us").alias(_FIRES_US),
        F.col("fires_epoch").alias(c.FIRES_EPOCH),
        F.col("watermark_ms").alias(c.WATERMARK_MS),
    )
    watermark = F.when(F.col(c.FIRES_EPOCH).isNull(), timestamps.end_of_input()).otherwise(
        timestamps.from_millis(F.col(c.WATERMARK_MS))
    )
    fired = pane.join(F.broadcast(firing), c.WINDOW_MS)
    states = aggregates.stored_columns(going_on or [])
    fired_at = F.timestamp_micros(_FIRES_US)
    return _contract(fired, pipeline, F.lit(0), F.lit("on_time"), fired_at, watermark, *states)


def late_panes(late: DataFrame, rows: DataFrame, first: DataFrame, pipeline: Pipeline) -> DataFrame:
    """A pane a late row and window: the columns of `panes`.

    `late` is `window_slices.late_pairs`, `rows` is `window_slices.on_time_pairs`, `first` their on-time panes with
    states. Where the aggregates can be continued, `rows` is not read; otherwise only the windows that hold a late row
    are. The watermark never falls, so on-time rows come before late ones, in whatever order among themselves.
    """
    touched = late.select(*_key(pipeline), c.WINDOW_MS).distinct()
    going_on = aggregates.continued(rows, pipeline)
    behind = [F.col(name) for name in (c.CLOCK_US, c.POSITION, c.WATERMARK_MS)]
    in_order = Window.partitionBy(*_key(pipeline), c.WINDOW_MS).orderBy(_IS_LATE, c.POSITION)
    alone = pipeline.windows.accumulation is Accumulation.DISCARDING
    frame = in_order.rowsBetween(0 if alone else Window.unboundedPreceding, 0)
    if going_on is None:
        needed = [*_source_columns(rows), F.col(c.WINDOW_MS)]
        again = _matching(rows, touched, pipeline).select(*needed, F.lit(False).alias(_IS_LATE))
        fires = late.select(*needed, *behind, F.lit(True).alias(_IS_LATE))
        steps = _numbered(fires.unionByName(again, allowMissingColumns=True), in_order)
        fired = _framed(steps, frame, pipeline, alone=alone)
    else:
        names = aggregates.state_columns(going_on)
        parts = [part for a in going_on for part in a.parts]
        started = first.withColumn(c.WINDOW_MS, F.unix_millis("window_start"))
        stored = iter(aggregates.stored_columns(going_on))
        held = [a.name if len(a.parts) == 1 else next(stored) for a in going_on for _ in a.parts]
        states = [F.col(quoted(h)).alias(name) for h, name in zip(held, names, strict=True)]
        base = _matching(started, touched, pipeline).select(
            *_key(pipeline), c.WINDOW_MS, *states, F.col("row_count").alias(_ROW_COUNT), F.lit(False).alias(_IS_LATE)
        )
        own = [part.of_row.alias(name) for part, name in zip(parts, names, strict=True)]
        single = [F.lit(1).cast("long").alias(_ROW_COUNT), F.lit(True).alias(_IS_LATE)]
        fires = late.select(*_key(pipeline), c.WINDOW_MS, *own, *single, *behind)
        steps = _numbered(fires.unionByName(base, allowMissingColumns=True), in_order)
        merged = {n: p.merge(F.col(n)).over(frame) for p, n in zip(parts, names, strict=True)}
        fired = steps.withColumns({**merged, _ROW_COUNT: F.sum(_ROW_COUNT).over(frame)}).withColumns(
            _finished(going_on)
        )
    return _contract(
        fired.where(_IS_LATE),
        pipeline,
        F.col(_INDEX),
        F.lit("late"),
        F.timestamp_micros(c.CLOCK_US),
        timestamps.from_millis(F.col(c.WATERMARK_MS)),
    )


def _numbered(steps: DataFrame, in_order: WindowSpec) -> DataFrame:
    """With the number of the pane that each late row fires.

    The on-time rows made pane 0, if there were any; the late rows before this one made one each.
    """
    before = in_order.rowsBetween(Window.unboundedPreceding, 0)
    late = F.col(_IS_LATE).cast("int")
    return steps.withColumns(
        {_INDEX: F.sum(late).over(before) - F.min(late).over(before), _RANK: F.row_number().over(in_order)}
    )


def _finished(going_on: list[aggregates.Continued]) -> dict[str, Column]:
    """The aggregates from their merged states."""
    states = iter(aggregates.state_columns(going_on))
    return {_AGGREGATE + a.name: a.result([F.col(next(states)) for _ in a.parts]) for a in going_on}


def _matching(rows: DataFrame, touched: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The rows whose (key, window) is among `touched`; null is a key like any other."""
    names = [*pipeline.windows.key, c.WINDOW_MS]
    there = touched.select(*(F.col(quoted(n)).alias(f"{c.PREFIX}touched_{i}") for i, n in enumerate(names)))
    same = [F.col(quoted(n)).eqNullSafe(F.col(f"{c.PREFIX}touched_{i}")) for i, n in enumerate(names)]
    return rows.join(there, same, "left_semi")


def window_results(on_time: DataFrame, late: DataFrame, missed: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The latest pane of every (key, window) that fired: the columns of `window_results`.

    `on_time` and `late` are panes, `missed` is `window_slices.missed`: all but the first are few.
    """
    values = ["window_end", *(a.name for a in pipeline.windows.aggregates), "row_count", "fired_at"]
    names = [*pipeline.windows.key, "window_start"]
    group = [F.col(quoted(name)) for name in names]
    start = timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start")
    revising = late.select(*group, "pane_index", F.struct(*(F.col(quoted(v)) for v in values)).alias(_LATEST))
    missing = missed.select(*_key(pipeline), start, "too_late_count")
    beside = (
        revising.unionByName(missing, allowMissingColumns=True)
        .groupBy(*group)
        .agg(
            F.max_by(_LATEST, "pane_index").alias(_LATEST),
            (F.max("pane_index") + 1).alias("pane_count"),
            F.min("pane_index").alias(_INDEX),
            F.sum("too_late_count").alias("too_late_count"),
        )
    )
    revised = F.col(_LATEST).isNotNull()
    fired = _joined(on_time, beside, names)
    value = {v: F.when(revised, F.col(_LATEST).getField(v)).otherwise(F.col(quoted(v))) for v in values}
    late_value = {v: F.col(_LATEST).getField(v) for v in values}
    first_was_late = beside.where(F.col(_INDEX) == 0)
    return _results(fired, value, pipeline).unionByName(_results(first_was_late, late_value, pipeline))


def _joined(left: DataFrame, right: DataFrame, names: list[str]) -> DataFrame:
    """All of `left`, and beside it `right` where `names` are equal, null equal to null; each name once."""
    other = {name: f"{c.PREFIX}right_{i}" for i, name in enumerate(names)}
    same = [F.col(quoted(name)).eqNullSafe(F.col(other[name])) for name in names]
    return left.join(right.withColumnsRenamed(other), same, "left").drop(*other.values())


def _results(fired: DataFrame, value: dict[str, Column], pipeline: Pipeline) -> DataFrame:
    return fired.select(
        *_key(pipeline),
        "window_start",
        value["window_end"].alias("window_end"),
        *(value[a.name].alias(a.name) for a in pipeline.windows.aggregates),
        F.coalesce("pane_count", F.lit(1)).alias("pane_count"),
        value["row_count"].alias("row_count"),
        F.coalesce("too_late_count", F.lit(0)).cast("long").alias("too_late_count"),
        value["fired_at"].alias("last_fired_at"),
    )


def _framed(rows: DataFrame, frame: WindowSpec, pipeline: Pipeline, *, alone: bool) -> DataFrame:
    """`rows` with the pipeline's aggregates over `frame`, a frame that ends with the row.

    Spark cannot frame every aggregate (DISTINCT, FILTER, expressions of several): those are computed again from the
    rows of the frame, for each late row.
    """
    columns = [F.expr(a.expression).over(frame).alias(_AGGREGATE + a.name) for a in pipeline.windows.aggregates]
    try:
        return rows.select("*", *columns, F.count("*").over(frame).alias(_ROW_COUNT))
    except AnalysisException:
        return _recomputed(rows, pipeline, alone=alone)


def _recomputed(rows: DataFrame, pipeline: Pipeline, *, alone: bool) -> DataFrame:
    names = [*pipeline.windows.key, c.WINDOW_MS]
    fires = rows.where(_IS_LATE).select(
        *(F.col(quoted(n)).alias(f"{c.PREFIX}of_{i}") for i, n in enumerate(names)),
        F.col(_RANK).alias(_OF_RANK),
        c.CLOCK_US,
        c.WATERMARK_MS,
        _INDEX,
    )
    of = [F.col(f"{c.PREFIX}of_{i}") for i in range(len(names))]
    same = [F.col(quoted(n)).eqNullSafe(o) for n, o in zip(names, of, strict=True)]
    reach = F.col(_RANK) == F.col(_OF_RANK) if alone else F.col(_RANK) <= F.col(_OF_RANK)
    frames = rows.drop(c.CLOCK_US, c.WATERMARK_MS, _INDEX).join(fires, [*same, reach])
    kept = [c.CLOCK_US, c.WATERMARK_MS, _INDEX]
    return (
        frames.groupBy(*(o.alias(n) for o, n in zip(of, names, strict=True)), _OF_RANK, *kept)
        .agg(*_aggregates(pipeline), F.count("*").alias(_ROW_COUNT))
        .withColumn(_IS_LATE, F.lit(True))
    )


def _aggregates(pipeline: Pipeline) -> list[Column]:
    return [F.expr(a.expression).alias(_AGGREGATE + a.name) for a in pipeline.windows.aggregates]


def _contract(
    fired: DataFrame, pipeline: Pipeline, index: Column, timing: Column, fired_at: Column, watermark: Column, *more: str
) -> DataFrame:
    """The columns of `panes`, in their order, and `more` of `fired`."""
    start = F.col(c.WINDOW_MS)
    return fired.select(
        *_key(pipeline),
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(start + F.lit(pipeline.windows.size_ms)).alias("window_end"),
        index.cast("int").alias("pane_index"),
        timing.alias("timing"),
        fired_at.alias("fired_at"),
        watermark.alias("watermark"),
        *(F.col(_AGGREGATE + a.name).alias(a.name) for a in pipeline.windows.aggregates),
        F.col(_ROW_COUNT).alias("row_count"),
        *more,
    )


def _key(pipeline: Pipeline) -> list[Column]:
    return [F.col(quoted(name)) for name in pipeline.windows.key]


def _source_columns(rows: DataFrame) -> list[Column]:
    return [F.col(quoted(name)) for name in rows.columns if not name.startswith(c.PREFIX)]
