"""Arrived rows: chosen rows of a stream, the rows of their keys around them, and the watermark before each.

    choose       the rows of an input that a condition holds for, with their times, validity and place
    first        the first row that a condition holds for
    around       the rows of the same key that decide about a chosen row: those of its windows; for sessions, those of
                 its component (`session_components`); for a join by interval, the rows of the other input within
                 reach; for a join as of, all rows
    partitions   the watermark of each source partition before a chosen row
    emissions    the emissions that reach thresholds of the watermark

The watermarks are those of the ground, which reads the times of all rows. Only few rows are collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from spark_jobs.explain.life import ArrivedRow
from spark_jobs.explain.moments import Emission
from spark_jobs.explain.streams import Input, Stream, key_column
from spark_jobs.local_rows import local_rows
from spark_jobs.replay.joins.inputs import LEFT, ROW, SIDE
from spark_jobs.replay.rows import arrival_order, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.replay.watermark import combined, timeline
from spark_jobs.replay.windows import late_events
from spark_jobs.semantics.joins.interval_join import JoinBounds
from spark_jobs.semantics.rows.instants import MAX, MIN

#: The rows around a chosen row are processed one by one. Around a row with more, only the row itself is.
MOST_AROUND = 100_000

ID = c.PREFIX + "chosen"
_FROM, _TO, _TS = c.PREFIX + "from_ms", c.PREFIX + "to_ms", c.PREFIX + "chosen_ms"
_OWN, _NUMBER, _RANK = c.PREFIX + "own", c.PREFIX + "number", c.PREFIX + "epoch_rank"
_ISLAND, _OWN_ISLAND, _SIZE = c.PREFIX + "island", c.PREFIX + "own_island", c.PREFIX + "size"
_OWN_SIDE = c.PREFIX + "own_side"


@dataclass(frozen=True)
class Around:
    """The rows of a chosen row's key, in the order of arrival, and the chosen row among them.

    `sources` are the collected rows of `Stream.filling` behind them. `size` is the number of rows around; if they are
    too many, the chosen row stands alone.
    """

    row: ArrivedRow
    rows: Sequence[ArrivedRow]
    sources: Sequence[Row]
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether all rows around are here."""
        return self.size == len(self.rows)


class Arrived:
    """The rows of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._pipeline, self._ground = stream, stream.pipeline, stream.ground

    def choose(self, of: Input, condition: Column, most: int) -> DataFrame:
        """Return at most `most` rows of an input that a condition on its columns holds for, in the order of arrival.

        The result is kept. It has the columns of `Input.rows`, `ID` and `WATERMARK_MS`.
        """
        return self._chosen(of.rows.where(condition), most)

    def first(self, condition: Column) -> DataFrame:
        """Return the first row of `Stream.filling` that a condition holds for, with `ID` and `WATERMARK_MS`."""
        return self._chosen(self._stream.filling.where(condition), 1)

    def _chosen(self, rows: DataFrame, most: int) -> DataFrame:
        first = rows.orderBy(c.POSITION).limit(most).localCheckpoint()
        numbered = first.withColumn(ID, F.row_number().over(Window.partitionBy(F.lit(0)).orderBy(c.POSITION)))
        return self._with_watermark(numbered).localCheckpoint()

    def around(self, chosen: DataFrame) -> Mapping[int, Around]:
        """Return what is around each chosen row that fills windows, by its `ID`."""
        spec = self._pipeline.windows
        oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), spec), F.col(c.WINDOW_MS)
        own = self._keyed(chosen, {_FROM: F.least(oldest, newest), _TO: window_assigners.end_ms(newest, spec)})
        near = self._near(own, () if spec.is_session else (_is_within(),))
        return self._collected(_component(near, spec.gap_ms) if spec.is_session else near)

    def around_joining(self, chosen: DataFrame, side: int, reach: JoinBounds) -> Mapping[int, Around]:
        """Return what is around each chosen row of a side in a join by interval, by its `ID`."""
        ts, first_ms, last_ms = F.col(c.TS_MS), F.lit(reach.first_ms), F.lit(reach.last_ms)
        span = (ts + first_ms, ts + last_ms) if side == LEFT else (ts - last_ms, ts - first_ms)
        own = self._keyed(chosen, {_FROM: span[0], _TO: span[1] + 1, _OWN_SIDE: F.lit(side)})
        may_join = (F.col(SIDE) != F.col(_OWN_SIDE)) & _is_within()
        return self._collected(self._near(own, (may_join | _is_own(),)))

    def around_key(self, chosen: DataFrame) -> Mapping[int, Around]:
        """Return all rows of the key of each chosen row in a join as of, by its `ID`."""
        return self._collected(self._near(self._keyed(chosen, {}), ()))

    def _keyed(self, chosen: DataFrame, span: Mapping[str, Column]) -> DataFrame:
        """Return the chosen rows that fill windows, with what is around them."""
        return chosen.where(fills_windows()).select(
            ID,
            *(F.col(name).alias(_of_chosen(name)) for name in self._key),
            *(column.alias(name) for name, column in span.items()),
            F.col(c.TS_MS).alias(_TS),
            F.struct(c.EPOCH, c.POSITION).alias(_OWN),
        )

    def _near(self, own: DataFrame, conditions: Sequence[Column]) -> DataFrame:
        """Return the rows of the keys of chosen rows, a row for each of them."""
        same = [F.col(name).eqNullSafe(F.col(_of_chosen(name))) for name in self._key]
        meets = [*same, *conditions]
        return self._stream.filling.join(F.broadcast(own), reduce(Column.__and__, meets) if meets else F.lit(True))

    def _collected(self, near: DataFrame) -> Mapping[int, Around]:
        sized = near.withColumn(_SIZE, F.count("*").over(Window.partitionBy(ID)))
        few = sized.where((F.col(_SIZE) <= MOST_AROUND) | _is_own()).localCheckpoint()
        by_epoch = Window.partitionBy(ID).orderBy(c.EPOCH)
        in_order = Window.partitionBy(ID).orderBy(c.EPOCH, c.POSITION)
        numbered = self._with_watermark(few).withColumns(
            {_NUMBER: F.row_number().over(in_order), _RANK: F.dense_rank().over(by_epoch)}
        )
        rows = [name for name in ROW if name in near.columns]
        columns = [*rows, SIDE, ID, c.TS_MS, c.CLOCK_US, c.WATERMARK_MS, _NUMBER, _RANK, _SIZE]
        collected: dict[int, list[Row]] = {}
        for row in numbered.select(*columns, _is_own().alias(_OWN)).orderBy(ID, _NUMBER).collect():
            collected.setdefault(row[ID], []).append(row)
        return {number: _around(rows) for number, rows in collected.items()}

    @property
    def _key(self) -> list[str]:
        return [key_column(number) for number in range(len(self._stream.key))]

    def partitions(self, chosen: DataFrame) -> Mapping[int, list[Row] | None]:
        """Return the watermark of each source partition before each chosen row with a place, by its `ID`.

        A row of the list has `source_partition` and `watermark_ms` (null: MIN). None: there are too many partitions.
        """
        placed = chosen.where(F.col(c.EPOCH).isNotNull())
        epochs = placed.select(F.col(c.EPOCH).alias("epoch")).distinct()
        if self._stream.is_listed:
            reached = _last_listed(epochs, self._ground.timeline)
        else:
            points = combined.points_before(epochs, self._pipeline)
            reached = combined.combined(points, self._ground.moving, self._ground.rows.moving, self._pipeline)
        joined = placed.join(reached, F.col(c.EPOCH) == F.col("epoch")).select(ID, "partition_watermarks")
        return {row[ID]: row.partition_watermarks for row in joined.collect()}

    def rows_before(self, chosen: DataFrame) -> Mapping[int, int]:
        """Return how many rows arrived before each chosen row with a place, by its `ID`."""
        placed = chosen.where(F.col(c.EPOCH).isNotNull())
        bucket = arrival_order.bucket_of_row(self._pipeline)
        own = placed.select(ID, bucket.alias(_FROM), F.col(c.POSITION).alias(_OWN))
        groups = self._ground.census.where("bucket is not null").join(F.broadcast(own), F.col("bucket") < F.col(_FROM))
        beside = self._stream.moving.join(F.broadcast(own), bucket == F.col(_FROM))
        counts = (
            groups.groupBy(ID)
            .agg(F.sum("row_count").alias("rows"))
            .unionByName(beside.where(F.col(c.POSITION) < F.col(_OWN)).groupBy(ID).agg(F.count("*").alias("rows")))
        )
        earlier = {row[ID]: row.rows for row in counts.groupBy(ID).agg(F.sum("rows").alias("rows")).collect()}
        return {row[ID]: earlier.get(row[ID], 0) for row in own.select(ID).collect()}

    def end(self) -> int:
        """Return the watermark behind the last row."""
        if self._pipeline.replay.closes:
            return MAX
        highest = self._ground.timeline.agg(F.max("watermark_ms").alias("ms")).collect()[0].ms
        return MIN if highest is None else int(highest)

    def emissions(self, thresholds: Iterable[int]) -> Mapping[int, Emission]:
        """Return the first emission whose watermark reaches each threshold; the end of the input may be that emission.

        A threshold that no emission reaches is absent.
        """
        spark = self._stream.filling.sparkSession
        levels = local_rows(spark, [(ms,) for ms in sorted(set(thresholds))], "threshold_ms long")
        reached = timeline.first_reaching(levels, self._ground.timeline.select("epoch", "clock_us", "watermark_ms"))
        at_end = Emission(self._end_us(), MAX)
        return {
            row.threshold_ms: at_end
            if row.reached is None
            else Emission(row.reached.clock_us, row.reached.watermark_ms)
            for row in reached.collect()
        }

    def _end_us(self) -> int | None:
        if self._ground.until_us is not None:
            return self._ground.until_us
        last: int | None = self._ground.moving.agg(F.max("last_clock_us").alias("us")).collect()[0].us
        return last

    def _with_watermark(self, rows: DataFrame) -> DataFrame:
        """Return placed rows with the watermark before each."""
        placed = rows.where(F.col(c.EPOCH).isNotNull())
        return rows.join(self._ground.missed_watermarks(late_events.epochs_of(placed)), c.EPOCH, "left")


def _of_chosen(name: str) -> str:
    return name + "_of_chosen"


def _is_own() -> Column:
    return F.struct(c.EPOCH, c.POSITION) == F.col(_OWN)


def _is_within() -> Column:
    """Return whether a row lies in the span of a chosen row."""
    return (F.col(c.TS_MS) >= F.col(_FROM)) & (F.col(c.TS_MS) < F.col(_TO))


def _component(near: DataFrame, gap_ms: int) -> DataFrame:
    """Return the rows of a key in the component of the chosen row: consecutive rows at most `gap_ms` apart."""
    in_order = Window.partitionBy(ID).orderBy(c.TS_MS)
    begins = F.col(c.TS_MS) - F.lag(c.TS_MS).over(in_order) > F.lit(gap_ms)
    numbered = near.withColumn(
        _ISLAND,
        F.sum(F.coalesce(begins, F.lit(False)).cast("int")).over(in_order.rangeBetween(Window.unboundedPreceding, 0)),
    )
    own = F.max(F.when(F.col(c.TS_MS) == F.col(_TS), F.col(_ISLAND))).over(Window.partitionBy(ID))
    return numbered.withColumn(_OWN_ISLAND, own).where(F.col(_ISLAND) == F.col(_OWN_ISLAND)).drop(_ISLAND, _OWN_ISLAND)


def _last_listed(epochs: DataFrame, advances: DataFrame) -> DataFrame:
    """Return the watermarks of partitions at the last advance before each epoch: `epoch, partition_watermarks`."""
    probes = epochs.withColumn("is_probe", F.lit(True))
    steps = probes.unionByName(advances.select("epoch", "partition_watermarks"), allowMissingColumns=True)
    # One partition for this window: a row a requested epoch and a row an advance.
    so_far = (
        Window.partitionBy(F.lit(0))
        .orderBy("epoch", F.col("is_probe").asc_nulls_last())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    last = F.last(F.when(F.col("is_probe").isNull(), F.col("partition_watermarks")), ignorenulls=True).over(so_far)
    return steps.withColumn("partition_watermarks", last).where("is_probe").drop("is_probe")


def _around(rows: Sequence[Row]) -> Around:
    arrived = [ArrivedRow(row[_NUMBER], row[c.TS_MS], _or_min(row[c.WATERMARK_MS]), row[_RANK]) for row in rows]
    own = next(number for number, row in enumerate(rows) if row[_OWN])
    return Around(arrived[own], arrived, rows, rows[own][_SIZE])


def _or_min(watermark_ms: Any) -> int:
    return MIN if watermark_ms is None else int(watermark_ms)
