"""The as-of join of two inputs: each left row with the version of its key that is valid at the row's event time.

Law (rules 100-105): a is the event time of a left row, b of a right row (a version), W the watermark before a row. All
values are milliseconds.

    late       ts <= W
    reach      of a row: max(ts, W + 1), the least watermark that passes it after its arrival
    emitted    a left row, at the first advance that attains its reach
    version    of an on-time left row: the version with the greatest b, of equal b the last to arrive, among those with
               reach <= a

An on-time version has reach b. A version, late or not, counts for the rows that are emitted after its arrival. So one
window over each key in the order of reach serves all left rows. For a late left row, versions may be gone or not yet
gone: `late_versions` corrects the version. Null is a key like any other.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, partial

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import AsOf, Pipeline, Windows
from spark_jobs.replay.joins import join_watermark, late_versions
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, SIDE, inputs, is_side, key_columns
from spark_jobs.replay.joins.judged_join import JudgedJoin
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.store import MemoryStore, Store
from spark_jobs.replay.supported import require_as_of_join
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.windows import lateness
from spark_jobs.replay.windows.late_events import beside, late_columns
from spark_jobs.semantics.watermark.union import inputs as both_inputs

_AT = c.PREFIX + "at_ms"  # the place of a row among the rows of its key: event time, or reach of a version
_NEWEST = c.PREFIX + "newest_ms"  # event time of the newest version so far
_VERSION = c.PREFIX + "version"  # that version, a struct of `ts_ms` and `row`; null without one


class AsOfJoined(JudgedJoin):
    """The result: lazy DataFrames. Their common parts are computed once and kept in the store."""

    def __init__(
        self,
        left: DataFrame,
        right: DataFrame | None,
        joining: JoiningPipeline,
        kind: AsOf,
        store: Store,
        until_us: int | None,
    ) -> None:
        self._kind, self._store, self._until_us = kind, store, until_us
        self._keys = key_columns(joining)
        self._inputs = inputs(left, right, joining, Windows(size_ms=1), united=True)

    @cached_property
    def pairs(self) -> DataFrame:
        """Every emitted row: `left`, `right` (the rows of the sources as structs), `event_time`, `fired_at`.

        `right` is null where a left outer join found no version. `event_time` is that of the left row, in milliseconds;
        `fired_at` the clock of the emission that reached it, or the end of the input.
        """
        rows = late_versions.corrected(self._matched, _VERSION, self._late_versions)
        if self._kind is AsOf.INNER:
            rows = rows.where(F.col(_VERSION).isNotNull())
        reach = F.coalesce(F.col(c.WATERMARK_MS) + F.lit(1), F.col(c.TS_MS))
        fired = timeline.fired(
            rows, reach, self._advances, self._groups, self._inputs.together, until_us=self._until_us
        )
        return fired.where(F.col(timeline.FIRED_US).isNotNull()).select(
            F.col(ROW[LEFT]).alias("left"),
            F.col(_VERSION).getField("row").alias("right"),
            timestamps.from_millis(F.col(c.TS_MS)).alias("event_time"),
            F.timestamp_micros(timeline.FIRED_US).alias("fired_at"),
        )

    @cached_property
    def late_left(self) -> DataFrame:
        """The late rows of the left input.

        Its columns, `event_time, arrival_time, watermark, late_by_ms` and `verdict`: whether the row found a version
        (`joined`, `unmatched`), or still waits for an emission (`waits`).
        """
        late = late_versions.with_verdict(self._late_rows(LEFT), self._late_versions)
        return self._late(late, LEFT, F.col(late_versions.VERDICT))

    @cached_property
    def late_right(self) -> DataFrame:
        """The late rows of the right input, likewise. Their verdict is `kept`: later emissions may use them."""
        return self._late(self._late_rows(RIGHT), RIGHT, F.lit(late_versions.KEPT))

    @cached_property
    def _groups(self) -> DataFrame:
        return self._store.keep("summary", lambda: join_watermark.summary(self._inputs))

    @cached_property
    def _advances(self) -> DataFrame:
        risen = partial(join_watermark.advances, self._inputs, self._groups, both_inputs, until_us=self._until_us)
        return self._store.keep("advances", risen)

    @cached_property
    def _judged(self) -> join_watermark.Judged:
        return join_watermark.judged_by(self._advances, self._inputs, self._groups, self._store)

    @cached_property
    def _late_versions(self) -> late_versions.LateVersions:
        together = self._inputs.together
        return late_versions.late_versions(self._judged, self._advances, self._keys, self._store, together)

    @property
    def _matched(self) -> DataFrame:
        """The left rows with the newest version of reach up to their event time as `_VERSION`.

        Other columns: the key, `TS_MS`, `ROW[LEFT]`, and `WATERMARK_MS` for a late row, otherwise null.
        """
        rows = self._in_place(self._judged.ahead.withColumn(c.WATERMARK_MS, F.lit(None).cast("long")))
        rows = rows.union(self._in_place(self._judged.near))
        # Versions come before the left rows of their place. A late version may be older than one in a place before.
        own = [*map(F.col, self._keys)] or [F.lit(0)]
        in_order = Window.partitionBy(*own).orderBy(_AT, F.col(SIDE).desc(), c.POSITION)
        so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        is_version = is_side(RIGHT)
        newest = rows.withColumn(_NEWEST, F.max(F.when(is_version, F.col(c.TS_MS))).over(so_far))
        version = F.struct(F.col(c.TS_MS).alias("ts_ms"), F.col(ROW[RIGHT]).alias("row"))
        replaces = is_version & (F.col(c.TS_MS) == F.col(_NEWEST))
        matched = newest.withColumn(_VERSION, F.last(F.when(replaces, version), ignorenulls=True).over(so_far))
        names = [*self._keys, c.TS_MS, c.WATERMARK_MS, ROW[LEFT], _VERSION]
        return matched.where(is_side(LEFT)).select(names)

    def _in_place(self, rows: DataFrame) -> DataFrame:
        """Return rows of both sides with `_AT`; `WATERMARK_MS` is null for on-time rows, `POSITION` for left rows."""
        watermark = F.when(self._is_late(), F.col(c.WATERMARK_MS))
        reach = F.when(is_side(RIGHT), F.coalesce(watermark + F.lit(1), F.col(c.TS_MS))).otherwise(F.col(c.TS_MS))
        return rows.select(
            *self._keys,
            SIDE,
            c.TS_MS,
            watermark.alias(c.WATERMARK_MS),
            reach.alias(_AT),
            F.when(is_side(RIGHT), F.col(c.POSITION)).alias(c.POSITION),
            *ROW,
        )

    @staticmethod
    def _is_late() -> Column:
        return lateness.is_reached(F.col(c.TS_MS), F.col(c.WATERMARK_MS))

    def _late(self, late: DataFrame, side: int, verdict: Column) -> DataFrame:
        pipeline: Pipeline = self._inputs.pipelines[side]
        rows = late.select(
            f"{ROW[side]}.*",
            c.EVENT_US,
            c.ARRIVAL_US,
            c.CLOCK_US,
            c.TS_MS,
            c.WATERMARK_MS,
            verdict.alias(late_versions.VERDICT),
        )
        added = {**late_columns(pipeline), "verdict": F.col(late_versions.VERDICT)}
        return rows.select(*beside(rows, added, pipeline))


def as_of_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    kind: AsOf = AsOf.INNER,
    store: Store | None = None,
    *,
    until: datetime | None = None,
) -> AsOfJoined:
    """Join each row of `left` with the version of `right` at its event time; `joining` declares both inputs.

    Inputs have their source's columns; rows may be in any order and partitioning. `right` is None if one source is
    split. `until` is how far the arrival clock went, if further than the last row. Common parts are kept in `store`, by
    default in Spark's storage. Raises what `interval_join` raises.
    """
    require_as_of_join(joining)
    until_us = None if until is None else timestamps.literal_millis(until) * 1000
    return AsOfJoined(left, right, joining, kind, MemoryStore() if store is None else store, until_us)
