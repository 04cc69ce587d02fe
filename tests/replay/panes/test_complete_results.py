"""Complete results on Spark: what the reference gives, for windows and triggers of every kind, however rows arrive.

And one law that needs no reference: under a bound longer than the history, the faithful result is the complete one.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    LatePanes,
    Mode,
    Pipeline,
    SourcePartition,
    Strategy,
    Trigger,
    TriggerKind,
    Watermark,
    Windows,
)
from spark_jobs.replay import replay
from spark_jobs.replay.panes import complete_results
from spark_jobs.replay.sessions.complete_sessions import by_start
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import frame_of, in_order, rows_of
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows, until_of

pytestmark = pytest.mark.spark

EVENTS = pa.schema([*SCHEMA, pa.field("key", pa.string())])
GRIDS = {
    "tumbling": Windows(size_ms=10, offset_ms=1),
    "overlapping": Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4, offset_ms=1),
    "with gaps": Windows(kind=WindowKind.SLIDING, size_ms=3, slide_ms=5),
    "session": Windows(kind=WindowKind.SESSION, gap_ms=4),
}
FIRINGS: dict[str, dict[str, Any]] = {
    "accumulating": {},
    "discarding": {"accumulation": Accumulation.DISCARDING},
    "retracting": {"accumulation": Accumulation.RETRACTING},
    "gathered": {"late_panes": LatePanes.PER_EPOCH},
    "by count": {"trigger": Trigger(TriggerKind.COUNT, n=3)},
    "continuous": {
        "trigger": Trigger(TriggerKind.CONTINUOUS, interval_ms=4),
        "accumulation": Accumulation.DISCARDING,
    },
}
CONTINUED = (Aggregate("rows", "count(*)"), Aggregate("total", "sum(id)"), Aggregate("mean", "avg(id)"))
OTHERS = (Aggregate("keys", "count(distinct mark)"), Aggregate("most", "max(id)"))
# Aggregates that read the firing: a complete result fires at the end of the input.
ASKING = (Aggregate("reached", "max(watermark)"), Aggregate("ends", "max(window_end)"), Aggregate("rows", "count(*)"))
QUICK = {("session", "discarding", 0)}
CASES = [
    sampled(grid, way, seed, quick=(grid, way, seed) in QUICK)
    for grid in GRIDS
    for way in FIRINGS
    for seed in range(6)
    if (grid, way) != ("session", "gathered")
]


def drawn(grid: str, way: str, seed: int) -> tuple[list[dict[str, Any]], Pipeline, Any]:
    draw = random.Random(f"{grid}-{way}-{seed}")
    rows: list[dict[str, Any]] = []
    while len(rows) < 30:
        rows = [{**row, "key": draw.choice(["x", None])} for row in drawn_rows(draw)]
    strategy = draw.choice([Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED])
    pipeline = drawn_pipeline(draw, strategy, draw.choice(list(EmitKind)), idle=draw.choice([True, False]))
    aggregates = draw.choice(
        [CONTINUED, OTHERS, ASKING] if way in {"accumulating", "retracting"} else [CONTINUED, OTHERS]
    )
    windows = replace(
        GRIDS[grid],
        key=draw.choice([(), ("key",)]),
        allowed_lateness_ms=draw.choice([0, 0, 7]),
        aggregates=aggregates,
        **FIRINGS[way],
    )
    complete = replace(pipeline.replay, mode=Mode.COMPLETE)
    return rows, replace(pipeline, windows=windows, replay=complete), until_of(draw, rows)


@pytest.mark.parametrize(("grid", "way", "seed"), CASES)
def test_complete_results_are_those_of_the_reference(session: SparkSession, grid: str, way: str, seed: int) -> None:
    rows, pipeline, until = drawn(grid, way, seed)
    expected = reference.replay(rows, pipeline, until=until)
    results = replay(frame_of(session, rows, EVENTS), pipeline, until=until).complete_results
    assert in_order(rows_of(results)) == in_order(expected.complete_results)


@pytest.mark.parametrize(("ahead", "sessions"), [(18, 0), (19, 1)])
def test_session_is_complete_once_the_watermark_reaches_its_last_millisecond(
    session: SparkSession, ahead: int, sessions: int
) -> None:
    """The session of `a` is [5, 19); the row of `b` brings the watermark 17, or 18."""
    _, pipeline, _ = drawn("session", "accumulating", 0)
    rows = [
        {"id": i, "partition": "a", "arrival_us": 10**9 + 1000 * i, "ts": ts, "key": key}
        for i, (key, ts) in enumerate((("a", 5), ("b", ahead)))
    ]
    pipeline = replace(
        pipeline,
        source=replace(pipeline.source, source_partition=SourcePartition(), where=None),
        watermark=Watermark(out_of_orderness_ms=0, emit=Emit(EmitKind.PER_EVENT)),
        windows=Windows(kind=WindowKind.SESSION, gap_ms=14, key=("key",), aggregates=CONTINUED),
        replay=replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN),
    )
    full_rows = [{**dict.fromkeys(EVENTS.names), **row} for row in rows]
    results = rows_of(replay(frame_of(session, full_rows, EVENTS), pipeline).complete_results)
    assert len(results) == sessions
    assert in_order(results) == in_order(reference.replay(full_rows, pipeline).complete_results)


def test_sessions_with_one_start_are_ordered_by_end(session: SparkSession) -> None:
    template = "struct(timestamp_seconds({}) as window_start, timestamp_seconds({}) as window_end)"
    results = ", ".join(template.format(*bounds) for bounds in ((7, 8), (1, 9), (1, 4), (7, 7)))
    ordered = session.sql(f"SELECT array({results}) AS results").select(by_start(F.col("results")).alias("results"))
    bounds = ordered.select(F.expr("transform(results, r -> unix_seconds(r.window_end))")).collect()[0][0]
    assert bounds == [4, 9, 7, 8]


@pytest.mark.soak
def test_few_and_many_windows_that_dropped_rows_give_the_same(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, pipeline, until = drawn("overlapping", "accumulating", 1)
    pipeline = replace(pipeline, windows=replace(pipeline.windows, aggregates=CONTINUED, allowed_lateness_ms=0))
    expected = reference.replay(rows, pipeline, until=until).complete_results
    assert {row["is_shown"] for row in expected} == {True, False}
    for few in (-1, 10):
        monkeypatch.setattr(complete_results, "_FEW", few)
        results = replay(frame_of(session, rows, EVENTS), pipeline, until=until).complete_results
        assert in_order(rows_of(results)) == in_order(expected), few


@pytest.mark.parametrize(
    ("grid", "way"),
    [
        sampled(grid, way, quick=False, judges=(grid, way) == ("session", "discarding"))
        for grid in GRIDS
        for way in ("accumulating", "discarding", "retracting")
    ],
)
def test_no_row_is_missing_under_a_bound_longer_than_the_history(session: SparkSession, grid: str, way: str) -> None:
    rows, pipeline, until = drawn(grid, way, 7)
    waiting = replace(
        pipeline.watermark, strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=10**7, idle_timeout_ms=None
    )
    windows = replace(pipeline.windows, aggregates=CONTINUED)
    outcome = replay(
        frame_of(session, rows, EVENTS), replace(pipeline, watermark=waiting, windows=windows), until=until
    )
    names = [*windows.key, "window_start", "window_end", *(a.name for a in CONTINUED), "row_count"]
    complete, faithful = outcome.complete_results, outcome.window_results
    assert complete.where("missed_rows > 0 or not is_shown").isEmpty()
    assert in_order(rows_of(complete.select(names))) == in_order(rows_of(faithful.select(names)))
    assert complete.agg(F.count("*")).collect() == faithful.agg(F.count("*")).collect()
