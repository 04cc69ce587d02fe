"""Window slices: a row of overlapping windows is aggregated once in its slice, and slices merge into windows.

Law (rules 41, 51, 52; slices are `window_assigners.slice_ms`): rows of one slice that are on time for all of their
windows have one merged state. It is added to each window. For any other row, with W the watermark before it, the
windows that start

    from `oldest_on_time(W)` on                              accept the row on time
    from `oldest_accepting(W)` up to `oldest_on_time(W)`     fire a late pane
    before that                                              drop the row

A row that all of its windows drop counts as too late in each window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.windows import lateness

_SLICE = c.PREFIX + "slice_ms"


def pairs(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return a row for each prepared row and each of its windows, also late ones: the source's columns, `WINDOW_MS`."""
    spec = pipeline.windows
    names = [quoted(name) for name in rows.columns if c.read_by_aggregates(name)]
    if not spec.is_sliding:
        return rows.select(*names, c.WINDOW_MS)
    oldest = window_assigners.oldest_ms(F.col(c.TS_MS), spec).alias(c.OLDEST_MS)
    return _expanded(rows.select(*names, oldest, c.WINDOW_MS), spec)


def on_time_pairs(
    on_time: DataFrame, late_rows: DataFrame | None, pipeline: Pipeline, *, more: Sequence[str] = ()
) -> DataFrame:
    """Return a row for each row and window for which it is on time: the source's columns, `more` and `WINDOW_MS`.

    `on_time` are the rows on time for all of their windows. `late_rows` is `late_events.late_rows`, or None if a row
    has one window. Both have the working columns `more`.
    """
    names = [*filter(c.read_by_aggregates, on_time.columns), *more]
    spec = pipeline.windows
    if late_rows is None:
        return on_time.select(*map(quoted, names), c.WINDOW_MS)
    columns = [*map(quoted, names), c.OLDEST_MS, c.WINDOW_MS]
    partly = _open_part(late_rows, spec)
    return _expanded(on_time.select(*columns).unionByName(partly.select(*columns)), spec)


def on_time_states(
    on_time: DataFrame, late_rows: DataFrame | None, states: Mapping[str, Column], pipeline: Pipeline
) -> DataFrame:
    """Return partial states by key and window (`WINDOW_MS`): a row for each slice and window, not for each event.

    `on_time` and `late_rows` are as in `on_time_pairs`, `states` are aggregates of rows by name. Several rows of the
    result may have one key and window: merge them.
    """
    spec, key = pipeline.windows, [quoted(name) for name in pipeline.windows.key]
    named = [column.alias(name) for name, column in states.items()]
    if late_rows is None:
        return on_time.groupBy(*key, c.WINDOW_MS).agg(*named)
    names = [*key, c.OLDEST_MS, c.WINDOW_MS, *states]
    partly = _open_part(late_rows, spec).groupBy(*key, c.OLDEST_MS, c.WINDOW_MS).agg(*named)
    return _expanded(_by_slice(on_time, states, pipeline).select(*names).unionByName(partly.select(*names)), spec)


def states(rows: DataFrame, states: Mapping[str, Column], pipeline: Pipeline) -> DataFrame:
    """Return partial states of the prepared `rows` in all of their windows, on time or not; as in `on_time_states`."""
    return _expanded(_by_slice(rows, states, pipeline), pipeline.windows)


def _by_slice(rows: DataFrame, states: Mapping[str, Column], pipeline: Pipeline) -> DataFrame:
    """Return states by key and window slice, with the oldest and the newest window of the slice."""
    spec, at = pipeline.windows, F.col(_SLICE)
    key = [quoted(name) for name in pipeline.windows.key]
    named = [column.alias(name) for name, column in states.items()]
    whole = rows.groupBy(*key, window_assigners.slice_ms(F.col(c.TS_MS), spec).alias(_SLICE)).agg(*named)
    bounds = {c.OLDEST_MS: window_assigners.oldest_ms(at, spec), c.WINDOW_MS: window_assigners.start_ms(at, spec)}
    return whole.withColumns(bounds).drop(_SLICE)


def late_pairs(late_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of `late_rows` that a window accepts late, once for each such window (`WINDOW_MS`)."""
    spec = pipeline.windows
    accepted = late_rows.where(~F.col(c.TOO_LATE))
    if not spec.is_sliding:
        return accepted
    oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), spec), F.col(c.WINDOW_MS)
    first = F.greatest(oldest, lateness.oldest_accepting_ms(F.col(c.WATERMARK_MS), spec))
    last = F.least(newest, window_assigners.latest_with_last_ms(F.col(c.WATERMARK_MS), spec))
    return _expanded(accepted.withColumns({c.OLDEST_MS: first, c.WINDOW_MS: last}), spec)


def dropped_pairs(late_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of `late_rows` that a window has dropped, once for each such window (`WINDOW_MS`)."""
    spec = pipeline.windows
    if not spec.is_sliding:
        return late_rows.where(c.TOO_LATE)
    closed = window_assigners.latest_with_cleanup_ms(F.col(c.WATERMARK_MS), spec)
    bounds = {
        c.OLDEST_MS: window_assigners.oldest_ms(F.col(c.TS_MS), spec),
        c.WINDOW_MS: F.least(F.col(c.WINDOW_MS), closed),
    }
    return _expanded(late_rows.withColumns(bounds), spec)


def too_late_counts(late_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return numbers of too late rows: the key, `WINDOW_MS`, `too_late_count`; a window may have several."""
    spec, key = pipeline.windows, [quoted(name) for name in pipeline.windows.key]
    count, too_late = F.count("*").alias("too_late_count"), late_rows.where(c.TOO_LATE)
    if not spec.is_sliding:
        return too_late.groupBy(*key, c.WINDOW_MS).agg(count)
    oldest = window_assigners.oldest_ms(F.col(c.TS_MS), spec).alias(c.OLDEST_MS)
    return _expanded(too_late.groupBy(*key, oldest, c.WINDOW_MS).agg(count), spec)


def _open_part(late_rows: DataFrame, spec: Windows) -> DataFrame:
    """Return the rows of `late_rows` that a window accepts on time, with `OLDEST_MS`, the oldest such window."""
    assigned = window_assigners.oldest_ms(F.col(c.TS_MS), spec)
    oldest = F.greatest(assigned, lateness.oldest_on_time_ms(F.col(c.WATERMARK_MS), spec))
    return late_rows.withColumn(c.OLDEST_MS, oldest).where(F.col(c.OLDEST_MS) <= F.col(c.WINDOW_MS))


def _expanded(rows: DataFrame, spec: Windows) -> DataFrame:
    """Return `rows` once for each window from `OLDEST_MS` to `WINDOW_MS`, with that window as `WINDOW_MS`."""
    with_windows = rows.where(F.col(c.OLDEST_MS) <= F.col(c.WINDOW_MS))
    starts = F.explode(window_assigners.starts_ms(F.col(c.OLDEST_MS), F.col(c.WINDOW_MS), spec)).alias(c.WINDOW_MS)
    selected = [quoted(name) for name in rows.columns if name not in (c.OLDEST_MS, c.WINDOW_MS)]
    return with_windows.select(*selected, starts)
