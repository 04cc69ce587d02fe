"""The window join and the co-group of two inputs: windows over the rows of both sides together.

Law (rules 95, 96): a group is a pane of the union of both inputs, its rows parted by side; pairs are every left row of
a group with every right one. A window fires at the first emission at which every source has passed it,

    F(T) = max over the sources s of F_s(T)

with F_s the first passage of the calendar. Pairs of on-time groups are an equi-join by key and window; only late groups
are put together row by row. Null is a key like any other.

Where no such passage tells it (`fires_panes`), both sides are replayed as united sources are (`grouped`), and pairs are
made of their groups.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Aggregate, Pipeline, Windows
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.co_group import Grouped, fires_panes, grouped, taken
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, inputs, is_side, key_columns
from spark_jobs.replay.panes import late_panes, on_time_panes
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import emission, timestamps
from spark_jobs.replay.rows.prepare import quoted
from spark_jobs.replay.supported import require_window_join
from spark_jobs.replay.watermark.census import CLOSE_CELL, FIRE_CELL, census, gathered
from spark_jobs.replay.windows import calendar as by_window
from spark_jobs.replay.windows import late_events, lateness, window_slices

_SIDES = ("left", "right")
_FIRING = ("pane_index", "timing", "fired_at", "watermark")


class WindowJoined:
    """The result: lazy DataFrames; what several of them ask for is computed once and kept in Spark's storage."""

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
        self._filling = self._inputs.rows.where(c.KEPT)

    @cached_property
    def groups(self) -> DataFrame:
        """Every group: what the co-group gives.

        Key columns by their names on the left, `window_start`, `window_end`, `pane_index`, `timing`, `fired_at`,
        `watermark`, `left` and `right` (arrays of the sources' rows as structs, in arrival order, maybe empty),
        `row_count`. The group's event time is the last millisecond of its window.
        """
        if self._inputs.are_united:
            return self._named(self._replay.panes)
        return self._named(self._on_time_panes.select(self._late_panes.columns).unionByName(self._late_panes))

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair of every group: what the window join gives.

        Key columns by their names on the left, `window_start`, `window_end`, `pane_index`, `timing`, `fired_at`,
        `watermark`, `left`, `right` (the sources' rows as structs).
        """
        if self._inputs.are_united:
            return _paired(self.groups)
        late = _paired(self._named(self._late_panes))
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
    def taken(self) -> DataFrame:
        """How many rows a window took, or will: `side` (0: left), `at_ms` (its start), `is_late` (it had fired).

        Their number is `row_count`. A row is counted once, at the newest of its windows.
        """
        if self._inputs.are_united:
            return self._replay.taken
        return taken(self._on_time, self._late_rows, self._windows)

    @cached_property
    def _replay(self) -> Grouped:
        """The groups as panes."""
        rows = self._gathering(self._inputs.rows).drop(*key_columns(self._joining))
        return grouped(self._inputs, rows, self._pipeline, self._until_us)

    @cached_property
    def _pipeline(self) -> Pipeline:
        """One pipeline over both sides' rows, whose panes are the groups."""
        gathered = tuple(Aggregate(side, f"collect_list({side})") for side in _SIDES)
        windows = replace(self._windows, key=tuple(self._joining.left.key), aggregates=gathered)
        return replace(self._inputs.together, windows=windows)

    @cached_property
    def _census(self) -> DataFrame:
        """The census of each source, with its index as `source`."""
        alone = [
            census(self._inputs.rows.where(source.of), source.pipeline).withColumn("source", F.lit(number))
            for number, source in enumerate(self._inputs.sources)
        ]
        both = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), alone)
        return gathered(both.localCheckpoint())

    @cached_property
    def _calendar(self) -> DataFrame:
        """When each window fires and closes, as `calendar.calendar` has it, without the partitions' watermarks."""
        asked = by_window.asked_windows(self._census, self._pipeline)
        cells = {"fires_epoch": F.col(FIRE_CELL), "closes_epoch": F.col(CLOSE_CELL)}
        alone = [
            by_window.first_passages(
                join_watermark.of_source(self._census, number), asked, source.pipeline, cells
            ).withColumnsRenamed({name: f"{name}_{number}" for name in cells})
            for number, source in enumerate(self._inputs.sources)
        ]
        beside = reduce(lambda frame, other: frame.join(other, "window_ms", "left"), alone, asked)
        slowest = {name: _latest([F.col(f"{name}_{number}") for number in range(len(alone))]) for name in cells}
        together = beside.select("window_ms", *(epoch.alias(name) for name, epoch in slowest.items()))
        passed = emission.happened(
            together, list(cells), self._census, self._pipeline, until_us=self._until_us
        ).localCheckpoint()
        emissions = passed.where("fires_epoch is not null").select(F.col("fires_epoch").alias("epoch")).distinct()
        reached = join_watermark.after(emissions, self._census, self._inputs).withColumnRenamed("epoch", "fires_epoch")
        clocks = {"fires_epoch": "fires_us", "closes_epoch": "closes_us"}
        joined = passed.join(reached, "fires_epoch", "left")
        return self._ended(emission.clocked(joined, clocks, self._census, self._pipeline)).localCheckpoint()

    @cached_property
    def _late_rows(self) -> DataFrame:
        """The rows behind their window's firing, with `TOO_LATE` and `WATERMARK_MS`."""
        behind = lateness.behind(self._filling, self._calendar, self._windows).localCheckpoint()
        missed = join_watermark.before(late_events.epochs_of(behind), self._census, self._inputs)
        told = missed.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))
        return late_events.late_rows(behind, told, self._pipeline).localCheckpoint()

    @cached_property
    def _on_time(self) -> DataFrame:
        return lateness.on_time(self._filling, self._calendar, self._windows)

    @cached_property
    def _on_time_panes(self) -> DataFrame:
        return on_time_panes.on_time_panes(self._gathering(self._on_time), None, self._calendar, self._pipeline)

    @cached_property
    def _late_panes(self) -> DataFrame:
        late = window_slices.late_pairs(self._gathering(self._late_rows), self._pipeline)
        pairs = window_slices.on_time_pairs(self._gathering(self._on_time), None, self._pipeline)
        return late_panes.late_panes(late, pairs, self._on_time_panes, self._pipeline)

    @property
    def _on_time_pairs(self) -> DataFrame:
        key = key_columns(self._joining)
        sides = [self._on_time.where(is_side(side)).select(*key, c.WINDOW_MS, ROW[side]) for side in (LEFT, RIGHT)]
        names = [*key, c.WINDOW_MS]
        right = sides[RIGHT].withColumnsRenamed({name: name + "_of_right" for name in names})
        meets = reduce(Column.__and__, [F.col(name).eqNullSafe(F.col(name + "_of_right")) for name in names])
        firing = self._calendar.where("fires_us is not null").withColumnRenamed("window_ms", c.WINDOW_MS)
        fired = sides[LEFT].join(right, meets).join(F.broadcast(firing), c.WINDOW_MS)
        reached = timestamps.from_millis(F.col("watermark_ms"))
        start = F.col(c.WINDOW_MS)
        return fired.select(
            *(F.col(name).alias(own) for name, own in zip(key, self._joining.left.key, strict=True)),
            timestamps.from_millis(start).alias("window_start"),
            timestamps.from_millis(start + F.lit(self._windows.size_ms)).alias("window_end"),
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

    def _ended(self, dated: DataFrame) -> DataFrame:
        """Windows that no emission passes fire and close when the input ends, if it does."""
        if not self._joining.replay.closes:
            return dated
        end = self._census.agg(F.coalesce(F.lit(self._until_us).cast("long"), F.max("last_clock_us")).alias("end_us"))
        closing = {name: F.coalesce(name, "end_us") for name in ("fires_us", "closes_us")}
        return dated.crossJoin(F.broadcast(end)).withColumns(closing).drop("end_us")

    def _too_late(self, side: int) -> DataFrame:
        late = self._replay.late_rows if self._inputs.are_united else self._late_rows
        rows = late.where(is_side(side)).select(
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
    taken = set(joining.left.key) & {"window_start", "window_end", *_FIRING, *_SIDES, "row_count"}
    if taken:
        raise ValueError(f"found key columns with names of the result: {', '.join(sorted(taken))}; rename them")
    return WindowJoined(
        left, right, joining, windows, None if until is None else timestamps.literal_millis(until) * 1000
    )


def _paired(groups: DataFrame) -> DataFrame:
    """Every left row of a group with every right one."""
    return groups.withColumn("left", F.explode("left")).withColumn("right", F.explode("right")).drop("row_count")


def _latest(epochs: list[Column]) -> Column:
    """The latest of the epochs, null if one of them is."""
    if len(epochs) == 1:
        return epochs[0]
    return F.when(reduce(Column.__and__, [epoch.isNotNull() for epoch in epochs]), F.greatest(*epochs))


def _in_order(gathered: Column) -> Column:
    """The rows of a side in arrival order."""

    def compared(one: Column, other: Column) -> Column:
        ahead, behind = one.getField(c.POSITION), other.getField(c.POSITION)
        return F.when(ahead < behind, -1).when(ahead > behind, 1).otherwise(0)

    return F.transform(F.array_sort(gathered, compared), lambda placed: placed.getField("row"))
