"""Inputs of a join: the rows of both sides in one DataFrame and one arrival order.

    two sources   position = (clock, side, position in its own source), the left side first
    one source    position = the source's own; the side is a condition on the row

If the join's watermark has no closed form, the two sources are united like the sources of a pipeline (`union`). Rows
then have the column `SOURCE` and the epochs of the union.

Rows of both sides count in the order and for emissions by number of rows. Rows that move no watermark are left out:
invalid rows, and with `placement: after_where` also filtered rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, UnitedSource, Watermark, Windows
from spark_jobs.replay.rows import arrival_order, candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import moves_watermark, prepare
from spark_jobs.replay.rows.quoting import quoted

SIDE = c.PREFIX + "side"  # LEFT or RIGHT
LEFT, RIGHT = 0, 1
ROW = (
    c.PREFIX + "left",
    c.PREFIX + "right",
)  # by side: the source's columns as a struct, null in a row of the other side
_PLACE = (c.PREFIX + "left_place", c.PREFIX + "right_place")
_NAMES = ("left", "right")
_TIMES = (c.TS_MS, c.EVENT_US, c.ARRIVAL_US, c.CLOCK_US, c.PARTITION, c.VALID, c.REASON, c.KEPT, c.WINDOW_MS)


def key_columns(joining: JoiningPipeline) -> list[str]:
    """Return the names of the key columns of `Inputs.rows`, in order."""
    return [f"{c.PREFIX}key_{i}" for i in range(len(joining.left.key))]


@dataclass(frozen=True)
class SourceRows:
    """One source: the condition for its rows in `Inputs.rows`, and the pipeline that reads it alone."""

    of: Column
    pipeline: Pipeline


@dataclass(frozen=True)
class Inputs:
    """Both inputs.

    - `prepared`, by side: the source's columns and the working columns up to the window
    - `rows`: a row for each source row that moves a watermark. Columns: times, `SIDE`, `ROW` by side, the key columns,
      `POSITION` and `EPOCH`, and `SOURCE` if the sources are united
    - `together`: the pipeline that defines the epochs
    """

    prepared: tuple[DataFrame, DataFrame]
    rows: DataFrame
    sources: tuple[SourceRows, ...]
    pipelines: tuple[Pipeline, Pipeline]
    together: Pipeline

    @property
    def are_united(self) -> bool:
        """Return whether the watermark is that of united sources."""
        return bool(self.together.sources)

    @property
    def own(self) -> list[Column]:
        """Return by source the struct of the source's columns."""
        if len(self.sources) == 1:
            return [F.coalesce(*ROW)]
        return [F.col(ROW[side]) for side in (LEFT, RIGHT)]


def inputs(
    left: DataFrame, right: DataFrame | None, joining: JoiningPipeline, windows: Windows, *, united: bool = False
) -> Inputs:
    """Return both inputs in one order.

    `right` is None if one source is split. `windows` is the grid of `WINDOW_MS`. `united`: unite the sources. Raises
    TimeFieldError for a time column of the wrong type, ValueError if there is an input too many or too few.
    """
    if (right is None) is (joining.right_when is None):
        raise ValueError(
            "inputs: one without right_when, or two with it. Pass as many inputs as the pipeline has sources"
        )
    pipelines = pipelines_of(joining, windows)
    together = _together(pipelines, joining) if united else pipelines[LEFT]
    if right is None:
        return _split(left, joining, pipelines, together)
    prepared = (prepare(left, pipelines[LEFT]), prepare(right, pipelines[RIGHT]))
    alone = [_alone(prepared[side], side, joining, pipelines[side]) for side in (LEFT, RIGHT)]
    sides = alone[LEFT].unionByName(alone[RIGHT], allowMissingColumns=True)
    place = F.struct(F.col(c.CLOCK_US).alias("clock_us"), SIDE, *_PLACE)
    placed = sides.withColumn(c.POSITION, place).drop(*_PLACE)
    rows = _with_epoch(placed, F.col(SIDE), together, pipelines)
    sources = tuple(SourceRows(F.col(SIDE) == side, pipelines[side]) for side in (LEFT, RIGHT))
    return Inputs(prepared, rows, sources, pipelines, together)


def is_side(side: int) -> Column:
    """Return whether a row is of a side."""
    return F.col(SIDE) == F.lit(side)


def pipelines_of(joining: JoiningPipeline, windows: Windows) -> tuple[Pipeline, Pipeline]:
    """Return the pipelines that read one input alone, by side."""
    left, right = candidates.side_by_side([joining.of(joined, windows) for joined in joining.inputs])
    return left, right


def _together(pipelines: tuple[Pipeline, Pipeline], joining: JoiningPipeline) -> Pipeline:
    """Return the pipeline with the sources of the inputs."""
    alone = pipelines if joining.right_when is None else pipelines[:1]
    sources = tuple(UnitedSource(name, of.source, of.watermark) for name, of in zip(_NAMES, alone, strict=False))
    return replace(pipelines[LEFT], watermark=Watermark(emit=joining.emit), sources=sources)


def _with_epoch(
    placed: DataFrame, source: Column, together: Pipeline, pipelines: tuple[Pipeline, Pipeline]
) -> DataFrame:
    rows = placed.withColumn(c.SOURCE, source) if together.sources else placed
    # Among ticks all rows are numbered, identical rows too.
    alone = pipelines if axis(together) is Axis.ROWS else ()
    lags = [(side, arrival_order.outrun_by_lag(pipeline)) for side, pipeline in enumerate(alone)]
    outrun = [is_side(side) & lag for side, lag in lags if lag is not None]
    any_outrun = reduce(Column.__or__, outrun) if outrun else None
    return arrival_order.with_epoch(rows, together, placed=True, outrun=any_outrun)


def _times(pipeline: Pipeline) -> list[str]:
    return [*_TIMES, c.CANDIDATE_MS] if candidates.carries(pipeline) else [*_TIMES]


def _alone(prepared: DataFrame, side: int, joining: JoiningPipeline, pipeline: Pipeline) -> DataFrame:
    key = joining.inputs[side].key
    return prepared.where(moves_watermark(pipeline)).select(
        *_times(pipeline),
        F.lit(side).alias(SIDE),
        _row(prepared).alias(ROW[side]),
        arrival_order.position(prepared, pipeline).alias(_PLACE[side]),
        *(F.col(quoted(name)).alias(to) for name, to in zip(key, key_columns(joining), strict=True)),
    )


def _split(
    events: DataFrame, joining: JoiningPipeline, pipelines: tuple[Pipeline, Pipeline], together: Pipeline
) -> Inputs:
    pipeline = pipelines[LEFT]
    is_right = F.coalesce(F.expr(str(joining.right_when)), F.lit(False))
    prepared = prepare(events, pipeline).withColumn(SIDE, F.when(is_right, RIGHT).otherwise(LEFT))
    keys = zip(joining.left.key, joining.right.key, key_columns(joining), strict=True)
    sides = prepared.where(moves_watermark(pipeline)).select(
        *_times(pipeline),
        SIDE,
        *(F.when(is_side(side), _row(prepared)).alias(ROW[side]) for side in (LEFT, RIGHT)),
        arrival_order.position(prepared, pipeline).alias(c.POSITION),
        *(F.when(is_side(LEFT), F.col(quoted(a))).otherwise(F.col(quoted(b))).alias(to) for a, b, to in keys),
    )
    rows = _with_epoch(sides, F.lit(0), together, pipelines)
    halves = (prepared.where(is_side(LEFT)), prepared.where(is_side(RIGHT)))
    return Inputs(halves, rows, (SourceRows(F.lit(True), pipeline),), pipelines, together)


def _row(prepared: DataFrame) -> Column:
    names = [field.name for field in prepared.schema if not field.name.startswith(c.PREFIX)]
    return F.struct(*(F.col(quoted(name)) for name in names))
