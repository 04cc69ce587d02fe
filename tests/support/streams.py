"""Random streams with silent source partitions, and pipelines over them."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    Pipeline,
    Placement,
    ReplayOrder,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    Watermark,
    Windows,
)

START_MS = 1_000_000


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("partition", pa.string()),
        ("ts", pa.int64()),
        ("arrival_us", pa.int64()),
        ("mark", pa.bool_()),
        ("value", pa.int64()),
        ("counts", pa.bool_()),
    ]
)


def drawn_rows(draw: random.Random) -> list[dict[str, Any]]:
    """Rows of up to three partitions; now and then one of them is silent for long."""
    clock_us, silent_until = START_MS * 1000, dict.fromkeys("abc", 0)
    rows: list[dict[str, Any]] = []
    for number in range(draw.choice([1, 8, 30, 60])):
        clock_us += draw.choice([0, 1, 700, 1000, 1000, 3000, 5000, 40_000])
        active = [name for name, until in silent_until.items() if until <= clock_us] or ["a"]
        partition = draw.choice(active)
        if draw.random() < 0.15:
            silent_until[partition] = clock_us + draw.choice([5_000, 30_000, 90_000])
        ts = clock_us // 1000 - draw.choice([0, 0, 1, 2, 5, 9, 30, 60])
        marked = draw.choice([True, False, False, None])
        value = draw.choice([ts - 1, ts - 4, ts - 20, None])
        times = {"ts": None if draw.random() < 0.05 else ts, "mark": marked, "value": value}
        counts = draw.choice([True, True, True, False, None])
        rows.append({"id": number, "partition": partition, "arrival_us": clock_us, "counts": counts, **times})
    return rows


def drawn_pipeline(draw: random.Random, strategy: Strategy, kind: EmitKind, *, idle: bool) -> Pipeline:
    interval = draw.choice([1, 2, 5, 12])
    custom: dict[str, Any] = {"generator": "tests.custom_watermarks:Moody"} if strategy is Strategy.CUSTOM else {}
    return Pipeline(
        name="silence",
        source=Source(
            table="silence",
            event_time=TimeField("ts", TimeUnit.MILLISECONDS),
            arrival_time=TimeField("arrival_us", TimeUnit.MICROSECONDS),
            source_partition=SourcePartition(("partition",), draw.choice([(), (), (("a",), ("b",)), (("never",),)])),
            tie_break=("id",),
            where=draw.choice([None, "counts"]),
        ),
        replay=ReplayOrder(end_of_input=draw.choice(list(EndOfInput))),
        watermark=Watermark(
            strategy,
            out_of_orderness_ms=draw.choice([0, 2, 10]),
            placement=draw.choice(list(Placement)),
            emit=Emit(kind, interval_ms=interval, phase_ms=draw.randrange(interval), n=draw.choice([1, 2, 5])),
            when="mark",
            value=draw.choice([None, TimeField("value", TimeUnit.MILLISECONDS)]),
            lag_ms=draw.choice([0, 3, 20]),
            idle_timeout_ms=draw.choice([1, 4, 10, 25]) if idle else None,
            **custom,
        ),
        windows=Windows(
            size_ms=draw.choice([3, 10]),
            offset_ms=draw.choice([0, 1]),
            allowed_lateness_ms=draw.choice([0, 4, 50]),
            accumulation=draw.choice(list(Accumulation)),
            aggregates=(Aggregate("rows", "count(*)"), Aggregate("total", "sum(id)")),
        ),
    )


def drawn(way: tuple[Strategy, EmitKind, bool], seed: int) -> tuple[list[dict[str, Any]], Pipeline, datetime | None]:
    """Rows, a pipeline, and how far the clock goes."""
    draw = random.Random(f"{way}-{seed}")
    rows, pipeline = drawn_rows(draw), drawn_pipeline(draw, way[0], way[1], idle=way[2])
    return rows, pipeline, until_of(draw, rows)


def until_of(draw: random.Random, rows: list[dict[str, Any]]) -> datetime | None:
    """How far the clock goes behind the last row, if it does."""
    last_ms = rows[-1]["arrival_us"] // 1000
    later = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=last_ms + draw.choice([1, 60]))
    return draw.choice([None, later])


def numbered_rows(steps: list[tuple[str, int, int, bool]]) -> list[dict[str, Any]]:
    """Rows of (partition, arrival in ms, event time in ms, whether it is marked), numbered."""
    return [
        {"id": i, "partition": partition, "arrival_us": clock * 1000, "ts": ts}
        | {"mark": mark, "value": None, "counts": True}
        for i, (partition, clock, ts, mark) in enumerate(steps)
    ]


def marked(idle_timeout_ms: int | None, windows: dict[str, Any]) -> Pipeline:
    """A pipeline whose marked rows bear their event time as watermark, without lateness."""
    drawn = drawn_pipeline(random.Random(0), Strategy.PUNCTUATED, EmitKind.EVERY, idle=idle_timeout_ms is not None)
    emit = Emit(EmitKind.EVERY, interval_ms=100)
    return replace(
        drawn,
        source=replace(drawn.source, source_partition=SourcePartition(("partition",)), where=None),
        watermark=replace(drawn.watermark, emit=emit, value=None, idle_timeout_ms=idle_timeout_ms),
        windows=replace(drawn.windows, **windows, offset_ms=0, allowed_lateness_ms=0),
    )
