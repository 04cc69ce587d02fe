"""Rows left out on Spark: every replay equals the reference, with duplicates, copies, rules and several sources."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Aggregate,
    EmitKind,
    Order,
    Pipeline,
    QuarantineRule,
    ReplayOrder,
    Source,
    Strategy,
    TimeField,
    TimeUnit,
    UnitedSource,
    WindowKind,
    Windows,
)
from spark_jobs.pipeline.sources import together
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support.engine import aware, in_order
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows

pytestmark = pytest.mark.spark

TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")
DDL = "name string, id long, partition string, ts long, arrival_us long, mark boolean, value long, counts boolean"
STRATEGIES = tuple(strategy for strategy in Strategy if strategy is not Strategy.CUSTOM)


def with_repeats(draw: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with names, some of which come again: later, earlier in event time, or as copies."""
    named = [{"name": draw.choice([f"n{i}", f"n{i}", "often", None]), **row} for i, row in enumerate(rows)]
    again = [
        {
            **row,
            "arrival_us": row["arrival_us"] + draw.choice([0, 0, 1000, 30_000, 70_000]),
            "ts": draw.choice([row["ts"], row["ts"], None if row["ts"] is None else row["ts"] - 15]),
        }
        for row in draw.choices(named, k=len(named) // 3)
    ]
    every = [*named, *again, *draw.choices(named, k=2)]
    draw.shuffle(every)
    return every


def drawn_case(number: int) -> tuple[list[dict[str, Any]], Pipeline]:
    draw = random.Random(f"left out {number}")
    rows = with_repeats(draw, drawn_rows(draw))
    pipeline = drawn_pipeline(draw, draw.choice(STRATEGIES), draw.choice(list(EmitKind)), idle=draw.random() < 0.2)
    rules = (QuarantineRule("odd", "id > 20 and partition = 'b'"), QuarantineRule("early", "value < ts - 10"))
    source = replace(
        pipeline.source,
        deduplicate=draw.choice([("name",), ("name",), ("name", "partition"), ()]),
        quarantine=draw.choice([(), rules]),
    )
    windows = pipeline.windows
    windows = draw.choice(
        [
            windows,
            replace(windows, kind=WindowKind.SLIDING, slide_ms=4, offset_ms=0),
            replace(windows, kind=WindowKind.SESSION, gap_ms=5, size_ms=0, offset_ms=0),
        ]
    )
    order = draw.choice([Order.ARRIVAL, Order.ARRIVAL, Order.EVENT_TIME])
    spec = replace(pipeline, source=source, windows=windows, replay=replace(pipeline.replay, order=order))
    if draw.random() < 0.25 and not spec.watermark.is_punctuated:
        return united(draw, rows, spec)
    return rows, spec


def united(draw: random.Random, rows: list[dict[str, Any]], spec: Pipeline) -> tuple[list[dict[str, Any]], Pipeline]:
    """Return the case as one of two sources, of which one names its rows."""
    first, second = replace(spec.source, quarantine=()), replace(spec.source, quarantine=(), deduplicate=())
    sources = (UnitedSource("a", first, spec.watermark), UnitedSource("b", second, spec.watermark))
    of_sources = [{**row, "source": draw.choice("ab")} for row in rows]
    order = ReplayOrder(end_of_input=spec.replay.end_of_input)
    return of_sources, replace(spec, sources=sources, source=together([*sources]), replay=order)


def check(session: SparkSession, number: int) -> dict[str, int]:
    rows, pipeline = drawn_case(number)
    expected = reference.replay(rows, pipeline)
    names = ["name", *SCHEMA.names, *(["source"] if pipeline.sources else [])]
    ddl = f"{DDL}, source string" if pipeline.sources else DDL
    events = session.createDataFrame([[row[name] for name in names] for row in rows], ddl).repartition(3)
    actual = replay(events, pipeline)
    for name in TABLES:
        spark_rows = [{n: aware(v) for n, v in row.items()} for row in getattr(actual, name).toArrow().to_pylist()]
        assert in_order(spark_rows) == in_order(getattr(expected, name)), (number, name)
    return expected.counts


@pytest.mark.parametrize("number", [sampled(n, quick=n < 1) for n in range(5)])
def test_replays_equal_the_reference(session: SparkSession, number: int) -> None:
    check(session, number)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_replays_equal_the_reference(session: SparkSession, part: int) -> None:
    counts = [check(session, number) for number in range(5 + 10 * part, 15 + 10 * part)]
    assert sum(count.get("duplicates", 0) for count in counts) > 10


@pytest.mark.soak
def test_duplicates_have_values_that_are_equal_and_not_identical(session: SparkSession) -> None:
    """Zeros of either sign and NaN, also inside; texts differ by their bytes in every collation."""
    arrived, happened = TimeField("arrival", TimeUnit.MILLISECONDS), TimeField("ts", TimeUnit.MILLISECONDS)
    source = Source("any", happened, arrived, deduplicate=("number", "inside", "text"))
    windows = Windows(size_ms=1000, aggregates=(Aggregate("rows", "count(*)"),))
    pipeline = Pipeline(name="any", source=source, windows=windows)
    inside = {"few": [0.0, None], "of": {"a": 1.5}}
    signed = {"few": [-0.0, None], "of": {"a": 1.5}}
    names = [
        *((0.0, inside, "a"), (-0.0, inside, "a"), (-0.0, signed, "a"), (0.0, signed, "A")),
        *((float("nan"), inside, "a"), (float("nan"), signed, "a"), (1.0, inside, "a"), (1.0, None, "a")),
    ]
    rows = [
        {"ts": 5, "arrival": i, "number": number, "inside": struct, "text": text}
        for i, (number, struct, text) in enumerate(names)
    ]
    kinds = "struct<few: array<double>, of: map<string, double>>"
    ddl = f"ts long, arrival long, number double, inside {kinds}, text string collate UTF8_LCASE"
    expected = reference.replay(rows, pipeline)
    assert expected.counts["duplicates"] == 3
    events = session.createDataFrame([tuple(row.values()) for row in rows], ddl).repartition(3)
    assert [row.rows for row in replay(events, pipeline).window_results.collect()] == [5]
    assert [result["rows"] for result in expected.window_results] == [5]


@pytest.mark.parametrize("kind", ["timestamp", sampled("timestamp_ntz", quick=False)])
def test_names_that_differ_by_a_microsecond_are_no_duplicates(session: SparkSession, kind: str) -> None:
    at = TimeField("ts", TimeUnit.MILLISECONDS)
    pipeline = Pipeline(
        name="any",
        source=Source("any", at, at, deduplicate=("name",)),
        windows=Windows(size_ms=1000, aggregates=(Aggregate("rows", "count(*)"),)),
    )
    micros = [1_000_001, 1_000_002, 1_000_002]
    rows = session.createDataFrame([(5, at) for at in micros], "ts long, at long")
    named = rows.selectExpr("ts", f"cast(timestamp_micros(at) as {kind}) as name")
    assert [row.rows for row in replay(named, pipeline).window_results.collect()] == [2]
