"""The order of offsets: Spark, which gives rounds to chunks, matches the reference, which reads row by row.

Partitions are of unequal length and run apart in event time; offsets have gaps, repeat, and are missing now and then.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Alignment, EmitKind, Order, Pipeline, ReplayOrder, Strategy, TimeField, TimeUnit
from spark_jobs.replay import UnsupportedPipelineError, replay
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, frame_of, in_order, rows_of, spark_replay
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows

pytestmark = pytest.mark.spark

OFFSETS = pa.schema([*SCHEMA, ("offset", pa.int64())])
STRATEGIES = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED, Strategy.CUSTOM)
WAYS = [(strategy, kind) for strategy in STRATEGIES for kind in EmitKind]
# Each strategy, and each kind of emission, judges a broken engine; two of them are quick.
JUDGES = [*zip(STRATEGIES, [*EmitKind, EmitKind.EVERY], strict=True)]
SEEDS = [
    sampled(
        *(way, seed),
        quick=seed == 0 and way in JUDGES[1:2],
        judges=seed == 0 and way in JUDGES,
        id=f"{way[0]}-{way[1]}-{seed}",
    )
    for seed in range(12)
    for way in WAYS
]


def with_offsets(draw: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each partition numbered in the order of its rows; some offsets are left out, given twice or missing."""
    last = dict.fromkeys("abc", draw.choice([0, -70_000, 2**40]))
    ahead = {name: draw.choice([0, 0, 10, 30]) for name in "abc"}
    rows_with_offsets = []
    for row in rows:
        last[row["partition"]] += draw.choice([0, 1, 1, 1, 5, 65_536])
        ts = None if row["ts"] is None else row["ts"] + ahead[row["partition"]]
        offset = None if draw.random() < 0.03 else last[row["partition"]]
        rows_with_offsets.append({**row, "ts": ts, "offset": offset})
    return rows_with_offsets


def drawn(way: tuple[Strategy, EmitKind], seed: int) -> tuple[list[dict[str, Any]], Pipeline, datetime | None]:
    """Rows and a pipeline; the clock of rounds ends with the last."""
    draw = random.Random(f"offset-{way}-{seed}")
    rows = with_offsets(draw, max((drawn_rows(draw) for _ in range(3)), key=len))
    pipeline = drawn_pipeline(draw, *way, idle=False)
    aligned = way[0] is not Strategy.CUSTOM and draw.random() < 0.7
    idle = draw.choice([None, None, 2_500]) if not aligned else None
    alignment = Alignment(draw.choice([0, 3, 20, 100]), draw.choice([1, 7, 1_000])) if aligned else None
    arrival = draw.choice([None, TimeField("arrival_us", TimeUnit.MICROSECONDS)])
    windows = draw.choice(
        [
            pipeline.windows,
            replace(pipeline.windows, kind=WindowKind.SLIDING, slide_ms=draw.choice([2, 7]), offset_ms=0),
            replace(pipeline.windows, kind=WindowKind.SESSION, size_ms=0, offset_ms=0, gap_ms=draw.choice([2, 8])),
        ]
    )
    pipeline = replace(
        pipeline,
        source=replace(pipeline.source, offset=draw.choice(["offset", "offset * 2 + 1"]), arrival_time=arrival),
        watermark=replace(pipeline.watermark, alignment=alignment, idle_timeout_ms=idle),
        windows=windows,
        replay=ReplayOrder(
            Order.OFFSET, pipeline.replay.end_of_input, rows_per_round=draw.choice([1, 1, 1, 2, 3, 5, 1000])
        ),
    )
    return rows, pipeline, None


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_spark_matches_the_reference(session: SparkSession, way: tuple[Strategy, EmitKind], seed: int) -> None:
    rows, pipeline, until = drawn(way, seed)
    expected = reference.replay(rows, pipeline, until=until)
    outcome = spark_replay(session, rows[::-1], pipeline, until=until, schema=OFFSETS)
    assert in_order(rows_of(outcome.lazy.drift)) == in_order(expected.drift)
    assert_same_tables(outcome, expected)


def test_another_order_has_no_drift(session: SparkSession) -> None:
    rows, pipeline, _ = drawn(WAYS[0], 0)
    pipeline = replace(pipeline, replay=ReplayOrder(Order.EVENT_TIME))
    assert replay(frame_of(session, rows, OFFSETS), pipeline).drift.collect() == []


def test_alignment_by_a_class_of_the_users_is_refused(session: SparkSession) -> None:
    rows, pipeline, _ = drawn((Strategy.CUSTOM, EmitKind.EVERY), 0)
    aligned = replace(pipeline, watermark=replace(pipeline.watermark, alignment=Alignment(5)))
    with pytest.raises(UnsupportedPipelineError, match=r"watermark\.strategy 'custom': cannot align partitions"):
        replay(frame_of(session, rows, OFFSETS), aligned)
    with pytest.raises(ValueError, match=r"align partitions by watermark\.strategy custom"):
        reference.replay(rows, aligned)
