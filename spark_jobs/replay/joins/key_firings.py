"""Firings of the keys of an as-of join: when a key has dropped versions, as far as its late left rows depend on it.

Law (rules 102, 103), with W the watermark before a row and its reach max(ts, W + 1):

    fires   at the first advance that attains the reach r of a left row; of a version only if its key has not fired at a
            reach in (W, r]
    F       of a late left row with the watermark w before it: the last reach <= w at which its key has fired, with
            R >= F the watermark of that advance

F is a fold over the versions of a key since the left row before, one a watermark: no other has an effect. Only the
times of rows are read, of keys with a late left row. Where rows are epochs, W is computed only for versions that may
fire. Their upper bound of W is at least the reach of the left row before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.replay.joins.inputs import LEFT, RIGHT, is_side
from spark_jobs.replay.joins.join_watermark import CEILING_MS, Judged
from spark_jobs.replay.joins.null_safe import null_safe_join
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.replay.windows import lateness
from spark_jobs.semantics.rows.instants import MIN

AT = c.PREFIX + "at_ms"  # the time of a place: reach of a row, or event time of a late row
REACHED = c.PREFIX + "reached_ms"  # R of a late left row, at the place `AT` of its emission; null: no firing
CELL = c.PREFIX + "cell_ms"  # event time of the last on-time version up to the event time of a late row
NEXT = c.PREFIX + "next_ms"  # event time of the first on-time version after it
ANY = c.PREFIX + "any_ms"  # event time of the newest version whose reach is up to it

# Places of one time, in this order: a late left row's emission, a version, a left row, the event time of a late row.
_EMISSION, _VERSION, _LEFT, _EVENT = range(4)

_PLACE = c.PREFIX + "place"
_W = c.PREFIX + "before_ms"  # the watermark before a version, or an upper bound of it; MIN for none
_EXACT = c.PREFIX + "exact_ms"  # the watermark before a version; null for none
_ON_TIME = c.PREFIX + "on_time_ms"  # event time of an on-time version
_REACH = c.PREFIX + "left_reach_ms"  # reach of a left row
_SINCE = c.PREFIX + "since_ms"  # greatest reach of a left row before; MIN without one
_STEPS = c.PREFIX + "steps"


@dataclass(frozen=True)
class KeyRows:
    """The rows of an as-of join, and which of them decide about late left rows.

    `keys` are the names of the key columns. `late_left` are the late left rows, distinct by key, event time and
    watermark; `is_exact`: the bounds of `judged` are the watermarks.
    """

    judged: Judged
    keys: list[str]
    late_left: DataFrame
    is_exact: bool

    @property
    def late(self) -> DataFrame:
        """The late rows of both sides, of the keys of late left rows."""
        late = lateness.is_reached(F.col(c.TS_MS), F.col(c.WATERMARK_MS))
        return self._of_keys(self.judged.near.where(late))

    @property
    def left(self) -> DataFrame:
        """The left rows of the keys; `WATERMARK_MS` of those ahead of it is not known, and null."""
        names = [*self.keys, c.TS_MS, c.WATERMARK_MS]
        ahead = self.judged.ahead.withColumn(c.WATERMARK_MS, F.lit(None).cast("long"))
        parts = [rows.where(is_side(LEFT)).select(names) for rows in (ahead, self.judged.near)]
        return self._of_keys(reduce(DataFrame.union, parts))

    @property
    def versions(self) -> DataFrame:
        """The right rows of the keys with the watermark before each; with `EPOCH`, it is an upper bound."""
        nowhere = F.lit(None).cast(self.epoch_type)
        names = [*self.keys, c.TS_MS, c.WATERMARK_MS, c.EPOCH]
        ahead = self.judged.ahead.withColumns(
            {c.WATERMARK_MS: F.col(CEILING_MS), c.EPOCH: nowhere if self.is_exact else F.col(c.EPOCH)}
        )
        near = self.judged.near.withColumn(c.EPOCH, nowhere)
        parts = [rows.where(is_side(RIGHT)).select(names) for rows in (ahead, near)]
        return self._of_keys(reduce(DataFrame.union, parts))

    @property
    def epoch_type(self) -> T.DataType:
        """The type of epochs."""
        return self.judged.ahead.schema[c.EPOCH].dataType

    def _of_keys(self, rows: DataFrame) -> DataFrame:
        if not self.keys:
            return rows
        of_keys = self.late_left.select(*self.keys).distinct()
        few = F.broadcast(of_keys) if self._are_few else of_keys
        return null_safe_join(rows, few, self.keys, how="left_semi")

    @cached_property
    def _are_few(self) -> bool:
        return is_small(self.late_left)


def places(rows: KeyRows, advances: DataFrame, store: Store) -> DataFrame:
    """Return the places that `fired` and `at_event_times` read, in the order of their times; stored.

    A row is a place of a key; of the versions that may fire the key since a left row, one a watermark. `advances` are
    those of the watermark.
    """
    fires = (F.col(_PLACE) == _VERSION) & (F.col(_W) >= F.col(_SINCE))
    counts = F.col(_PLACE).isin(_EMISSION, _EVENT) | fires
    counted = _beside_each_other(_all_places(rows), rows.keys).where(counts)
    if not rows.is_exact:
        counted = _with_watermarks(store.keep("late_candidates", lambda: counted), advances).where(counts)
    group = F.when(F.col(_PLACE) == _VERSION, F.col(_W)).otherwise(F.col(AT))
    distinct = counted.groupBy(*rows.keys, _SINCE, _PLACE, group.alias(_W))
    return store.keep("late_places", lambda: distinct.agg(*(F.min(name).alias(name) for name in (AT, CELL, NEXT, ANY))))


def at_event_times(placed: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the versions around the event time of each late row: the key, `TS_MS`, `CELL`, `NEXT`, `ANY`."""
    events = placed.where(F.col(_PLACE) == _EVENT)
    return events.select(*keys, F.col(AT).alias(c.TS_MS), CELL, NEXT, ANY)


def fired(placed: DataFrame, keys: Sequence[str], advances: DataFrame) -> DataFrame:
    """Return the last firing before each emission of a late left row: the key, `AT`, `REACHED`."""
    step = F.struct(F.col(AT).alias("at"), F.col(_W).alias("before"))
    by_segment = (
        placed.where(F.col(_PLACE).isin(_EMISSION, _VERSION))
        .groupBy(*keys, _SINCE)
        .agg(
            F.max(F.when(F.col(_PLACE) == _EMISSION, F.col(AT))).alias(AT),
            F.array_sort(F.collect_list(F.when(F.col(_PLACE) == _VERSION, step))).alias(_STEPS),
        )
        .where(F.col(AT).isNotNull())
    )
    last = F.aggregate(
        F.filter(_STEPS, lambda s: s.getField("at") < F.col(AT)),
        F.col(_SINCE),
        lambda last_reach, s: F.when(s.getField("before") >= last_reach, s.getField("at")).otherwise(last_reach),
    )
    folded = by_segment.select(*keys, AT, last.alias("threshold_ms"))
    reached = timeline.first_reaching(folded, advances.select("watermark_ms"))
    has_fired = F.col("threshold_ms") > F.lit(MIN)
    return reached.select(*keys, AT, F.when(has_fired, F.col("reached.watermark_ms")).alias(REACHED))


def _all_places(rows: KeyRows) -> DataFrame:
    """Return every place of the keys."""
    types: dict[str, str | T.DataType] = {_PLACE: "int", c.EPOCH: rows.epoch_type}
    types |= dict.fromkeys((AT, _W, _ON_TIME, _REACH, c.TS_MS), "long")

    def placed(frame: DataFrame, place: int, **values: Column) -> DataFrame:
        columns = {AT: F.col(AT), _PLACE: F.lit(place), **values}
        named = (columns.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items())
        return frame.select(*rows.keys, *named)

    ts, watermark = F.col(c.TS_MS), F.col(c.WATERMARK_MS)
    emissions = rows.late_left.select(*rows.keys, (watermark + F.lit(1)).alias(AT)).distinct()
    events = rows.late.select(*rows.keys, c.TS_MS).distinct().withColumn(AT, ts)
    of_versions = {
        _W: F.coalesce(watermark, F.lit(MIN)),
        _ON_TIME: F.when(~lateness.is_reached(ts, watermark), ts),
        c.TS_MS: ts,
        c.EPOCH: F.col(c.EPOCH),
    }
    frames = [
        placed(emissions, _EMISSION),
        placed(_with_reach(rows.versions), _VERSION, **of_versions),
        placed(_with_reach(rows.left), _LEFT, **{_REACH: F.col(AT)}),
        placed(events, _EVENT),
    ]
    return reduce(DataFrame.union, frames)


def _beside_each_other(placed: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return places with what is before and after each: `_SINCE`, `CELL`, `NEXT`, `ANY`."""
    own = [*map(F.col, keys)] or [F.lit(0)]
    in_order = Window.partitionBy(*own).orderBy(AT, _PLACE)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    by_key = ", ".join(f"`{name}`" for name in keys) or "0"
    following = f"lead({_ON_TIME}, 1) IGNORE NULLS OVER (PARTITION BY {by_key} ORDER BY {AT}, {_PLACE})"
    return placed.withColumns(
        {
            _SINCE: F.coalesce(F.max(_REACH).over(so_far), F.lit(MIN)),
            CELL: F.max(_ON_TIME).over(so_far),
            NEXT: F.expr(following),
            ANY: F.max(c.TS_MS).over(so_far),
        }
    )


def _with_watermarks(placed: DataFrame, advances: DataFrame) -> DataFrame:
    """Return places with the watermark of versions that have an epoch, and so a bound of it alone."""
    epochs = placed.where(F.col(c.EPOCH).isNotNull()).select(F.col(c.EPOCH).alias("epoch")).distinct()
    before = timeline.watermark_before(epochs, advances)
    before = before.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(_EXACT))
    exact = F.coalesce(F.col(_EXACT), F.lit(MIN))
    watermark = F.when(F.col(c.EPOCH).isNull(), F.col(_W)).otherwise(exact)
    return placed.join(before, c.EPOCH, "left").withColumn(_W, watermark)


def _with_reach(rows: DataFrame) -> DataFrame:
    """Return rows with their reach as `AT`."""
    ts, watermark = F.col(c.TS_MS), F.col(c.WATERMARK_MS)
    return rows.withColumn(AT, F.when(lateness.is_reached(ts, watermark), watermark + F.lit(1)).otherwise(ts))
