"""The window join and the co-group of two inputs: windows over the rows of both sides together.

Law (rules 95, 96): a group is a pane of the union of both inputs, its rows parted by side; pairs are every left row of
a group with every right one. Pairs of on-time groups are an equi-join by key and window; only late groups are put
together row by row. Null is a key like any other.

The engine computes the groups (`co_group`). Where sources are united (`fires_panes`), all pairs are made of groups.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Aggregate, Pipeline, Windows
from spark_jobs.replay.joins.co_group import Grouped, fires_panes, grouped
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, inputs, is_side, key_columns
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import timestamps, window_assigners
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.supported import require_window_join
from spark_jobs.replay.windows import late_events

_SIDES = ("left", "right")
_FIRING = ("pane_index", "timing", "fired_at", "watermark")


class WindowJoined:
    """The result: lazy DataFrames; rows that several of them need are computed once and kept in Spark's storage."""

    def __init__(
        self,
        left: DataFrame,
        right: DataFrame | None,
        joining: JoiningPipeline,
        windows: Windows,
        until_us: int | None,
    ) -> None:
        self._joining = joining
        self._windows = windows
        self._until_us = until_us
        self._inputs = inputs(left, right, joining, windows, united=fires_panes(joining, windows))

    @cached_property
    def groups(self) -> DataFrame:
        """Every group: the result of the co-group.

        Key columns by their names on the left, `window_start`, `window_end`, `pane_index`, `timing`, `fired_at`,
        `watermark`, `left` and `right` (arrays of the sources' rows as structs, in arrival order, maybe empty),
        `row_count`. The group's event time is the last millisecond of its window.
        """
        return self._named(self._grouped.panes)

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair of every group: the result of the window join.

        Key columns by their names on the left, `window_start`, `window_end`, `pane_index`, `timing`, `fired_at`,
        `watermark`, `left`, `right` (the sources' rows as structs).
        """
        if self._inputs.are_united:
            return _paired(self.groups)
        late = _paired(self._named(self._grouped.late_panes))
        return self._on_time_pairs.select(late.columns).union(late)

    @cached_property
    def late_left(self) -> DataFrame:
        """The rows of the left input that no window took: the columns of `late_events`."""
        return self._too_late(LEFT)

    @cached_property
    def late_right(self) -> DataFrame:
        """The rows of the right input that no window took."""
        return self._too_late(RIGHT)

    @cached_property
    def invalid_left(self) -> DataFrame:
        """The rows of the left input without a usable time: the columns of `invalid_events`."""
        return late_events.invalid_events(self._inputs.prepared[LEFT], self._inputs.pipelines[LEFT])

    @cached_property
    def invalid_right(self) -> DataFrame:
        """The rows of the right input without a usable time."""
        return late_events.invalid_events(self._inputs.prepared[RIGHT], self._inputs.pipelines[RIGHT])

    @cached_property
    def accepted_rows(self) -> DataFrame:
        """How many rows a window took, or will: `side` (0: left), `at_ms` (its start), `is_late` (it had fired).

        Their number is `row_count`. A row is counted once, at the newest of its windows.
        """
        return self._grouped.accepted_rows

    @cached_property
    def _grouped(self) -> Grouped:
        """The groups as panes."""
        rows = self._gathering(self._inputs.rows).drop(*key_columns(self._joining))
        return grouped(self._inputs, rows, self._pipeline, self._until_us)

    @cached_property
    def _pipeline(self) -> Pipeline:
        """One pipeline over both sides' rows, whose panes are the groups."""
        gathered = tuple(Aggregate(side, f"collect_list({side})") for side in _SIDES)
        windows = replace(self._windows, key=tuple(self._joining.left.key), aggregates=gathered)
        return replace(self._inputs.together, windows=windows)

    @property
    def _on_time_pairs(self) -> DataFrame:
        rows, key = self._grouped.on_time, key_columns(self._joining)
        own = [F.col(quoted(name)).alias(to) for name, to in zip(self._joining.left.key, key, strict=True)]
        sides = [rows.where(is_side(side)).select(*own, c.WINDOW_MS, ROW[side]) for side in (LEFT, RIGHT)]
        names = [*key, c.WINDOW_MS]
        right = sides[RIGHT].withColumnsRenamed({name: name + "_of_right" for name in names})
        meets = reduce(Column.__and__, [F.col(name).eqNullSafe(F.col(name + "_of_right")) for name in names])
        firing = self._grouped.calendar.where("fires_us is not null").withColumnRenamed("window_ms", c.WINDOW_MS)
        fired = sides[LEFT].join(right, meets).join(F.broadcast(firing), c.WINDOW_MS)
        reached = timestamps.from_millis(F.col("watermark_ms"))
        start = F.col(c.WINDOW_MS)
        return fired.select(
            *(F.col(name).alias(own) for name, own in zip(key, self._joining.left.key, strict=True)),
            timestamps.from_millis(start).alias("window_start"),
            timestamps.from_millis(window_assigners.end_ms(start, self._windows)).alias("window_end"),
            F.lit(0).alias("pane_index"),
            F.lit("on_time").alias("timing"),
            F.timestamp_micros("fires_us").alias("fired_at"),
            F.when(F.col("fires_epoch").isNull(), timestamps.end_of_input()).otherwise(reached).alias("watermark"),
            *(F.col(ROW[side]).alias(_SIDES[side]) for side in (LEFT, RIGHT)),
        )

    def _gathering(self, rows: DataFrame) -> DataFrame:
        """`rows` with what the panes collect of each side: the row and its position, null in rows of the other."""
        of_side = {
            _SIDES[side]: F.when(is_side(side), F.struct(c.POSITION, F.col(ROW[side]).alias("row")))
            for side in (LEFT, RIGHT)
        }
        keys = zip(self._joining.left.key, key_columns(self._joining), strict=True)
        return rows.withColumns({**of_side, **{own: F.col(name) for own, name in keys}})

    def _named(self, fired: DataFrame) -> DataFrame:
        """Panes as groups."""
        key = [F.col(quoted(name)) for name in self._joining.left.key]
        sides = [_in_order(F.col(side)).alias(side) for side in _SIDES]
        return fired.select(*key, "window_start", "window_end", *_FIRING, *sides, "row_count")

    def _too_late(self, side: int) -> DataFrame:
        rows = self._grouped.late_rows.where(is_side(side)).select(
            f"{ROW[side]}.*", c.EVENT_US, c.ARRIVAL_US, c.CLOCK_US, c.TS_MS, c.WINDOW_MS, c.WATERMARK_MS, c.TOO_LATE
        )
        return late_events.late_events(rows, self._inputs.pipelines[side])


def window_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    windows: Windows,
    *,
    until: datetime | None = None,
) -> WindowJoined:
    """Join or co-group two inputs by window, as `joining` declares; the key and aggregates of `windows` are not used.

    `left`, `right`, `until` and what is raised are those of `interval_join` and `replay`; also ValueError for a key
    column with the name of a result column.
    """
    require_window_join(joining, windows)
    clashes = set(joining.left.key) & {"window_start", "window_end", *_FIRING, *_SIDES, "row_count"}
    if clashes:
        raise ValueError(f"found key columns with names of the result: {', '.join(sorted(clashes))}; rename them")
    return WindowJoined(
        left, right, joining, windows, None if until is None else timestamps.literal_millis(until) * 1000
    )


def _paired(groups: DataFrame) -> DataFrame:
    """Every left row of a group with every right one."""
    return groups.withColumn("left", F.explode("left")).withColumn("right", F.explode("right")).drop("row_count")


def _in_order(gathered: Column) -> Column:
    """The rows of a side in arrival order."""

    def compared(first: Column, second: Column) -> Column:
        ahead, behind = first.getField(c.POSITION), second.getField(c.POSITION)
        return F.when(ahead < behind, -1).when(ahead > behind, 1).otherwise(0)

    return F.transform(F.array_sort(gathered, compared), lambda placed: placed.getField("row"))
