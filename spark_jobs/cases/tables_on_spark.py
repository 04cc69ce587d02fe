"""Spark replays a case with tables: its rows become frames, and the published tables become rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.cases.case_file import SOURCE, TABLES, Case
from spark_jobs.cases.cells import Row
from spark_jobs.cases.frames import frame_of, rows_of
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.model import Join
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS, PAIRS
from spark_jobs.replay import replay
from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join
from spark_jobs.replay.joins.interval_join import IntervalJoined, interval_join
from spark_jobs.replay.joins.window_join import WindowJoined, window_join


def tables_on_spark(spark: SparkSession, case: Case, pipeline: Pipeline) -> Mapping[str, list[Row]]:
    """Return the rows of the tables that a case expects, as far as the pipeline has them."""
    if pipeline.join is not None:
        return _joined_tables(spark, case, pipeline, pipeline.join)
    result = replay(_frame(spark, case.rows), pipeline, until=case.until)
    names = [name for name in TABLES if name in case.tables and getattr(result, name, None) is not None]
    return {name: rows_of(getattr(result, name)) for name in names}


def _joined_tables(spark: SparkSession, case: Case, pipeline: Pipeline, join: Join) -> Mapping[str, list[Row]]:
    joined = _joined(spark, case, pipeline, join)
    sides = {"left": join.names[0], "right": join.names[1]}
    frames: Mapping[str, Sequence[DataFrame]] = {
        LATE_EVENTS.name: [] if pipeline.windows.drops_late else [joined.late_left, joined.late_right],
        INVALID_EVENTS.name: [joined.invalid_left, joined.invalid_right],
    }
    tables = {PAIRS.name: _pairs(joined.pairs, sides)} if PAIRS.name in case.tables else {}
    return tables | {
        name: _of_both(dict(zip(join.names, of_table, strict=False)))
        for name, of_table in frames.items()
        if name in case.tables
    }


def _joined(
    spark: SparkSession, case: Case, pipeline: Pipeline, join: Join
) -> IntervalJoined | AsOfJoined | WindowJoined:
    inputs = joining(pipeline)
    if join.second_when is not None:
        left, right = _frame(spark, case.rows), None
    else:
        left, right = (_frame(spark, _of_source(case, united.name)) for united in pipeline.sources)
    if join.as_of is not None:
        return as_of_join(left, right, inputs, join.as_of, until=case.until)
    if join.by_interval:
        return interval_join(left, right, inputs, bounds(pipeline))
    return window_join(left, right, inputs, pipeline.windows, until=case.until)


def _of_source(case: Case, name: str) -> list[Row]:
    """Return the rows of a source. Raises ValueError if Spark cannot know the types of its columns."""
    rows = [{key: value for key, value in row.items() if key != SOURCE} for row in case.rows if row[SOURCE] == name]
    if not rows:
        raise ValueError(f"rows.{name}: found none, and Spark needs the types of the columns")
    return rows


def _pairs(pairs: DataFrame, sides: Mapping[str, str]) -> list[Row]:
    fields = {side: pairs.schema[side].dataType.fieldNames() for side in sides}  # type: ignore[attr-defined]  # structs

    def columns(name: str, value: Any) -> Row:
        if name not in sides:
            return {name: value}
        return {f"{sides[name]}.{part}": None if value is None else value[part] for part in fields[name]}

    return [
        {column: part for name, value in row.items() for column, part in columns(name, value).items()}
        for row in rows_of(pairs)
    ]


def _of_both(frames: Mapping[str, DataFrame]) -> list[Row]:
    """Return the rows of both inputs with the name of the input, and null in columns of the other."""
    names = dict.fromkeys(column for frame in frames.values() for column in frame.columns)
    empty: Row = dict.fromkeys(names)
    return [{SOURCE: name, **empty, **row} for name, frame in frames.items() for row in rows_of(frame)]


def _frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return frame_of(spark, rows, _schema(rows))


def _schema(rows: Sequence[Row]) -> pa.Schema:
    """Return the types of the columns; a column without a value is text."""
    schema = pa.Table.from_pylist([dict(row) for row in rows]).schema
    return pa.schema([f if not pa.types.is_null(f.type) else pa.field(f.name, pa.string()) for f in schema])
