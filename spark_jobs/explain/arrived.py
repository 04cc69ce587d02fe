"""Arrived rows: chosen rows of a source, the rows of their keys around them, and the watermark before each.

    choose       the rows that a condition holds for, with their times, validity and place
    around       the rows of the same key that decide about a chosen row: those of its windows; for sessions, those of
                 its component (`session_components`)
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
from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows import arrival_order, left_out, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import fills_windows, source_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.watermark import combined, timeline
from spark_jobs.replay.windows import late_events
from spark_jobs.semantics.rows.instants import MAX, MIN

#: The rows around a chosen row are processed one by one. Around a row with more, only the row itself is.
MOST_AROUND = 100_000

ID = c.PREFIX + "chosen"
_FROM, _TO, _TS = c.PREFIX + "from_ms", c.PREFIX + "to_ms", c.PREFIX + "chosen_ms"
_OWN, _NUMBER, _RANK = c.PREFIX + "own", c.PREFIX + "number", c.PREFIX + "epoch_rank"
_ISLAND, _OWN_ISLAND, _SIZE = c.PREFIX + "island", c.PREFIX + "own_island", c.PREFIX + "size"
_KEY = c.PREFIX + "key_"


@dataclass(frozen=True)
class Emission:
    """An emission: its clock in microseconds, and the watermark from then on; MAX at the end of the input."""

    clock_us: int | None
    watermark: int


@dataclass(frozen=True)
class Around:
    """The rows of a chosen row's key, in the order of arrival, and the chosen row among them.

    `sources` are the source's columns and the working columns of each. `size` is the number of rows around; if they are
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
    """The rows of `events`, which have the source's columns. `until_us` is how far the clock of arrival went."""

    def __init__(self, events: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> None:
        self._pipeline, self._store, self._until_us = pipeline, MemoryStore(), until_us
        self._rows = SourceRows(events, pipeline, self._store)
        self._ground = Ground(self._rows, pipeline, self._store, until_us=until_us)

    @property
    def source_columns(self) -> list[str]:
        """The source's columns."""
        return source_columns(self._rows.prepared)

    def choose(self, condition: Column, most: int) -> DataFrame:
        """Return at most `most` rows that a condition on the source's columns holds for, in the order of arrival.

        The result is kept. It has the columns of placed rows, `POSITION`, `ID` and `WATERMARK_MS`; `REASON` has the
        rules of quarantine too.
        """
        rows = self._rows.placed.where(condition)
        working = {c.REASON: left_out.reason(self._pipeline), c.POSITION: self._position(rows)}
        first = rows.withColumns(working).orderBy(c.POSITION).limit(most).localCheckpoint()
        numbered = first.withColumn(ID, F.row_number().over(Window.partitionBy(F.lit(0)).orderBy(c.POSITION)))
        return self._with_watermark(numbered).localCheckpoint()

    def around(self, chosen: DataFrame) -> Mapping[int, Around]:
        """Return what is around each chosen row that fills windows, by its `ID`."""
        spec, names = self._pipeline.windows, [f"{_KEY}{i}" for i in range(len(self._pipeline.windows.key))]
        keys = key_columns(self._pipeline)
        oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), spec), F.col(c.WINDOW_MS)
        span = {_FROM: F.least(oldest, newest), _TO: window_assigners.end_ms(newest, spec), _TS: F.col(c.TS_MS)}
        own = chosen.where(fills_windows()).select(
            ID,
            *(key.alias(name) for key, name in zip(keys, names, strict=True)),
            *(column.alias(name) for name, column in span.items()),
            F.struct(c.EPOCH, c.POSITION).alias(_OWN),
        )
        same = [key.eqNullSafe(F.col(name)) for key, name in zip(keys, names, strict=True)]
        if not spec.is_session:
            same.append((F.col(c.TS_MS) >= F.col(_FROM)) & (F.col(c.TS_MS) < F.col(_TO)))
        filling = self._rows.filling
        meets = reduce(Column.__and__, same) if same else F.lit(True)
        near = filling.withColumn(c.POSITION, self._position(filling)).join(F.broadcast(own), meets)
        if spec.is_session:
            near = _component(near, spec.gap_ms)
        sized = near.withColumn(_SIZE, F.count("*").over(Window.partitionBy(ID)))
        is_own = F.struct(c.EPOCH, c.POSITION) == F.col(_OWN)
        few = sized.where((F.col(_SIZE) <= MOST_AROUND) | is_own).localCheckpoint()
        by_epoch = Window.partitionBy(ID).orderBy(c.EPOCH)
        in_order = Window.partitionBy(ID).orderBy(c.EPOCH, c.POSITION)
        numbered = self._with_watermark(few).withColumns(
            {_NUMBER: F.row_number().over(in_order), _RANK: F.dense_rank().over(by_epoch)}
        )
        columns = [*map(quoted, self.source_columns), ID, c.TS_MS, c.CLOCK_US, c.WATERMARK_MS, _NUMBER, _RANK, _SIZE]
        collected: dict[int, list[Row]] = {}
        for row in numbered.select(*columns, is_own.alias(_OWN)).orderBy(ID, _NUMBER).collect():
            collected.setdefault(row[ID], []).append(row)
        return {number: _around(rows) for number, rows in collected.items()}

    def partitions(self, chosen: DataFrame) -> Mapping[int, list[Row] | None]:
        """Return the watermark of each source partition before each chosen row with a place, by its `ID`.

        A row of the list has `source_partition` and `watermark_ms` (null: MIN). None: there are too many partitions.
        """
        placed = chosen.where(F.col(c.EPOCH).isNotNull())
        epochs = placed.select(F.col(c.EPOCH).alias("epoch")).distinct()
        if timeline.defines_watermark(self._pipeline):
            reached = _last_listed(epochs, self._ground.timeline)
        else:
            points = combined.points_before(epochs, self._pipeline)
            reached = combined.combined(points, self._ground.moving, self._rows.moving, self._pipeline)
        joined = placed.join(reached, F.col(c.EPOCH) == F.col("epoch")).select(ID, "partition_watermarks")
        return {row[ID]: row.partition_watermarks for row in joined.collect()}

    def rows_before(self, chosen: DataFrame) -> Mapping[int, int]:
        """Return how many rows arrived before each chosen row with a place, by its `ID`."""
        placed = chosen.where(F.col(c.EPOCH).isNotNull())
        bucket = arrival_order.bucket_of_row(self._pipeline)
        own = placed.select(ID, bucket.alias(_FROM), F.col(c.POSITION).alias(_OWN))
        groups = self._ground.census.where("bucket is not null").join(F.broadcast(own), F.col("bucket") < F.col(_FROM))
        moving = self._rows.moving
        beside = moving.withColumn(c.POSITION, self._position(moving)).join(F.broadcast(own), bucket == F.col(_FROM))
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
        spark = self._rows.prepared.sparkSession
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
        last = self._ground.moving.agg(F.max("last_clock_us").alias("us")).collect()[0].us
        return self._until_us if self._until_us is not None else last

    def _position(self, rows: DataFrame) -> Column:
        return arrival_order.position(rows, self._pipeline)

    def _with_watermark(self, rows: DataFrame) -> DataFrame:
        """Return placed rows with the watermark before each."""
        placed = rows.where(F.col(c.EPOCH).isNotNull())
        return rows.join(self._ground.missed_watermarks(late_events.epochs_of(placed)), c.EPOCH, "left")


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
