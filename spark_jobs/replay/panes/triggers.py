"""Triggers on columns: the firings of tumbling and sliding windows under a trigger that fires before the window's end.

Law (rules 62, 69): W(r) is the watermark before a row (`row_watermarks`), r0 the first row on time of a (key, window),
i the interval. The instants are T_1 = min(trunc(ts0 / i) * i + i, last), T_2 = T_1 + i, ... up to `last`.

    continuous   T_j fires at the first advance with W >= max(T_j, W(r0) + 1), `last` on time, those before it early;
                 a row on time is first shown at T_1 if W(r) = W(r0), else at the first T_j > W(r);
                 each late row fires one pane
    count n      the accepted rows are numbered by position, and each n-th fires (rule 70)

All intervals of all windows lie on one grid, the multiples of i. `pane_contents` computes the rows of each firing. An
interval without new rows repeats the pane before it; with discarding panes it does not fire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, TriggerKind
from spark_jobs.replay.panes import pane_contents
from spark_jobs.replay.panes.pane_contents import NEW_ROWS, SHOWN_CLOCK, SHOWN_WATERMARK, SLOT, of_window
from spark_jobs.replay.rows import arrival_order, timestamps
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners as grid
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark import row_watermarks, timeline
from spark_jobs.replay.windows import lateness, window_slices

_JUDGED = (c.TS_MS, c.POSITION, c.CLOCK_US, c.WATERMARK_MS)
_FIRST, _NEXT = c.PREFIX + "first_row", c.PREFIX + "next_slot"

#: Maps (rows, threshold in milliseconds) to the rows with `timeline.FIRED_US` and `timeline.FIRED_WATERMARK`.
Fire = Callable[[DataFrame, Column], DataFrame]


def late_rows_fire(pipeline: Pipeline) -> bool:
    """Return whether after the window's end every late row fires its window, and only late rows do."""
    trigger = pipeline.windows.trigger
    match trigger.kind:
        case TriggerKind.EVENT_TIME:
            return True
        case TriggerKind.CONTINUOUS:
            return not pipeline.windows.is_session
        case TriggerKind.COUNT:
            return False
        case _:
            assert_never(trigger.kind)


def by_timeline(advances: DataFrame, groups: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> Fire:
    """Return a lookup of firings in the stored timeline `advances` (`timeline.fired`); `groups` move the watermark."""

    def fire(rows: DataFrame, threshold_ms: Column) -> DataFrame:
        return timeline.fired(rows, threshold_ms, advances, groups, pipeline, until_us=until_us)

    return fire


def accepted(
    on_time: DataFrame, late_rows: DataFrame, groups: DataFrame, advances: DataFrame, pipeline: Pipeline
) -> tuple[DataFrame, DataFrame]:
    """Return the rows that windows accept on time, and late, once for each window: the source's columns and `_JUDGED`.

    `on_time` are the prepared rows on time for all of their windows, `late_rows` is `late_events.late_rows`. `groups`
    are the census groups that move the watermark, `advances` is `timeline.advances`.
    """
    placed = on_time.withColumn(c.POSITION, arrival_order.position(on_time, pipeline))
    judged = row_watermarks.beside(placed, groups, advances, pipeline)
    several = late_rows if pipeline.windows.is_sliding else None
    in_time = window_slices.on_time_pairs(judged, several, pipeline, more=_JUDGED)
    late = window_slices.late_pairs(late_rows, pipeline)
    return in_time, late.select(*map(quoted, in_time.columns))


def panes(in_time: DataFrame, late: DataFrame, fire: Fire, pipeline: Pipeline) -> DataFrame:
    """Return every firing: the columns of `panes`; `in_time` and `late` are `accepted`, `fire` is `by_timeline`."""
    counts = pipeline.windows.trigger.counts_rows
    return _by_count(in_time, late, pipeline) if counts else _by_interval(in_time, late, fire, pipeline)


def _by_count(in_time: DataFrame, late: DataFrame, pipeline: Pipeline) -> DataFrame:
    n = F.lit(pipeline.windows.trigger.n)
    number = F.row_number().over(of_window(pipeline).orderBy(c.POSITION, c.WATERMARK_MS))
    slotted = in_time.unionByName(late).withColumns(
        {
            SLOT: F.call_function("div", number - F.lit(1), n),
            # Neither decreases along the positions: the greatest values of a slot are those of the row that fires it.
            SHOWN_CLOCK: F.col(c.CLOCK_US),
            SHOWN_WATERMARK: F.col(c.WATERMARK_MS),
        }
    )
    fired = pane_contents.of_slots(slotted, pipeline).where(F.col(NEW_ROWS) == n)
    watermark = F.col(SHOWN_WATERMARK)
    is_late = lateness.is_complete(watermark, _last_ms(pipeline))
    timing = F.when(is_late, F.lit("late")).otherwise(F.lit("early"))
    at = timestamps.from_millis(watermark)
    return pane_contents.panes(fired, F.col(SLOT), timing, F.col(SHOWN_CLOCK), at, pipeline)


def _by_interval(in_time: DataFrame, late: DataFrame, fire: Fire, pipeline: Pipeline) -> DataFrame:
    slotted = _by_instant(in_time, pipeline).unionByName(_of_late(late, pipeline))
    with_rows = pane_contents.of_slots(slotted, pipeline)
    last, slot = _last_ms(pipeline), F.col(SLOT)
    instants = with_rows if pipeline.windows.discards else _repeated(with_rows, pipeline)
    # A late row's slot is no instant: the pane has the late row's clock and watermark.
    fired = fire(instants, F.greatest(slot, F.col(SHOWN_WATERMARK) + F.lit(1)))
    is_late = slot > last
    fired_us = F.when(is_late, F.col(SHOWN_CLOCK)).otherwise(F.col(timeline.FIRED_US))
    own = timestamps.from_millis(F.col(SHOWN_WATERMARK))
    watermark = F.when(is_late, own).otherwise(F.col(timeline.FIRED_WATERMARK))
    timing = F.when(is_late, F.lit("late")).when(slot == last, F.lit("on_time")).otherwise(F.lit("early"))
    happened = fired.where(fired_us.isNotNull())
    index = F.row_number().over(of_window(pipeline).orderBy(SLOT)) - F.lit(1)
    return pane_contents.panes(happened, index, timing, fired_us, watermark, pipeline)


def _by_instant(in_time: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows on time; their slot is the first instant that shows them, `SHOWN_WATERMARK` is W(r0)."""
    interval, last, watermark = pipeline.windows.trigger.interval_ms, _last_ms(pipeline), F.col(c.WATERMARK_MS)
    first = F.min(F.struct(c.POSITION, c.TS_MS, c.WATERMARK_MS)).over(of_window(pipeline))
    first_ts, before = (F.col(_FIRST).getField(name) for name in (c.TS_MS, c.WATERMARK_MS))
    opening = F.least(first_ts - F.call_function("mod", first_ts, F.lit(interval)) + F.lit(interval), last)
    following = watermark - F.pmod(watermark, F.lit(interval)) + F.lit(interval)
    instant = F.when(watermark.eqNullSafe(before), opening).otherwise(F.least(F.greatest(opening, following), last))
    nothing = F.lit(None).cast("long")
    return in_time.withColumn(_FIRST, first).select(
        *_source(in_time), instant.alias(SLOT), nothing.alias(SHOWN_CLOCK), before.alias(SHOWN_WATERMARK)
    )


def _of_late(late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the late rows; each has one slot after `last`."""
    rank = F.row_number().over(of_window(pipeline).orderBy(c.POSITION, c.WATERMARK_MS))
    return late.select(
        *_source(late),
        (_last_ms(pipeline) + rank).alias(SLOT),
        F.col(c.CLOCK_US).alias(SHOWN_CLOCK),
        F.col(c.WATERMARK_MS).alias(SHOWN_WATERMARK),
    )


def _repeated(with_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the slots of `with_rows`, repeated at the instants before the next slot, and always at `last`."""
    interval, last, slot = F.lit(pipeline.windows.trigger.interval_ms), _last_ms(pipeline), F.col(SLOT)
    following = F.lead(SLOT).over(of_window(pipeline).orderBy(SLOT))
    to_come = F.when(F.col(_NEXT) <= last, F.col(_NEXT))
    quiet = F.sequence(slot, F.coalesce(to_come, last) - F.lit(1), interval)
    at_last = F.when(to_come.isNull(), F.array(last)).otherwise(F.array().cast("array<bigint>"))
    instants = F.when(slot >= last, F.array(slot)).otherwise(F.concat(quiet, at_last))
    spread = with_rows.withColumn(_NEXT, following).withColumn(_NEXT, instants)
    columns = [F.col(quoted(name)) for name in with_rows.columns if name != SLOT]
    return spread.select(*columns, F.explode(_NEXT).alias(SLOT))


def _source(rows: DataFrame) -> list[Column]:
    """Return the source's columns and the window."""
    return [F.col(quoted(name)) for name in rows.columns if name not in _JUDGED]


def _last_ms(pipeline: Pipeline) -> Column:
    return grid.last_ms(F.col(c.WINDOW_MS), pipeline.windows)
