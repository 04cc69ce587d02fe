"""Sessions that are easy to get wrong, each by its name, and drawn streams: Spark matches the reference."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    Pipeline,
    ReplayOrder,
    Source,
    SourcePartition,
    TimeField,
    TimeUnit,
    Watermark,
    Windows,
)
from spark_jobs.replay import SessionReplay
from spark_jobs.replay.sessions.session_components import UNCLEAN
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import EVENTS, Collected, assert_same_tables, spark_replay

pytestmark = pytest.mark.spark


def assert_same(outcome: Collected, expected: reference.Replay) -> None:
    assert_same_tables(outcome, expected)
    assert outcome.watermarks == expected.watermarks == []


def pipeline_of(
    *, gap: int = 10, bound: int = 0, lateness: int = 0, discarding: bool = False, emit: Emit | None = None
) -> Pipeline:
    """Sessions by key over the columns of `EVENTS`."""
    return Pipeline(
        name="drawn",
        source=Source(
            table="drawn",
            event_time=TimeField("ts", unit=TimeUnit.MILLISECONDS),
            arrival_time=TimeField("arrival_us", unit=TimeUnit.MICROSECONDS),
            source_partition=SourcePartition(("partition",)),
            tie_break=("index",),
            future_guard_ms=None,
        ),
        watermark=Watermark(out_of_orderness_ms=bound, emit=emit or Emit()),
        windows=Windows(
            kind=WindowKind.SESSION,
            gap_ms=gap,
            key=("key",),
            allowed_lateness_ms=lateness,
            accumulation=Accumulation.DISCARDING if discarding else Accumulation.ACCUMULATING,
            aggregates=(Aggregate("rows", "count(*)"), Aggregate("total", "sum(value)"), Aggregate("most", "max(ts)")),
        ),
    )


def stream(*event_times: int) -> list[dict[str, Any]]:
    """Rows of one key, a millisecond apart in arrival; each moves the watermark to just before itself."""
    return [
        {"index": i, "partition": "p", "key": "k", "ts": ts, "arrival_us": 1000 * i, "value": float(i)}
        for i, ts in enumerate(event_times)
    ]


def pane_lines(outcome: Collected) -> list[str]:
    return sorted(
        f"[{p['window_start'].microsecond // 1000}, {p['window_end'].microsecond // 1000}) "
        f"#{p['pane_index']} {p['timing']}: {p['rows']}"
        for p in outcome.panes
    )


NAMED = {
    "a late row bridges two fired sessions": (
        50,
        stream(100, 120, 150, 110),
        ["[100, 110) #0 on_time: 1", "[100, 130) #0 late: 3", "[120, 130) #0 on_time: 1", "[150, 160) #0 on_time: 1"],
        ["[100, 130)", "[150, 160)"],
    ),
    "a fired session grows": (
        50,
        stream(100, 140, 105, 108),
        ["[100, 110) #0 on_time: 1", "[100, 115) #0 late: 2", "[100, 118) #0 late: 3", "[140, 150) #0 on_time: 1"],
        ["[100, 118)", "[140, 150)"],
    ),
    "without lateness a row beside a session that has gone starts another": (
        0,
        stream(100, 111, 105),
        ["[100, 110) #0 on_time: 1", "[105, 121) #0 on_time: 2"],
        ["[100, 110)", "[105, 121)"],
    ),
}


@pytest.mark.parametrize(
    ("lateness", "rows", "panes", "results"),
    [sampled(*case, quick=place == 0, judges=True, id=name) for place, (name, case) in enumerate(NAMED.items())],
)
def test_sessions_that_sorting_by_time_alone_gets_wrong(
    session: SparkSession, lateness: int, rows: list[dict[str, Any]], panes: list[str], results: list[str]
) -> None:
    pipeline = pipeline_of(lateness=lateness)
    outcome = spark_replay(session, rows, pipeline, schema=EVENTS)
    assert pane_lines(outcome) == panes
    bounds = [
        (r["window_start"].microsecond // 1000, r["window_end"].microsecond // 1000) for r in outcome.window_results
    ]
    assert sorted(f"[{start}, {end})" for start, end in bounds) == results
    assert_same(outcome, reference.replay(rows, pipeline))


def drawn_rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Rows of 25 keys, one of them null, and 3 partitions that fall behind each other; some far behind."""
    draw = random.Random(seed)
    rows = []
    for i in range(count):
        behind = draw.choice([0, 1, 3, 8]) if draw.random() < 0.9 else draw.randrange(200)
        key = draw.randrange(25)
        rows.append(
            {
                "index": i,
                "partition": draw.choice("abc"),
                "key": None if key == 0 else f"key {key}",
                "ts": i // 4 - behind,
                "arrival_us": (i // 3) * 700,
                "value": float(draw.randrange(100)),
            }
        )
    return rows


@pytest.mark.judge
@pytest.mark.soak
@settings(max_examples=3, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    gap=st.integers(1, 12),
    bound=st.integers(0, 6),
    lateness=st.sampled_from([0, 5, 60, 2**62]),
    discarding=st.booleans(),
    emit=st.sampled_from(
        [Emit(), Emit(EmitKind.EVERY, interval_ms=7, phase_ms=3), Emit(EmitKind.EVERY_N, n=11)],
    ),
    end=st.sampled_from(list(EndOfInput)),
)
def test_spark_matches_the_reference_on_drawn_streams(
    session: SparkSession, seed: int, gap: int, bound: int, lateness: int, discarding: bool, emit: Emit, end: EndOfInput
) -> None:
    rows = drawn_rows(seed, 1200)
    drawn = pipeline_of(gap=gap, bound=bound, lateness=lateness, discarding=discarding, emit=emit)
    pipeline = replace(drawn, replay=ReplayOrder(end_of_input=end))
    outcome = spark_replay(session, rows[::-1], pipeline, schema=EVENTS)
    assert_same(outcome, reference.replay(rows, pipeline))
    assert isinstance(outcome.lazy, SessionReplay)
    kinds = {row[UNCLEAN] for row in outcome.lazy.components.select(UNCLEAN).distinct().collect()}
    assert True in kinds
