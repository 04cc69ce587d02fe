"""Several sources under one watermark, on Spark and in the reference: each with its strategy and partitions.

Streams are drawn by seed, every way of emitting meets every kind of windows. What fails is kept as a case.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Emit,
    EmitKind,
    Pipeline,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    UnitedSource,
    Watermark,
    Windows,
)
from spark_jobs.pipeline.sources import together
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import END_OF_INPUT
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, spark_replay
from tests.support.streams import SCHEMA, START_MS, drawn_pipeline, until_of

pytestmark = pytest.mark.spark

UNITED = SCHEMA.append(pa.field("source", pa.string())).append(pa.field("seconds", pa.float64()))
GRIDS = (
    Windows(size_ms=10),
    Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4, offset_ms=1),
    Windows(kind=WindowKind.SESSION, gap_ms=4),
)
# Strategies that go together: all emit at ticks, or all at their rows.
AT_TICKS = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.NONE)
AT_ROWS = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED)
# The settings that closed forms do not unite: sources that may be idle, follow the clock, or have a custom generator.
HARD = tuple(Strategy)
SEEDS = [
    sampled(
        *(kind, grid, seed),
        quick=seed == 0 and k + grid == 4,
        judges=seed == 0 and (k + grid) % 4 == 0,
        id=f"{kind}-{grid}-{seed}",
    )
    for seed in range(12)
    for k, kind in enumerate(EmitKind)
    for grid in range(len(GRIDS))
]


def drawn(kind: EmitKind, grid: int, seed: int) -> tuple[list[dict[str, Any]], Pipeline]:
    draw = random.Random(f"{kind}-{grid}-{seed}")
    base = drawn_pipeline(draw, Strategy.BOUNDED_OUT_OF_ORDERNESS, kind, idle=False)
    strategies = AT_ROWS if kind is EmitKind.PER_EVENT else AT_TICKS
    weights = (8, 8, 8 if strategies is AT_ROWS else 1)
    sources = tuple(
        UnitedSource(
            name,
            replace(
                base.source,
                table=name,
                # One source has its times in seconds, in another column.
                event_time=TimeField("seconds", TimeUnit.SECONDS) if name == "app" else base.source.event_time,
                source_partition=draw.choice(
                    [SourcePartition(), SourcePartition(("partition",)), SourcePartition(("partition",), (("a",),))]
                ),
                where=draw.choice([None, "counts"]),
            ),
            Watermark(
                draw.choices(strategies, weights)[0],
                out_of_orderness_ms=draw.choice([0, 2, 10]),
                when="mark",
                value=draw.choice([None, TimeField("value", TimeUnit.MILLISECONDS)]),
            ),
        )
        for name in draw.choice([("web", "app"), ("web", "app", "box")])
    )
    windows = replace(base.windows, **{**vars(GRIDS[grid]), "aggregates": base.windows.aggregates})
    windows = replace(windows, key=draw.choice([(), ("source",)]), allowed_lateness_ms=draw.choice([0, 4, 50]))
    rows = drawn_rows(draw, [united.name for united in sources])
    return rows, replace(base, source=together(sources), sources=sources, windows=windows)


def drawn_hard(kind: EmitKind, grid: int, seed: int) -> tuple[list[dict[str, Any]], Pipeline, datetime | None]:
    """Rows with long silences, sources of any strategies, idle or not, and how far the clock goes."""
    draw = random.Random(f"hard-{kind}-{grid}-{seed}")
    rows, pipeline = drawn(kind, grid, seed)
    sources = tuple(replace(united, watermark=drawn_watermark(draw)) for united in pipeline.sources)
    rows = with_silences(draw, rows)
    return rows, replace(pipeline, sources=sources), until_of(draw, rows)


def drawn_watermark(draw: random.Random) -> Watermark:
    strategy = draw.choices(HARD, [3 if strategy is not Strategy.NONE else 1 for strategy in HARD])[0]
    generator = draw.choice([("Bounded", {"bound_ms": 3}), ("Marked", {}), ("Moody", {"mood": 2})])
    custom: dict[str, Any] = {"generator": f"tests.custom_watermarks:{generator[0]}", "arguments": generator[1]}
    return Watermark(
        strategy,
        out_of_orderness_ms=draw.choice([0, 2, 10]),
        when="mark",
        value=draw.choice([None, TimeField("value", TimeUnit.MILLISECONDS)]),
        lag_ms=draw.choice([0, 3, 20]),
        idle_timeout_ms=draw.choice([1, 4, 10, 25, None]),
        **(custom if strategy is Strategy.CUSTOM else {}),
    )


def with_silences(draw: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`rows`, with pauses of all, and of one source or partition while the others go on."""
    later_us, active_rows, silent = 0, [], {}
    for row in rows:
        later_us += draw.choice([0, 0, 0, 0, 0, 40_000])
        clock_us = row["arrival_us"] + later_us
        level = draw.choice(["source", "partition"])
        if draw.random() < 0.15:
            silent[level, row[level]] = clock_us + draw.choice([5_000, 30_000])
        if any(silent.get((of, row[of]), 0) > clock_us for of in ("source", "partition")):
            continue
        ts = row["ts"] if row["ts"] is None else row["ts"] + later_us // 1000
        seconds = row["seconds"] if row["seconds"] is None else row["seconds"] + later_us / 1_000_000
        value = row["value"] if row["value"] is None else row["value"] + later_us // 1000
        active_rows.append({**row, "arrival_us": clock_us, "ts": ts, "seconds": seconds, "value": value})
    return active_rows or rows


def drawn_rows(draw: random.Random, names: list[str]) -> list[dict[str, Any]]:
    """Rows of all sources; some begin late, and some rows come at one instant."""
    clock_us = START_MS * 1000
    rows = []
    for number in range(draw.choice([1, 40, 60, 60])):
        clock_us += draw.choice([0, 0, 700, 1000, 3000])
        ts = clock_us // 1000 - draw.choice([0, 0, 1, 3, 9, 26, 40])
        name = draw.choice(names if number > 8 else names[: draw.choice([1, 2])])
        mark, value = draw.choice([True, True, False, None]), draw.choice([ts - 1, ts - 4, None])
        columns = {"partition": draw.choice("ab"), "arrival_us": clock_us, "counts": draw.choice([True, True, False])}
        seconds = None if draw.random() < 0.05 else ts / 1000
        time = {"ts": ts, "seconds": None} if name != "app" else {"ts": None, "seconds": seconds}
        rows.append({"id": number, "source": name, "mark": mark, "value": value, **columns, **time})
    return rows


@pytest.mark.parametrize(("kind", "grid", "seed"), SEEDS)
def test_spark_unites_sources_as_the_reference_does(
    session: SparkSession, kind: EmitKind, grid: int, seed: int
) -> None:
    rows, pipeline = drawn(kind, grid, seed)
    expected = reference.replay(rows, pipeline)
    outcome = spark_replay(session, rows[::-1], pipeline, schema=UNITED)
    assert_same_tables(outcome, expected)


@pytest.mark.parametrize(("kind", "grid", "seed"), SEEDS)
def test_spark_unites_sources_that_no_closed_form_does(
    session: SparkSession, kind: EmitKind, grid: int, seed: int
) -> None:
    rows, pipeline, until = drawn_hard(kind, grid, seed)
    expected = reference.replay(rows, pipeline, until=until)
    outcome = spark_replay(session, rows[::-1], pipeline, until=until, schema=UNITED)
    assert_same_tables(outcome, expected)


def test_a_source_without_rows_lags_behind_the_clock_all_the_same(session: SparkSession) -> None:
    rows, pipeline = drawn(EmitKind.EVERY, 0, 2)
    web, app, *_ = pipeline.sources
    lagging = replace(app, watermark=Watermark(Strategy.TIME_LAG, lag_ms=1))
    pipeline = replace(pipeline, sources=(replace(web, watermark=Watermark()), lagging))
    rows = [row for row in rows if row["source"] == "web"]
    expected = reference.replay(rows, pipeline)
    assert any(pane["timing"] == "on_time" and pane["watermark"] != END_OF_INPUT for pane in expected.panes)
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=UNITED), expected)


def numbered_rows(steps: list[tuple[str, str, int, int]], unmarked: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """Rows of (source, partition, arrival in ms, event time in ms), numbered; those of `unmarked` bear no mark."""
    return [
        {"id": i, "source": source, "partition": partition, "arrival_us": clock * 1000, "ts": ts, "seconds": ts / 1000}
        | {"mark": i not in unmarked, "value": None, "counts": True}
        for i, (source, partition, clock, ts) in enumerate(steps)
    ]


def beside_one_that_holds_nothing_back(watermark: Watermark) -> Pipeline:
    """Source web with partitions and `watermark`, source app, ticks every 100 ms, windows of 10 ms."""
    _, pipeline = drawn(EmitKind.EVERY, 0, 2)
    web, app, *_ = pipeline.sources
    source = replace(web.source, source_partition=SourcePartition(("partition",)), where=None)
    return replace(
        pipeline,
        sources=(replace(web, source=source, watermark=watermark), replace(app, watermark=Watermark())),
        watermark=replace(pipeline.watermark, emit=Emit(EmitKind.EVERY, interval_ms=100)),
        windows=replace(pipeline.windows, allowed_lateness_ms=0),
    )


def test_a_partition_that_is_new_follows_the_clock_from_its_first_tick_on(session: SparkSession) -> None:
    """Partition b comes at 1150; at 1200 its watermark equals that of a, so at 1210 a row of 25 ms ago is too late."""
    rows = numbered_rows(
        [("app", "b", 1000, 9000), ("web", "a", 1001, 1000), ("web", "b", 1150, 1150), ("web", "a", 1210, 1185)]
    )
    pipeline = beside_one_that_holds_nothing_back(Watermark(Strategy.TIME_LAG, lag_ms=1))
    expected = reference.replay(rows, pipeline)
    assert [row["id"] for row in expected.late_events] == [3]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=UNITED), expected)


def test_a_mark_below_an_earlier_one_ends_the_silence_of_its_partition(session: SparkSession) -> None:
    """Partition a comes back with a mark below its own first, and from then on holds back b."""
    steps = [("app", "b", 1000, 9000), ("web", "a", 1001, 1000), ("web", "b", 1002, 1010)]
    steps += [("web", "b", 1000 + 100 * k, 1010 + k) for k in range(1, 8)]
    steps += [("web", "a", 1801, 900), ("web", "b", 1802, 1100), ("web", "b", 1803, 1050), ("app", "b", 1950, 9001)]
    rows = numbered_rows(steps)
    pipeline = beside_one_that_holds_nothing_back(Watermark(Strategy.PUNCTUATED, when="mark", idle_timeout_ms=1))
    expected = reference.replay(rows, pipeline)
    assert 12 not in [row["id"] for row in expected.late_events]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=UNITED), expected)


def test_each_mark_of_a_partition_counts_from_its_row_on(session: SparkSession) -> None:
    """Between two marks, and between two ticks, a row is judged by the first of the marks."""
    steps = [("app", "b", 1000, 9000), ("web", "a", 1150, 50), ("web", "a", 1210, 100), ("web", "a", 1220, 150)]
    steps += [("web", "a", 1230, 200), ("web", "a", 1240, 151), ("app", "b", 1950, 9001)]
    rows = numbered_rows(steps, unmarked=(0, 3, 5, 6))
    pipeline = beside_one_that_holds_nothing_back(Watermark(Strategy.PUNCTUATED, when="mark", idle_timeout_ms=5_000))
    expected = reference.replay(rows, pipeline)
    assert [row["id"] for row in expected.late_events] == [5]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=UNITED), expected)
