"""The interval join of two inputs: pairs of rows of one key whose event times differ by an interval.

Law (rules 90-94): a is the event time of a left row, b of a right row, W the watermark before a row. All values are
milliseconds, lower and upper inclusive.

    pair   a + lower <= b <= a + upper, no row is late, and not edge
    late   ts < W
    edge   the later row has ts = W, and W is the partner's last instant, which an advance reached after its arrival:
           right at W, b = a + upper, upper > 0 or (upper = 0 and left not at W); left at W, a = b - lower likewise

The watermark never falls and no row of a pair is late. So W can at most equal the partner's last instant, and which row
arrived later follows. The join therefore needs two facts about each row: whether it is late, and whether ts = W.

Rows are joined by key and by cell of event time. Cells are as wide as the interval: a right row lies in one cell, a
left row probes at most three. Null is a key like any other.
"""

from __future__ import annotations

from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Windows
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, inputs, is_side, key_columns
from spark_jobs.replay.joins.judged_join import JudgedJoin
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import timestamps, window_assigners
from spark_jobs.replay.store import MemoryStore, Store
from spark_jobs.replay.supported import require_interval_join
from spark_jobs.replay.windows import lateness
from spark_jobs.replay.windows.late_events import beside, late_columns
from spark_jobs.semantics.joins.interval_join import JoinBounds

_CELL = c.PREFIX + "cell_ms"
_AT = c.PREFIX + "at"  # whether the row's event time equals the watermark before it
# Greater than the distance between any two times that a table can hold, and far from overflow.
_FAR_MS = 2**58


class IntervalJoined(JudgedJoin):
    """The result: lazy DataFrames. Their common parts are computed once and kept in the store."""

    def __init__(
        self, left: DataFrame, right: DataFrame | None, joining: JoiningPipeline, bounds: JoinBounds, store: Store
    ) -> None:
        self._joining, self._store = joining, store
        self._first_ms, self._last_ms = (min(max(end, -_FAR_MS), _FAR_MS) for end in (bounds.first_ms, bounds.last_ms))
        self._grid = Windows(size_ms=max(self._last_ms - self._first_ms + 1, 1))
        self._inputs = inputs(left, right, joining, self._grid, united=join_watermark.reads_advances(joining))

    @cached_property
    def _judged(self) -> join_watermark.Judged:
        groups = self._store.keep("summary", lambda: join_watermark.summary(self._inputs))
        return join_watermark.judged(self._inputs, groups, self._store)

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair: `left`, `right` (the rows of the sources as structs), `event_time`, `fired_at`.

        `event_time` is the greater of the two event times, in milliseconds; `fired_at` the clock of the later row.
        """
        left, right = self._side(LEFT).withColumn(_CELL, F.explode(self._cells())), self._side(RIGHT)
        right = right.withColumn(_CELL, F.col(c.WINDOW_MS)).withColumnsRenamed({n: _of_right(n) for n in self._used})
        distance = _right(c.TS_MS) - F.col(c.TS_MS)
        names = [*key_columns(self._joining), _CELL]
        meets = reduce(Column.__and__, [F.col(name).eqNullSafe(_right(name)) for name in names])
        near = distance.between(F.lit(self._first_ms), F.lit(self._last_ms))
        return left.join(right, meets & near & ~self._is_edge()).select(
            F.col(ROW[LEFT]).alias("left"),
            F.col(ROW[RIGHT]).alias("right"),
            timestamps.from_millis(F.greatest(F.col(c.TS_MS), _right(c.TS_MS))).alias("event_time"),
            F.timestamp_micros(F.greatest(F.col(c.CLOCK_US), _right(c.CLOCK_US))).alias("fired_at"),
        )

    @cached_property
    def late_left(self) -> DataFrame:
        """The late rows of the left input: its columns, `event_time, arrival_time, watermark, late_by_ms`."""
        return self._late(LEFT)

    @cached_property
    def late_right(self) -> DataFrame:
        """The late rows of the right input, likewise."""
        return self._late(RIGHT)

    @property
    def _used(self) -> list[str]:
        return [*key_columns(self._joining), _CELL, c.TS_MS, c.CLOCK_US, _AT]

    def _side(self, side: int) -> DataFrame:
        """Return the rows of a side that are not late."""
        not_late = self._judged.near.where(~self._is_late())
        near = not_late.withColumn(_AT, lateness.is_at(F.col(c.TS_MS), F.col(c.WATERMARK_MS)))
        ahead = self._judged.ahead.withColumn(_AT, F.lit(False))
        names = [*key_columns(self._joining), c.WINDOW_MS, c.TS_MS, c.CLOCK_US, _AT, ROW[side]]
        return ahead.where(is_side(side)).select(names).union(near.where(is_side(side)).select(names))

    def _cells(self) -> Column:
        """Return the cells that may contain a partner of a left row."""
        # Between exclusive bounds there may be no instant: the last would be before the first.
        ends = (self._first_ms, max(self._first_ms, self._last_ms))
        first, last = (window_assigners.start_ms(F.col(c.TS_MS) + F.lit(end), self._grid) for end in ends)
        return F.sequence(first, last, F.lit(self._grid.size_ms))

    def _is_edge(self) -> Column:
        """Return whether the partner's state had ended when the later row arrived."""
        distance = _right(c.TS_MS) - F.col(c.TS_MS)
        has_ended = F.lit(False)
        if self._last_ms >= 0:
            advanced = F.lit(True) if self._last_ms > 0 else ~F.col(_AT)
            has_ended |= _right(_AT) & (distance == F.lit(self._last_ms)) & advanced
        if self._first_ms <= 0:
            advanced = F.lit(True) if self._first_ms < 0 else ~_right(_AT)
            has_ended |= F.col(_AT) & (distance == F.lit(self._first_ms)) & advanced
        return has_ended

    @staticmethod
    def _is_late() -> Column:
        return lateness.is_behind_strictly(F.col(c.TS_MS), F.col(c.WATERMARK_MS))

    def _late(self, side: int) -> DataFrame:
        pipeline = self._inputs.pipelines[side]
        rows = self._late_rows(side).select(
            f"{ROW[side]}.*", c.EVENT_US, c.ARRIVAL_US, c.CLOCK_US, c.TS_MS, c.WATERMARK_MS
        )
        return rows.select(*beside(rows, late_columns(pipeline), pipeline))


def interval_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    bounds: JoinBounds,
    store: Store | None = None,
) -> IntervalJoined:
    """Join two inputs as `joining` declares: each row of `left` with the rows of `right` within `bounds`.

    Inputs have their source's columns; rows may be in any order and partitioning. `right` is None if one source is
    split. Common parts are kept in `store`, by default in Spark's storage. Raises

    - UnsupportedPipelineError for watermarks that the Spark engine does not support,
    - TimeFieldError for a time column of another type than declared,
    - ValueError if there is an input too many or too few.
    """
    require_interval_join(joining)
    return IntervalJoined(left, right, joining, bounds, MemoryStore() if store is None else store)


def _right(name: str) -> Column:
    return F.col(_of_right(name))


def _of_right(name: str) -> str:
    return name + "_of_right"
