"""Rows of one moment are ordered by their other columns as the reference orders them, also by structs and maps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Pipeline,
    Source,
    TimeField,
    Trigger,
    TriggerKind,
    Windows,
)
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support.engine import in_order, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

AT = datetime(2024, 5, 1, 12, tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "struct<x: bigint, y: double>": [
        {"x": 10, "y": 0.0},
        {"x": 9, "y": 1.0},
        None,
        {"x": 9, "y": -0.0},
        {"x": None, "y": 2.0},
    ],
    "map<string, bigint>": [{"a": 10}, {"a": 9}, {}, None, {"a": 9, "b": None}, {"a": None}],
    "array<map<string, bigint>>": [[{"a": 10}], [{"a": 9}], [], None, [{"a": 9}, {}]],
    "struct<m: map<string, bigint>>": [{"m": {"a": 10}}, {"m": {"a": 9}}, None, {"m": None}],
}
QUICK = ("struct<x: bigint, y: double>",)


@pytest.mark.parametrize("kind", [sampled(kind, quick=kind in QUICK, id=kind) for kind in VALUES])
def test_rows_of_one_moment_are_in_the_order_of_the_reference(session: SparkSession, kind: str) -> None:
    windows = Windows(
        size_ms=60_000,
        trigger=Trigger(TriggerKind.COUNT, n=1),
        accumulation=Accumulation.DISCARDING,
        aggregates=(Aggregate("total", "sum(id)"),),
    )
    pipeline = Pipeline(name="ties", source=Source("any", TimeField("at"), TimeField("at")), windows=windows)
    rows = [{"at": AT, "before_id": value, "id": 2**n} for n, value in enumerate(VALUES[kind])]
    frame = session.createDataFrame(rows, f"at timestamp, before_id {kind}, id bigint")
    assert in_order(rows_of(replay(frame, pipeline).panes)) == in_order(reference.replay(rows, pipeline).panes)
    assert len(rows) == len(reference.replay(rows, pipeline).panes)
