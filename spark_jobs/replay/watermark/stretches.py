"""Stretches of a timeline, as an index: the first advance that reaches a time, for each row of a large table.

Law: the stretches `(W_(i-1), W_i]` are disjoint, and the first advance that reaches a time is the end of its stretch.
The first stretch is W_1 alone: a time before it is looked up as W_1.

Rows meet stretches by cells of event time. With n advances from `low` to `high`, a time ms is in the cell

    low + (clamp(ms, low, high) - low) div width * width        width = max(1, (high - low) div n)

A cell with more than `FEW` advances is cut in the same way, from its first advance to its last, and so on. So a row
meets few stretches, whatever gaps the timeline has. Each level of cells has a few entries for each advance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.rows import columns as c

REACHED_MS = c.PREFIX + "to_ms"  # the watermark of the advance that reaches the row's time; null: none
REACHED_US = c.PREFIX + "advance_us"  # its clock
CELL = c.PREFIX + "cell"  # the least time of a cell

#: A cell with more advances than this is cut.
FEW = 16

_FROM, _TIME, _CELL_OF_TIME = c.PREFIX + "from_ms", c.PREFIX + "time_ms", c.PREFIX + "cell_of_time"
_LOW, _HIGH, _WIDTH = c.PREFIX + "low_ms", c.PREFIX + "high_ms", c.PREFIX + "width"
# A timeline beyond this length is joined by shuffling both sides.
_BROADCAST = 200_000


@dataclass(frozen=True)
class Stretches:
    """The stretches of a timeline of `count` advances, from `low_ms` to `high_ms`.

    `cuts` has by level the cells that are cut: `CELL`, its first and last advance, and the width of its parts.
    """

    timeline: DataFrame
    count: int
    low_ms: int
    high_ms: int
    cuts: Sequence[DataFrame] = ()

    def first_reaching(self, rows: DataFrame, ms: Column) -> DataFrame:
        """Return `rows`, each with `REACHED_MS` and `REACHED_US` of the time `ms`."""
        timed = rows.withColumn(_TIME, F.greatest(ms, _long(self.low_ms)))
        placed = timed.withColumn(_CELL_OF_TIME, self.cell(F.col(_TIME)))
        for cut in self.cuts:
            beside = placed.join(self._small(cut.withColumnRenamed(CELL, _CELL_OF_TIME)), _CELL_OF_TIME, "left")
            part = F.coalesce(_part(F.col(_TIME)), _CELL_OF_TIME)
            placed = beside.withColumn(_CELL_OF_TIME, part).drop(_LOW, _HIGH, _WIDTH)
        inside = F.col(_TIME).between(F.col(_FROM), F.col(REACHED_MS))
        is_near = F.col(_CELL_OF_TIME) == F.col(CELL)
        reached = placed.join(self._small(self.entries), is_near & inside, "left")
        return reached.drop(_FROM, CELL, _TIME, _CELL_OF_TIME)

    @property
    def entries(self) -> DataFrame:
        """Return the stretches by cell: the first time, `REACHED_MS`, `REACHED_US`, `CELL`."""
        in_order = Window.partitionBy(F.lit(0)).orderBy("watermark_ms")
        lower = F.coalesce(F.lag("watermark_ms").over(in_order) + F.lit(1), "watermark_ms")
        stretches = self.timeline.select(
            lower.alias(_FROM), F.col("watermark_ms").alias(REACHED_MS), F.col("clock_us").alias(REACHED_US)
        )
        first, last = (self.cell(F.col(name)) for name in (_FROM, REACHED_MS))
        entries, ready = _in_cells(stretches, first, last, _long(self.width_ms)), []
        for cut in self.cuts:
            beside = entries.join(self._small(cut), CELL, "left")
            ready.append(beside.where(F.col(_WIDTH).isNull()).select(entries.columns))
            first, last = (_part(F.col(name)) for name in (_FROM, REACHED_MS))
            entries = _in_cells(beside.where(F.col(_WIDTH).isNotNull()), first, last, F.col(_WIDTH))
        return reduce(DataFrame.union, [*ready, entries])

    @property
    def width_ms(self) -> int:
        """The width of the cells that are not parts of another cell."""
        return max(1, (self.high_ms - self.low_ms) // self.count)

    def cell(self, ms: Column) -> Column:
        """Return the first cell of a time, before cuts."""
        return _cell(ms, _long(self.low_ms), _long(self.high_ms), _long(self.width_ms))

    def _small(self, frame: DataFrame) -> DataFrame:
        return F.broadcast(frame) if self.count <= _BROADCAST else frame


def stretches(timeline: DataFrame) -> Stretches | None:
    """Return the stretches of `timeline`; None without an advance.

    It has the columns of `timeline.advances` and should be stored: small jobs count the advances of cells.
    """
    extent = (F.count("*"), F.min("watermark_ms"), F.max("watermark_ms"))
    count, low_ms, high_ms = timeline.agg(*extent).collect()[0]
    if not count:
        return None
    whole = Stretches(timeline, count, low_ms, high_ms)
    if count <= FEW:
        return whole
    watermark = F.col("watermark_ms")
    return Stretches(timeline, count, low_ms, high_ms, _cuts(timeline.select(watermark, whole.cell(watermark))))


def _cuts(advances: DataFrame) -> list[DataFrame]:
    """Return `Stretches.cuts`; `advances` has the watermark of each advance and its cell."""
    advances = advances.toDF(_TIME, CELL)
    fullest = advances.groupBy(CELL).count().agg(F.max("count")).collect()[0][0]
    cuts: list[DataFrame] = []
    while fullest > FEW:
        of_cell = Window.partitionBy(CELL)
        number, low, high = (f(_TIME).over(of_cell) for f in (F.count, F.min, F.max))
        width = F.greatest(F.lit(1), F.call_function("div", F.col(_HIGH) - F.col(_LOW), F.col("number")))
        counted = advances.select(_TIME, CELL, number.alias("number"), low.alias(_LOW), high.alias(_HIGH))
        full = counted.where(F.col("number") > F.lit(FEW)).withColumn(_WIDTH, width)
        cuts.append(full.select(CELL, _LOW, _HIGH, _WIDTH).distinct())
        advances = full.select(_TIME, _part(F.col(_TIME)).alias(CELL))
        fullest = advances.groupBy(CELL).count().agg(F.max("count")).collect()[0][0]
    return cuts


def _in_cells(stretches: DataFrame, first: Column, last: Column, width: Column) -> DataFrame:
    """Return the entries of stretches: one for each cell from `first` to `last`."""
    cells = F.explode(F.sequence(first, last, width))
    return stretches.select(_FROM, REACHED_MS, REACHED_US, cells.alias(CELL))


def _part(ms: Column) -> Column:
    """Return the part of a cell that is cut; null in a row of another cell."""
    return _cell(ms, F.col(_LOW), F.col(_HIGH), F.col(_WIDTH))


def _cell(ms: Column, low: Column, high: Column, width: Column) -> Column:
    clamped = F.when(ms < low, low).when(ms > high, high).otherwise(ms)
    return low + F.call_function("div", clamped - low, width) * width


def _long(value: int) -> Column:
    return F.lit(value).cast("long")
