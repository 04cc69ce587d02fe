"""Session components: rows of a key between gaps. A clean component is one pane; the others are scanned.

Law (semantics B6): sort a key's rows by event time and cut where the distance is greater than the gap. Windows of
different components never overlap. With W(r) the watermark before row r, a component is clean iff

    W(b) < a.ts + gap - 1    for every row b and the row a before it; for the first row, a = b

In a clean component no window fires before the next row merges with it, so the component is exactly one on-time pane,
`[first ts, last ts + gap)`. The rows of all other components are scanned in arrival order (`session_scan`).

Any watermark above W(r) in its place makes more components unclean, and changes no result. All components are unclean
if an aggregate uses a pane column, and with another trigger than the default.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import pane_columns
from spark_jobs.replay.panes.aggregates import aggregated
from spark_jobs.replay.rows import arrival_order, timestamps
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.windows import lateness

LAST_TS_MS = c.PREFIX + "last_ts_ms"  # last event time of a component
UNCLEAN = c.PREFIX + "unclean"  # of a component: whether it has to be scanned

_BEFORE, _CUT = c.PREFIX + "before_ms", c.PREFIX + "cut"
_FIRST, _LAST, _CELL = c.PREFIX + "first_ts", c.PREFIX + "last_ts", c.PREFIX + "ts_cell"
# More unclean components than this are joined by shuffling both sides.
_BROADCAST = 200_000


def components(rows: DataFrame, before: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the components: key columns, `WINDOW_MS` (first event time), `LAST_TS_MS`, `UNCLEAN`, aggregates.

    `rows` are the prepared rows that fill windows, with epoch; `before` is `timeline.before`. Rows are sorted within
    their key, in the only shuffle of all events.
    """
    gap = F.lit(pipeline.windows.gap_ms)
    started = _started(timeline.judged(rows, before, pipeline), pipeline)
    nearest = F.coalesce(_CUT, _BEFORE)
    fired_before = lateness.is_complete(F.col(c.WATERMARK_MS), nearest + gap - F.lit(1))
    together = started.groupBy(*key_columns(pipeline), c.WINDOW_MS)
    if pane_columns.requested(rows.columns, pipeline):
        return together.agg(
            F.max(c.TS_MS).alias(LAST_TS_MS), F.lit(True).alias(UNCLEAN), *_null_aggregates(rows, pipeline)
        )
    waits = pipeline.windows.trigger.is_default
    scanned = fired_before if waits else F.lit(True)
    return together.agg(F.max(c.TS_MS).alias(LAST_TS_MS), F.max(scanned).alias(UNCLEAN), *aggregated(pipeline))


def _started(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `rows` with the start of their component as `WINDOW_MS`; `_CUT` is null in all but its first row."""
    ts = F.col(c.TS_MS)
    by_key = Window.partitionBy(*(key_columns(pipeline) or [F.lit(0)])).orderBy(c.TS_MS)
    beside = rows.withColumn(_BEFORE, F.lag(c.TS_MS).over(by_key))
    apart = F.col(_BEFORE).isNull() | (ts - F.col(_BEFORE) > F.lit(pipeline.windows.gap_ms))
    cut = beside.withColumn(_CUT, F.when(apart, ts))
    return cut.withColumn(c.WINDOW_MS, F.max(_CUT).over(by_key.rowsBetween(Window.unboundedPreceding, 0)))


def retold(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `components` for aggregates that use pane columns, as if the end of the input fired each component.

    `rows` are prepared and fill windows; they need no epoch.
    """
    together = Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS)
    ended = _started(rows, pipeline).withColumn(LAST_TS_MS, F.max(c.TS_MS).over(together))
    end_ms = F.col(LAST_TS_MS) + F.lit(pipeline.windows.gap_ms)
    with_values = pane_columns.with_values(
        ended, pane_columns.values(F.col(c.WINDOW_MS), end_ms, timestamps.end_of_input()), pipeline
    )
    requested = pane_columns.requested(rows.columns, pipeline)
    grouped = with_values.groupBy(*key_columns(pipeline), c.WINDOW_MS, LAST_TS_MS, *requested)
    return grouped.agg(*aggregated(pipeline)).drop(*requested).withColumn(UNCLEAN, F.lit(True))


def _null_aggregates(rows: DataFrame, pipeline: Pipeline) -> list[Column]:
    """Return the columns of `aggregated` as typed nulls, for aggregates that are computed at the firing."""
    columns = aggregated(pipeline)
    kinds = pane_columns.grouped(rows, pipeline).agg(*columns).schema.fields[-len(columns) :]
    return [F.first(F.lit(None).cast(kind.dataType)).alias(kind.name) for kind in kinds]


def unclean(components: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the unclean components: key columns, `WINDOW_MS`, `LAST_TS_MS`, numbered by `COMPONENT`."""
    # One partition for this window: a row an unclean component.
    in_order = Window.partitionBy(F.lit(0)).orderBy(*key_columns(pipeline), c.WINDOW_MS)
    to_scan = components.where(UNCLEAN).select(*key_columns(pipeline), c.WINDOW_MS, LAST_TS_MS)
    return to_scan.withColumn(c.COMPONENT, F.row_number().over(in_order).cast("long"))


def rows_of(unclean: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the `rows` of the components `unclean`, with `COMPONENT` and `POSITION`.

    `rows` are prepared, fill windows and have an epoch. `unclean` should be stored: a small job reads its extent first.
    The events are read again, without a shuffle while these components are few.
    """
    count, total = unclean.agg(F.count("*"), F.sum(F.col(LAST_TS_MS) - F.col(c.WINDOW_MS))).collect()[0]
    if not count:
        none = rows.withColumn(c.COMPONENT, F.lit(None).cast("long")).limit(0)
        return none.withColumn(c.POSITION, arrival_order.position(rows, pipeline))
    # A cell is as long as an average component: a component lies in two or three cells, and a cell has few components.
    width = max(1, total // count, pipeline.windows.gap_ms)
    names = [f"{c.PREFIX}key_{i}" for i in range(len(pipeline.windows.key))]
    ranges = unclean.select(
        *(column.alias(name) for column, name in zip(key_columns(pipeline), names, strict=True)),
        c.COMPONENT,
        F.col(c.WINDOW_MS).alias(_FIRST),
        F.col(LAST_TS_MS).alias(_LAST),
    )
    cells = F.sequence(_cell(F.col(_FIRST), width), _cell(F.col(_LAST), width))
    near = ranges.withColumn(_CELL, F.explode(cells))
    same = [column.eqNullSafe(F.col(name)) for column, name in zip(key_columns(pipeline), names, strict=True)]
    inside = (F.col(c.TS_MS) >= F.col(_FIRST)) & (F.col(c.TS_MS) <= F.col(_LAST))
    matched = rows.join(
        F.broadcast(near) if count <= _BROADCAST else near,
        [_cell(F.col(c.TS_MS), width) == F.col(_CELL), *same, inside],
    ).drop(*names, _FIRST, _LAST, _CELL)
    return matched.withColumn(c.POSITION, arrival_order.position(rows, pipeline))


def _cell(ms: Column, width: int) -> Column:
    """`floor(ms / width)` in whole numbers."""
    return F.call_function("div", ms - F.pmod(ms, F.lit(width)), F.lit(width))
