"""Spark as the engine of the examples: panes of a pipeline, or pairs of a join, and late events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from docs.examples.land import read
from docs.generate.examples.answers import pair_row
from docs.generate.examples.folder import Example, TableRow
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join
from spark_jobs.replay.joins.interval_join import IntervalJoined, interval_join
from spark_jobs.replay.joins.window_join import WindowJoined, window_join
from tests.support.engine import rows_of, spark_replay


def of_spark(session: SparkSession, example: Example) -> Mapping[str, list[TableRow]]:
    """Compute the tables of an example, each in any order."""
    if example.pipeline.join is None:
        replayed = spark_replay(session, example.rows, example.pipeline)
        return {"panes": replayed.panes, "late_events": replayed.late_events}
    joined = _joined(session, example)
    pairs = [{**row, **pair_row(example, row["left"], row["right"])} for row in rows_of(joined.pairs)]
    sides = zip(example.inputs, (joined.late_left, joined.late_right), strict=True)
    return {"pairs": pairs, "late_events": [row for name, late in sides for row in _late(example, name, late)]}


def _joined(session: SparkSession, example: Example) -> IntervalJoined | AsOfJoined | WindowJoined:
    inputs = joining(example.pipeline)
    frames = [session.createDataFrame(read(file)) for file in example.files.values()]
    left, right = (*frames, None)[:2]
    assert example.pipeline.join is not None
    assert left is not None
    if example.pipeline.join.as_of is not None:
        return as_of_join(left, right, inputs, example.pipeline.join.as_of)
    if example.pipeline.join.by_interval:
        return interval_join(left, right, inputs, bounds(example.pipeline))
    return window_join(left, right, inputs, example.pipeline.windows)


def _late(example: Example, name: str, late: DataFrame) -> list[TableRow]:
    empty: dict[str, Any] = dict.fromkeys(example.columns["late_events"])
    return [{**empty, **row, "source": name} for row in rows_of(late)]
