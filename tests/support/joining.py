"""Spark's joins as the reference's stand-in: dict rows of two inputs in, tuples out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.replay.joins.interval_join import IntervalJoined, interval_join
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.rows.instants import micros
from tests.support.engine import EVENTS, frame_of, rows_of
from tests.vectors.joins import PairTuple
from tests.vectors.outcomes import millis

SCHEMA = EVENTS
for name, kind in (("side", pa.string()), ("marker", pa.bool_()), ("mark", pa.bool_())):
    SCHEMA = SCHEMA.append(pa.field(name, kind))


@dataclass(frozen=True)
class Collected:
    """A join's tables; `arrivals` gives the index of the row that arrived at a clock."""

    lazy: IntervalJoined
    arrivals: Mapping[int, int]

    @cached_property
    def pairs(self) -> list[PairTuple]:
        return sorted(
            PairTuple(
                pair["left"]["index"],
                pair["right"]["index"],
                pair["left"]["ts"],
                pair["right"]["ts"],
                millis(pair["event_time"]),
                self.arrivals[micros(pair["fired_at"])],
            )
            for pair in rows_of(self.lazy.pairs)
        )

    @cached_property
    def late(self) -> dict[Side, list[tuple[int, int, int]]]:
        """By side: the index of each late row, the watermark it missed and by how much."""
        tables = {Side.LEFT: self.lazy.late_left, Side.RIGHT: self.lazy.late_right}
        return {
            side: sorted((row["index"], millis(row["watermark"]), row["late_by_ms"]) for row in rows_of(table))
            for side, table in tables.items()
        }


def spark_join(
    spark: SparkSession, rows: Sequence[Mapping[str, Any]], joining: JoiningPipeline, bounds: JoinBounds
) -> Collected:
    """Join rows as `tests.vectors.spark_joins.rows_of` gives them."""
    return Collected(
        interval_join(*inputs_of(spark, rows, joining), joining, bounds),
        {row["arrival_us"]: row["index"] for row in rows},
    )


def inputs_of(
    spark: SparkSession, rows: Sequence[Mapping[str, Any]], joining: JoiningPipeline
) -> tuple[DataFrame, DataFrame | None]:
    """The rows as one source, or as two."""
    if joining.right_when is not None:
        return frame_of(spark, rows, SCHEMA), None
    left, right = ([row for row in rows if row["side"] == side.value] for side in (Side.LEFT, Side.RIGHT))
    return frame_of(spark, left, SCHEMA), frame_of(spark, right, SCHEMA)
