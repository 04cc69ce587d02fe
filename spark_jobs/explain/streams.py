"""Streams: the rows that explanations read, with their place in the arrival order, and the ground of their watermarks.

    of_source          the rows of a pipeline with windows, of one source or of several
    of_window_join     the rows of both inputs of a join or co-group by window
    of_interval_join   the rows of both inputs of a join by interval
    of_as_of_join      the rows of both inputs of a join as of

The watermarks of joins are read from the advances of united sources: they are listed with those of all partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, SIDE, Inputs, inputs, is_side
from spark_jobs.replay.joins.join_ground import UnitedGround
from spark_jobs.replay.rows import arrival_order, left_out
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys as source_keys
from spark_jobs.replay.rows.plain_values import plain_value
from spark_jobs.replay.rows.prepare import fills_windows, moves_watermark, source_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.source_rows import PlacedRows, SourceRows
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.watermark import timeline
from spark_jobs.semantics.joins.interval_join import JoinBounds
from spark_jobs.semantics.spec import Watermark
from spark_jobs.semantics.watermark.union import inputs as both_inputs
from spark_jobs.tables.repaired_windows import RepairedWindows

#: The names that the engine gives to the sources of a join.
_ENGINE_NAMES = ("left", "right")
_GRID_MS = 60_000
_NOT_REPAIRED = RepairedWindows()


def _joined(name: str, label: str) -> str:
    return "|".join(filter(None, (name, label)))


def key_column(number: int) -> str:
    """Return the name of a key column of `Stream.filling` and `Input.rows`: that of `inputs.key_columns`."""
    return f"{c.PREFIX}key_{number}"


@dataclass(frozen=True)
class Input:
    """An input: the rows that may be chosen for an explanation.

    - `name`: the input's name in the pipeline file; None for the only one
    - `rows`: the columns of the source, the working columns of placed rows, the key columns and `POSITION`. A row
      without a place has neither position nor epoch. `REASON` has the rules of quarantine too
    - `schema`: the columns of the source
    """

    name: str | None
    rows: DataFrame
    schema: T.StructType

    def values(self, row: Row) -> dict[str, Any]:
        """Return the columns of the source of a collected row, as plain values: structs are dicts, times are in UTC."""
        return {column.name: plain_value(row[column.name], column.dataType) for column in self.schema}


@dataclass(frozen=True)
class Stream:
    """Rows with their place, and the ground of their watermarks.

    - `pipeline`: the windows, the replay and the emission
    - `key`: the names of the key columns, of a join on the left
    - `filling`: rows that fill windows or join. Each has the columns of its source as the struct `ROW[SIDE]`, the key
      columns, `POSITION`, `EPOCH` and its times
    - `moving`: rows that move the watermark, with `POSITION`
    - `watermarks`: those of the sources, in order
    - `is_listed`: whether each advance lists the watermarks of all partitions
    - `source_names`: the names of a join's sources by those of the engine, `left` and `right`; '' for the only source
    - `repaired`: the windows whose late rows a repair has added
    """

    pipeline: Pipeline
    key: tuple[str, ...]
    inputs: tuple[Input, ...]
    filling: DataFrame
    moving: DataFrame
    ground: Ground
    watermarks: tuple[Watermark, ...]
    is_listed: bool
    source_names: Mapping[str, str] = field(default_factory=dict)
    repaired: RepairedWindows = field(default_factory=RepairedWindows)

    @property
    def names_sources(self) -> bool:
        """Whether the labels of partitions begin with the name of the source."""
        return bool(self.source_names) or self.pipeline.is_united

    @property
    def may_fall_idle(self) -> bool:
        """Whether a partition may be idle at some moment."""
        return any(watermark.may_fall_idle or watermark.is_custom for watermark in self.watermarks)

    def partition_of(self, text: str) -> str:
        """Return the label of a partition, with the name of the source in the pipeline file before it."""
        source, bar, label = text.partition("|")
        if source not in self.source_names:
            return text
        return _joined(self.source_names[source], label if bar else "")

    def own_partition(self, of: Input, label: str) -> str:
        """Return the label of the partition of a row, as `partition_of` returns it."""
        has_sources = any(self.source_names.values()) and of.name is not None
        return _joined(str(of.name), label) if has_sources else label

    def values(self, row: Row) -> dict[str, Any]:
        """Return the columns of the source of a collected row of `filling`."""
        side: int = row[SIDE]
        return self.inputs[side].values(row[ROW[side]])

    def input_of(self, row: Row) -> str | None:
        """Return the name of the input of a collected row of `filling`."""
        side: int = row[SIDE]
        return self.inputs[side].name


def of_source(
    events: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
    repaired: RepairedWindows = _NOT_REPAIRED,
) -> Stream:
    """Return the stream of `events`, which have the source's columns. `until_us` is how far the arrival clock went."""
    store = MemoryStore()
    rows = SourceRows(events, pipeline, store)
    names = source_columns(rows.prepared)

    def placed(of: DataFrame) -> DataFrame:
        working = {key_column(i): key for i, key in enumerate(source_keys.key_columns(pipeline))}
        return of.withColumns({**working, c.POSITION: arrival_order.position(of, pipeline)})

    filling = placed(rows.filling).withColumns({SIDE: F.lit(LEFT), ROW[LEFT]: F.struct(*map(quoted, names))})
    return Stream(
        pipeline,
        pipeline.windows.key,
        (Input(None, placed(rows.placed).withColumn(c.REASON, left_out.reason(pipeline)), _schema(rows.prepared)),),
        filling,
        rows.moving.withColumn(c.POSITION, arrival_order.position(rows.moving, pipeline)),
        Ground(rows, pipeline, store, until_us=until_us),
        tuple(united.watermark for united in pipeline.sources) or (pipeline.watermark,),
        timeline.defines_watermark(pipeline),
        repaired=repaired,
    )


def of_window_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    windows: Windows,
    names: Sequence[str],
    *,
    until_us: int | None = None,
) -> Stream:
    """Return the stream of both inputs, which have `names`; `right` is None if one source is split."""
    sides = inputs(left, right, joining, windows, united=True)
    keyed = replace(windows, key=joining.left.key)
    return _of_inputs(sides, joining, keyed, names, UnitedGround, until_us)


def of_interval_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    reach: JoinBounds,
    names: Sequence[str],
    *,
    until_us: int | None = None,
) -> Stream:
    """Return the stream of both inputs, likewise."""
    # The join has no windows; the census needs a grid.
    grid = Windows(size_ms=max(reach.last_ms - reach.first_ms + 1, 1))
    sides = inputs(left, right, joining, grid, united=True)
    return _of_inputs(sides, joining, grid, names, _TwoInputGround, until_us)


def of_as_of_join(
    left: DataFrame,
    right: DataFrame | None,
    joining: JoiningPipeline,
    names: Sequence[str],
    *,
    until_us: int | None = None,
) -> Stream:
    """Return the stream of both inputs, likewise."""
    # The join has no windows; the census needs a grid.
    grid = Windows(size_ms=_GRID_MS)
    sides = inputs(left, right, joining, grid, united=True)
    return _of_inputs(sides, joining, grid, names, _TwoInputGround, until_us)


class _TwoInputGround(UnitedGround):
    """The ground of a join without windows, which reads its inputs without the valve of a union."""

    def _advances(self) -> DataFrame:
        return join_watermark.advances(self._inputs, self.moving, both_inputs, until_us=self.until_us)


def _of_inputs(
    sides: Inputs,
    joining: JoiningPipeline,
    windows: Windows,
    names: Sequence[str],
    ground: type[UnitedGround],
    until_us: int | None,
) -> Stream:
    together = replace(sides.together, windows=windows)
    alone = joining.inputs if joining.right_when is None else joining.inputs[:1]
    return Stream(
        together,
        joining.left.key,
        tuple(_input(sides, side, name) for side, name in zip((LEFT, RIGHT), names, strict=True)),
        sides.rows.where(fills_windows()),
        sides.rows,
        ground(sides, PlacedRows(sides.rows, together), together, MemoryStore(), until_us),
        tuple(joined_input.watermark for joined_input in alone),
        is_listed=True,
        source_names=dict(zip(_ENGINE_NAMES, names if len(alone) > 1 else [""], strict=False)),
    )


def _input(sides: Inputs, side: int, name: str) -> Input:
    prepared, pipeline = sides.prepared[side], sides.pipelines[side]
    names = source_columns(prepared)
    of_side = sides.rows.where(is_side(side)).drop(SIDE, c.SOURCE)
    working = [column for column in of_side.columns if column not in ROW]
    without_place = prepared.where(~moves_watermark(pipeline)).withColumn(c.REASON, left_out.reason(pipeline))
    lacking = {
        field.name: F.lit(None).cast(field.dataType)
        for field in of_side.select(*working).schema
        if field.name not in without_place.columns
    }
    columns = [*map(quoted, names), *working]
    rows = of_side.select(f"{ROW[side]}.*", *working).select(columns)
    return Input(name, rows.union(without_place.withColumns(lacking).select(columns)), _schema(prepared))


def _schema(prepared: DataFrame) -> T.StructType:
    return T.StructType([prepared.schema[name] for name in source_columns(prepared)])
