"""Custom watermarks: Spark, which runs partitions apart, matches the reference, which runs all of them together.

The streams are from sources that fall silent. Generators emit at rows and at ticks, count rows and ticks, or are idle.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import EmitKind, Order, Pipeline, ReplayOrder, Strategy, Windows
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.watermark.custom import GeneratorError
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, frame_of, spark_replay
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows, until_of

pytestmark = pytest.mark.spark

WINDOWS = ("tumbling", "sliding", "session")
WAYS = [(kind, windows) for kind in EmitKind for windows in WINDOWS]
SEEDS = [
    sampled(*(way, seed), quick=seed == i == 0, judges=seed == 0 and i % 3 == 0, id=f"{way[0]}-{way[1]}-{seed}")
    for seed in range(12)
    for i, way in enumerate(WAYS)
]


def drawn(way: tuple[EmitKind, str], seed: int) -> tuple[list[dict[str, Any]], Pipeline, datetime | None]:
    """Rows, a pipeline, and how far the clock goes."""
    draw = random.Random(f"custom-{way}-{seed}")
    rows = drawn_rows(draw)
    pipeline = drawn_pipeline(draw, Strategy.CUSTOM, way[0], idle=draw.random() < 0.5)
    generator = draw.choice(
        [("Bounded", {"bound_ms": draw.choice([0, 3, 10])}), ("Marked", {}), ("Moody", {"mood": 2})]
    )
    order = draw.choice([Order.ARRIVAL, Order.ARRIVAL, Order.EVENT_TIME])
    pipeline = replace(
        pipeline,
        watermark=replace(
            pipeline.watermark,
            generator=f"tests.custom_watermarks:{generator[0]}",
            arguments=generator[1],
            when=None,
            value=None,
        ),
        windows=_windows(pipeline.windows, way[1], draw),
        replay=ReplayOrder(order, pipeline.replay.end_of_input),
    )
    return rows, pipeline, until_of(draw, rows) if order is Order.ARRIVAL else None


def _windows(windows: Windows, kind: str, draw: random.Random) -> Windows:
    if kind == "session":
        return replace(windows, kind=WindowKind(kind), size_ms=0, offset_ms=0, gap_ms=draw.choice([2, 8, 30]))
    slide = draw.choice([1, 3, 7, 12]) if kind == "sliding" else 0
    period = slide or windows.size_ms
    return replace(windows, kind=WindowKind(kind), slide_ms=slide, offset_ms=draw.randrange(period))


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_spark_matches_the_reference(session: SparkSession, way: tuple[EmitKind, str], seed: int) -> None:
    rows, pipeline, until = drawn(way, seed)
    expected = reference.replay(rows, pipeline, until=until)
    outcome = spark_replay(session, rows[::-1], pipeline, until=until, schema=SCHEMA)
    assert_same_tables(outcome, expected)


def test_unknown_generator_class_is_refused_before_the_table_is_read(session: SparkSession) -> None:
    rows, pipeline, _ = drawn((EmitKind.EVERY, "tumbling"), 0)
    wrong = replace(pipeline, watermark=replace(pipeline.watermark, generator="tests.custom_watermarks:Bonded"))
    with pytest.raises(GeneratorError, match="defines Bounded, Marked, Moody"):
        replay(frame_of(session, rows, SCHEMA), wrong)
