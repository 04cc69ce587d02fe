"""Rows delivered twice: identical in all columns, yet one behind the other, judged by what the first has emitted."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Pipeline,
    Placement,
    Strategy,
    Trigger,
    TriggerKind,
    Windows,
)
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, spark_replay
from tests.support.late_streams import late_rows
from tests.support.streams import SCHEMA, drawn_pipeline, marked, numbered_rows

pytestmark = pytest.mark.spark

GRIDS = (
    Windows(size_ms=10),
    Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4),
    Windows(kind=WindowKind.SESSION, gap_ms=4),
)
WAYS = [
    (Strategy.PUNCTUATED, EmitKind.EVERY),
    (Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.EVERY_N),
    (Strategy.TIME_LAG, EmitKind.PER_EVENT),
]
SEEDS = [
    sampled(
        *(way, grid, seed),
        quick=seed == 0 and (w, g) == (1, 0),
        judges=seed == 0 and not (w and g),
        id=f"{way[0]}-{grid.kind}-{seed}",
    )
    for seed in range(12)
    for w, way in enumerate(WAYS)
    for g, grid in enumerate(GRIDS)
]


def drawn(way: tuple[Strategy, EmitKind], grid: Windows, seed: int) -> tuple[list[dict[str, Any]], Pipeline]:
    draw = random.Random(f"{way}-{grid.kind}-{seed}")
    pipeline = drawn_pipeline(draw, way[0], way[1], idle=draw.random() < 0.3)
    # A marker may be ahead of the end of its window: then its copy is late.
    rows = [{**row, "value": row["ts"] + draw.choice([-3, 0, 9, 30])} for row in late_rows(draw)]
    again = [row for row in rows for _ in range(draw.choice([1, 1, 2, 3]))]
    aggregates = (Aggregate("rows", "count(*)"), Aggregate("total", "sum(id)"))
    windows = replace(grid, allowed_lateness_ms=draw.choice([0, 4, 50]), aggregates=aggregates)
    return again, replace(pipeline, windows=windows)


@pytest.mark.parametrize(("way", "grid", "seed"), SEEDS)
def test_spark_judges_each_copy_as_the_reference_does(
    session: SparkSession, way: tuple[Strategy, EmitKind], grid: Windows, seed: int
) -> None:
    rows, pipeline = drawn(way, grid, seed)
    expected = reference.replay(rows, pipeline)
    outcome = spark_replay(session, rows[::-1], pipeline, schema=SCHEMA)
    assert_same_tables(outcome, expected)


@pytest.mark.parametrize(("clock_ms", "late"), [(93, 0), (94, 1)])
def test_the_copy_is_late_once_the_lagging_clock_reaches_the_end_of_its_window(
    session: SparkSession, clock_ms: int, late: int
) -> None:
    """The row's time is the last millisecond of its window. Real Flink 2.3 returned the same late rows."""
    lagging = marked(None, {"size_ms": 5})
    watermark = replace(lagging.watermark, strategy=Strategy.TIME_LAG, lag_ms=10, emit=Emit(EmitKind.PER_EVENT))
    pipeline = replace(lagging, watermark=watermark)
    rows = numbered_rows([("a", clock_ms, 84, True)]) * 2
    expected = reference.replay(rows, pipeline)
    assert len(expected.late_events) == late
    assert_same_tables(spark_replay(session, rows, pipeline, schema=SCHEMA), expected)


@pytest.mark.parametrize(
    "trigger",
    [Trigger(TriggerKind.CONTINUOUS, interval_ms=2), Trigger(TriggerKind.COUNT, n=3)],
    ids=["continuous", "count"],
)
def test_a_session_that_does_not_wait_reads_the_copy_after_what_the_first_has_emitted(
    session: SparkSession, trigger: Trigger
) -> None:
    """Real Flink fires between the copies: the first moves the watermark to the next firing of the session."""
    drawn = marked(None, {"kind": WindowKind.SESSION, "gap_ms": 10, "trigger": trigger})
    emitting = replace(
        drawn.watermark,
        strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS,
        out_of_orderness_ms=0,
        placement=Placement.SOURCE,
        emit=Emit(EmitKind.PER_EVENT),
    )
    clocks = [1, 3, 5, 60, 61, 62, 90]
    rows = numbered_rows([("a", clock, clock, False) for clock in clocks])
    again = [row for row in rows for _ in range(3 if row["ts"] == 61 else 2 if row["ts"] in (3, 90) else 1)]
    pipeline = replace(drawn, watermark=emitting)
    expected = reference.replay(again, pipeline)
    first = min(expected.panes, key=lambda pane: (pane["window_start"], pane["pane_index"]))
    assert (first["row_count"], first["watermark"].microsecond) == (2 if trigger.interval_ms else 3, 2000)
    assert_same_tables(spark_replay(session, again[::-1], pipeline, schema=SCHEMA), expected)
