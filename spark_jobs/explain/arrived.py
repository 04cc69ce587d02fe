"""Arrived rows: chosen rows of a stream, the rows of their keys around them, and the watermark before each.

    choose       the rows of an input that a condition holds for, with their times, validity and place
    first        the first row that a condition holds for
    around       the rows of the same key that decide about a chosen row: those of its windows; for sessions, those of
                 its component (`session_components`); for a join by interval, the rows of the other input within
                 reach; for a join as of, all rows
    partitions   the watermark of each source partition before a chosen row
    emissions    the emissions that reach thresholds of the watermark
    advances     the watermarks of emissions in spans of event time

The watermarks are those of the ground, which reads the times of all rows. Only few rows are collected: those around a
chosen row are counted first, and chosen rows with the same rows around them share these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.replay.watermark import combined, idleness, timeline
from spark_jobs.replay.windows import late_events
from spark_jobs.semantics.joins.interval_join import JoinBounds
from spark_jobs.semantics.rows.instants import MAX, MIN

#: The rows around a chosen row are processed one by one. Around a row with more, only the row itself is.
MOST_AROUND = 100_000

# Each advance is compared with each span.
_MOST_SPANS = 1_000

ID = c.PREFIX + "chosen"
_FROM, _TO, _TS = c.PREFIX + "from_ms", c.PREFIX + "to_ms", c.PREFIX + "chosen_ms"
_OWN, _NUMBER, _RANK = c.PREFIX + "own", c.PREFIX + "number", c.PREFIX + "epoch_rank"
_ISLAND, _OWN_ISLAND, _SIZE = c.PREFIX + "island", c.PREFIX + "own_island", c.PREFIX + "size"
_OWN_SIDE, _GROUP, _PLACE = c.PREFIX + "own_side", c.PREFIX + "group", c.PREFIX + "place"


@dataclass(frozen=True)
class Around:
    """The rows of a chosen row's key, in the order of arrival, and the chosen row among them.

    `sources` are the collected rows of `Stream.filling` behind them. `size` is the number of rows around; if they are
    too many, the chosen row stands alone. Both lists are those of every chosen row with the same rows around it.
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
        # A row between two windows is behind the end of its newest.
        end = F.greatest(window_assigners.end_ms(newest, spec), F.col(c.TS_MS) + F.lit(1))
        own = self._keyed(chosen, {_FROM: F.least(oldest, newest), _TO: end})
        if not spec.is_session:
            return self._shared(own, (_FROM, _TO), (_is_within(),))
        components = self._components(own, spec.gap_ms)
        sizes = {row[ID]: int(row[_SIZE]) for row in components.select(ID, _SIZE).collect()}
        bounded = own.drop(_FROM, _TO).join(F.broadcast(components.drop(_SIZE)), ID)
        return self._shared(bounded, (_FROM, _TO), (_is_within(),), sizes)

    def around_joining(self, chosen: DataFrame, side: int, reach: JoinBounds) -> Mapping[int, Around]:
        """Return what is around each chosen row of a side in a join by interval, by its `ID`."""
        ts, first_ms, last_ms = F.col(c.TS_MS), F.lit(reach.first_ms), F.lit(reach.last_ms)
        span = (ts + first_ms, ts + last_ms) if side == LEFT else (ts - last_ms, ts - first_ms)
        own = self._keyed(chosen, {_FROM: span[0], _TO: span[1] + 1, _OWN_SIDE: F.lit(side)})
        may_join = (F.col(SIDE) != F.col(_OWN_SIDE)) & _is_within()
        near = self._near(own, (may_join | _is_own(),))
        sizes = _sizes(near)
        rows = self._collected(near.where(F.col(ID).isin(_few(sizes)) | _is_own()))
        places = {row[ID]: row[_PLACE] for row in own.select(ID, _named(F.col(_OWN))).collect()}
        return {number: _around(of, places[number], sizes[number]) for number, of in rows.items()}

    def around_key(self, chosen: DataFrame) -> Mapping[int, Around]:
        """Return all rows of the key of each chosen row in a join as of, by its `ID`."""
        return self._shared(self._keyed(chosen, {}), (), ())

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

    def _shared(
        self,
        own: DataFrame,
        span: Sequence[str],
        conditions: Sequence[Column],
        sizes: Mapping[int, int] | None = None,
    ) -> Mapping[int, Around]:
        """Return what is around each chosen row; those with one key and span share it.

        `sizes` are the numbers of rows around the chosen rows, if they are known.
        """
        alike: list[Any] = [*map(_of_chosen, self._key), *span] or [F.lit(0)]
        grouped = own.withColumn(_GROUP, F.min(ID).over(Window.partitionBy(*alike))).localCheckpoint()
        members = grouped.select(ID, _GROUP, _named(F.col(_OWN))).collect()
        if not members:
            return {}
        near = self._near(grouped.where(F.col(ID) == F.col(_GROUP)), conditions)
        sizes = sizes or _sizes(near)
        few = set(_few(sizes))
        rows = self._collected(near.where(F.col(ID).isin(sorted(few))))
        if alone := [row[ID] for row in members if row[_GROUP] not in few]:
            rows |= self._collected(self._near(grouped.where(F.col(ID).isin(alone)), (*conditions, _is_own())))
        arrived = {number: _arrived(of) for number, of in rows.items()}
        return {
            row[ID]: _around(rows[of], row[_PLACE], sizes[row[_GROUP]], arrived[of])
            for row in members
            for of in [row[_GROUP] if row[_GROUP] in few else row[ID]]
        }

    def _components(self, own: DataFrame, gap_ms: int) -> DataFrame:
        """Return the component of each chosen row, consecutive rows of its key at most `gap_ms` apart.

        A row of the result has `ID`, the times of the component as `_FROM` and `_TO`, and its rows as `_SIZE`.
        """
        near = self._near(own, ()).groupBy(ID, _TS, c.TS_MS).agg(F.count("*").alias(_SIZE))
        in_order = Window.partitionBy(ID).orderBy(c.TS_MS)
        begins = F.col(c.TS_MS) - F.lag(c.TS_MS).over(in_order) > F.lit(gap_ms)
        numbered = near.withColumn(_ISLAND, F.coalesce(begins, F.lit(False)).cast("int")).withColumn(
            _ISLAND, F.sum(_ISLAND).over(in_order.rowsBetween(Window.unboundedPreceding, 0))
        )
        own_island = F.max(F.when(F.col(c.TS_MS) == F.col(_TS), F.col(_ISLAND))).over(Window.partitionBy(ID))
        return (
            numbered.withColumn(_OWN_ISLAND, own_island)
            .where(F.col(_ISLAND) == F.col(_OWN_ISLAND))
            .groupBy(ID)
            .agg(
                F.min(c.TS_MS).alias(_FROM),
                (F.max(c.TS_MS) + F.lit(1)).alias(_TO),
                F.sum(_SIZE).alias(_SIZE),
            )
            .localCheckpoint()
        )

    def _collected(self, near: DataFrame) -> dict[int, list[Row]]:
        """Return rows around chosen rows in the order of arrival, each with its `_PLACE`, by the `ID` beside them."""
        few = near.localCheckpoint()
        by_epoch = Window.partitionBy(ID).orderBy(c.EPOCH)
        in_order = Window.partitionBy(ID).orderBy(c.EPOCH, c.POSITION)
        numbered = self._with_watermark(few).withColumns(
            {_NUMBER: F.row_number().over(in_order), _RANK: F.dense_rank().over(by_epoch)}
        )
        rows = [name for name in ROW if name in near.columns]
        columns = [*rows, SIDE, ID, c.TS_MS, c.CLOCK_US, c.WATERMARK_MS, _NUMBER, _RANK]
        place = _named(F.struct(c.EPOCH, c.POSITION))
        collected: dict[int, list[Row]] = {}
        for row in numbered.select(*columns, place).orderBy(ID, _NUMBER).collect():
            collected.setdefault(row[ID], []).append(row)
        return collected

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

    def idle(self, chosen: DataFrame) -> Callable[[int], frozenset[str] | None]:
        """Return the idle partitions before a chosen row, by its `ID`.

        They are unknown (None) where the advances list partitions that may fall idle.
        """
        if not self._stream.may_fall_idle:
            return lambda _: frozenset()
        if self._stream.is_listed:
            return lambda _: None
        placed = chosen.where(F.col(c.EPOCH).isNotNull()).select(ID, F.col(c.EPOCH).alias("before"))
        changes = idleness.changes(self._ground.moving, self._pipeline)
        earlier = changes.join(F.broadcast(placed), F.col("epoch") < F.col("before"))
        newest = F.max_by("is_idle", F.struct("epoch", "is_idle")).alias("is_idle")
        states = earlier.groupBy(ID, "partition").agg(newest).where("is_idle")
        of_row = {row[ID]: row for row in states.groupBy(ID).agg(F.collect_set("partition").alias("idle")).collect()}
        return lambda number: frozenset(of_row[number]["idle"]) if number in of_row else frozenset()

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

    def advances(self, spans: Iterable[tuple[int, int]]) -> list[int] | None:
        """Return the watermarks of emissions in some spans, both ends included, ascending; None if they are too many.

        A span whose end comes before its start is empty. With many spans, watermarks between them are returned too.
        """
        joined = _joined(spans)
        if len(joined) > _MOST_SPANS:
            joined = [(joined[0][0], joined[-1][1])]
        spark = self._stream.filling.sparkSession
        near = F.broadcast(local_rows(spark, joined, f"{_FROM} long, {_TO} long"))
        watermark = F.col("watermark_ms")
        inside = self._ground.timeline.join(near, watermark.between(F.col(_FROM), F.col(_TO)), "left_semi")
        rows = inside.select("watermark_ms").distinct().limit(MOST_AROUND + 1).collect()
        return sorted(row.watermark_ms for row in rows) if len(rows) <= MOST_AROUND else None

    def _end_us(self) -> int | None:
        if self._ground.until_us is not None:
            return self._ground.until_us
        last: int | None = self._ground.moving.agg(F.max("last_clock_us").alias("us")).collect()[0].us
        return last

    def _with_watermark(self, rows: DataFrame) -> DataFrame:
        """Return placed rows with the watermark before each."""
        placed = rows.where(F.col(c.EPOCH).isNotNull())
        return rows.join(self._ground.missed_watermarks(late_events.epochs_of(placed)), c.EPOCH, "left")


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of instants as a few that do not meet."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((first, last) for first, last in spans if first <= last):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _of_chosen(name: str) -> str:
    return name + "_of_chosen"


def _is_own() -> Column:
    return F.struct(c.EPOCH, c.POSITION) == F.col(_OWN)


def _is_within() -> Column:
    """Return whether a row lies in the span of a chosen row."""
    return (F.col(c.TS_MS) >= F.col(_FROM)) & (F.col(c.TS_MS) < F.col(_TO))


def _sizes(near: DataFrame) -> dict[int, int]:
    """Return the number of rows around each chosen row, by its `ID`."""
    return {row[ID]: row[_SIZE] for row in near.groupBy(ID).agg(F.count("*").alias(_SIZE)).collect()}


def _few(sizes: Mapping[int, int]) -> list[int]:
    """Return the chosen rows around which all rows are collected."""
    return sorted(number for number, size in sizes.items() if size <= MOST_AROUND)


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


def _arrived(rows: Sequence[Row]) -> list[ArrivedRow]:
    return [ArrivedRow(row[_NUMBER], row[c.TS_MS], _or_min(row[c.WATERMARK_MS]), row[_RANK]) for row in rows]


def _named(place: Column) -> Column:
    """Return the text of a place in the arrival order. In Python a place with NaN would not equal itself."""
    return json_text(place).alias(_PLACE)


def _around(sources: Sequence[Row], place: str, size: int, rows: Sequence[ArrivedRow] | None = None) -> Around:
    rows = _arrived(sources) if rows is None else rows
    own = next(number for number, source in enumerate(sources) if source[_PLACE] == place)
    return Around(rows[own], rows, sources, size)


def _or_min(watermark_ms: Any) -> int:
    return MIN if watermark_ms is None else int(watermark_ms)
