"""Streams for the tests of the reference: rows that happened and arrived so many seconds after noon."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.pipeline.model import Pipeline, SourcePartition

Change = Callable[..., Pipeline]

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def row(arrival: float | None, happened: float | None, **columns: Any) -> dict[str, Any]:
    """A row that happened and arrived so many seconds after noon; `id` is its arrival."""
    times = {"happened": happened, "arrived": arrival}
    return {"id": arrival, **{name: None if s is None else at(s) for name, s in times.items()}, **columns}


def partitioned(*columns: str, declared: tuple[tuple[Any, ...], ...] = ()) -> dict[str, Any]:
    """The setting of a source that has partitions."""
    return {"source_partition": SourcePartition(columns, declared)}
