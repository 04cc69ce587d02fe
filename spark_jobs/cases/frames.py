"""Rows as dicts to frames of Spark and back, without a Python worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession


def frame_of(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> DataFrame:
    """Return rows as a frame; no rows need a `schema`."""
    return spark.createDataFrame(pa.Table.from_pylist([dict(row) for row in rows], schema))


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Return all rows of a frame whose session is in UTC; timestamps are aware, in UTC."""
    return [{name: aware(value) for name, value in row.asDict().items()} for row in frame.collect()]


def aware(value: Any) -> Any:
    """Return a collected value whose naive timestamps get the time zone UTC."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, Row):
        return {name: aware(part) for name, part in value.asDict().items()}
    if isinstance(value, list):
        return [aware(part) for part in value]
    return value
