"""The Spark engine as the reference's stand-in: dict rows in, rows of the published tables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.cases.frames import aware, frame_of, rows_of
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay import Replay, replay

__all__ = [
    "EVENTS",
    "TABLES",
    "Collected",
    "assert_same_tables",
    "aware",
    "frame_of",
    "in_order",
    "rows_of",
    "spark_replay",
]

#: What a replay gives.
TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")

#: The columns of a recorded scenario's rows, and of streams drawn like them.
EVENTS = pa.schema(
    [
        ("index", pa.int64()),
        ("partition", pa.string()),
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("arrival_us", pa.int64()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Collected:
    """A replay's tables as dicts with aware timestamps."""

    lazy: Replay

    @cached_property
    def panes(self) -> list[dict[str, Any]]:
        return rows_of(self.lazy.panes)

    @cached_property
    def window_results(self) -> list[dict[str, Any]]:
        return rows_of(self.lazy.window_results)

    @cached_property
    def late_events(self) -> list[dict[str, Any]]:
        return rows_of(self.lazy.late_events)

    @cached_property
    def invalid_events(self) -> list[dict[str, Any]]:
        return rows_of(self.lazy.invalid_events)

    @cached_property
    def watermarks(self) -> list[dict[str, Any]]:
        return rows_of(self.lazy.watermarks)


def spark_replay(
    spark: SparkSession,
    rows: Sequence[Mapping[str, Any]],
    pipeline: Pipeline,
    *,
    until: datetime | None = None,
    schema: pa.Schema | None = None,
) -> Collected:
    """Replay dict rows on Spark; `schema` is needed where there are none."""
    return Collected(replay(frame_of(spark, rows, schema), pipeline, until=until))


def assert_same_tables(actual: Any, expected: Any, tables: Sequence[str] = TABLES) -> None:
    """Two replays give the same rows, in whatever order."""
    for table in tables:
        assert in_order(getattr(actual, table)) == in_order(getattr(expected, table)), table


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Rows as lists of their columns by name, in one order whatever order they came in. NaN equals NaN."""
    alike = ({name: "NaN" if value != value else value for name, value in row.items()} for row in rows)  # noqa: PLR0124
    return sorted((sorted(row.items(), key=lambda item: item[0]) for row in alike), key=str)
