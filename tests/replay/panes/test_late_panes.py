"""Late rows on Spark and in the reference: accumulated, with retractions, gathered, dropped, updating.

Streams are drawn by seed; every way of treating late rows meets every kind of window. What fails is kept as a case.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.pipeline import from_mapping
from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    EmitKind,
    LateData,
    LatePanes,
    Pipeline,
    SourcePartition,
    Strategy,
    Trigger,
    TriggerKind,
    Windows,
)
from spark_jobs.replay import replay
from spark_jobs.replay.windows import late_events
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, frame_of, spark_replay
from tests.support.late_streams import late_rows
from tests.support.streams import SCHEMA, START_MS, drawn_pipeline

pytestmark = pytest.mark.spark

GRIDS = {
    "tumbling": Windows(size_ms=10),
    "sliding": Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4, offset_ms=1),
    "apart": Windows(kind=WindowKind.SLIDING, size_ms=3, slide_ms=5),
    "session": Windows(kind=WindowKind.SESSION, gap_ms=4),
}
CONTINUED = (Aggregate("rows", "count(*)"), Aggregate("mean", "avg(id)"))
ASKING = (
    Aggregate("ahead", "max(unix_millis(window_end) - ts)"),
    Aggregate("length", "unix_millis(max(window_end)) - unix_millis(window_start)"),
    Aggregate("past", "count_if(watermark >= timestamp_millis(ts))"),
)
BY_HAND = {
    "ahead": lambda rows: max(millis(row["window_end"]) - row["ts"] for row in rows),
    "length": lambda rows: millis(rows[0]["window_end"]) - millis(rows[0]["window_start"]),
    # A pane may fire early, before there is a watermark.
    "past": lambda rows: sum(row["watermark"] is not None and millis(row["watermark"]) >= row["ts"] for row in rows),
}
#: Expressions around aggregates that late panes continue, and around a sum that runs along the rows of the window.
AROUND = (
    Aggregate("rounded", "round(avg(id), 1)"),
    Aggregate("span", "max(ts) - min(ts)"),
    Aggregate("some", "coalesce(sum(value), 0)"),
    Aggregate("share", "count_if(mark) / count(*)"),
    Aggregate("marked", "sum(id) filter (where mark) % 7"),
)
RUNNING = (Aggregate("money", "cast(round(sum(cast(id as decimal(10, 2))), 1) as double) + count(*)"),)
BY_HAND_AROUND = {
    "rounded": lambda rows: float(
        Decimal(repr(sum(row["id"] for row in rows) / len(rows))).quantize(Decimal("0.1"), ROUND_HALF_UP)
    ),
    "span": lambda rows: max(row["ts"] for row in rows) - min(row["ts"] for row in rows),
    "some": lambda rows: sum(row["value"] or 0 for row in rows),
    "share": lambda rows: sum(bool(row["mark"]) for row in rows) / len(rows),
    "marked": lambda rows: (
        sum(row["id"] for row in rows if row["mark"]) % 7 if any(row["mark"] for row in rows) else None
    ),
    "money": lambda rows: float(sum(row["id"] for row in rows) + len(rows)),
}
WAYS = [
    (kind, accumulation, late_data, late_panes)
    for kind, accumulation, late_data, late_panes in product(GRIDS, Accumulation, LateData, LatePanes)
    if kind != "session" or late_panes is LatePanes.PER_ROW
]
SESSION = ("session", Accumulation.ACCUMULATING, LateData.SIDE_OUTPUT, LatePanes.PER_ROW)
DRAWN = [
    sampled(
        *(way, seed),
        quick=seed == 0 and i % 51 == 17,
        judges=seed == 0 and i % 17 == 0,
        id="-".join([*way, str(seed)]),
    )
    for seed in range(6)
    for i, way in enumerate(WAYS)
]


def millis(time: datetime) -> int:
    return round((time - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000)


def drawn(way: tuple[str, Accumulation, LateData, LatePanes], seed: int) -> tuple[list[dict[str, Any]], Pipeline]:
    kind, accumulation, late_data, late_panes = way
    draw = random.Random(f"{way}-{seed}")
    strategy = draw.choice([Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED])
    emission = draw.choice([EmitKind.EVERY, EmitKind.EVERY, EmitKind.EVERY_N, EmitKind.PER_EVENT])
    pipeline = drawn_pipeline(draw, strategy, emission, idle=draw.random() < 0.3)
    source = replace(pipeline.source, source_partition=SourcePartition(("partition",)), where=None)
    watermark = replace(pipeline.watermark, out_of_orderness_ms=draw.choice([0, 2]))
    # Firings before the end are retracted, too; on Spark their aggregates cannot read the firing.
    triggers = (Trigger(TriggerKind.CONTINUOUS, interval_ms=3), Trigger(TriggerKind.COUNT, n=2))
    trigger = draw.choice([Trigger(), Trigger(), *triggers]) if late_panes is LatePanes.PER_ROW else Trigger()
    waits = kind == "session" or trigger == Trigger()
    windows = replace(
        GRIDS[kind],
        key=draw.choice([(), ("partition",)]),
        allowed_lateness_ms=draw.choice([4, 50]),
        accumulation=accumulation,
        late_data=late_data,
        late_panes=late_panes,
        trigger=trigger,
        aggregates=draw.choice([CONTINUED, ASKING]) if waits else CONTINUED,
    )
    return late_rows(draw), replace(pipeline, source=source, watermark=watermark, windows=windows)


@pytest.mark.parametrize(("way", "seed"), DRAWN)
def test_spark_treats_late_rows_as_the_reference_does(
    session: SparkSession, way: tuple[str, Accumulation, LateData, LatePanes], seed: int
) -> None:
    rows, pipeline = drawn(way, seed)
    expected = reference.replay(rows, pipeline, aggregates=BY_HAND)
    outcome = spark_replay(session, rows[::-1], pipeline, schema=SCHEMA)
    assert_same_tables(outcome, expected)


QUICK_AROUND = {(SESSION, "around")}
AROUND_WAYS = [
    sampled(*(way, aggregates), quick=(way, name) in QUICK_AROUND, id="-".join([*way, name]))
    for way in WAYS
    if way[2] is LateData.SIDE_OUTPUT
    for name, aggregates in (("around", AROUND), ("running", RUNNING))
]


@pytest.mark.parametrize(("way", "aggregates"), AROUND_WAYS)
def test_expressions_around_aggregates_are_those_of_all_rows(
    session: SparkSession, way: tuple[str, Accumulation, LateData, LatePanes], aggregates: tuple[Aggregate, ...]
) -> None:
    rows, pipeline = drawn(way, 0 if way[0] == "apart" else 2)
    windows = replace(pipeline.windows, allowed_lateness_ms=50, trigger=Trigger(), aggregates=aggregates)
    pipeline = replace(pipeline, windows=windows)
    expected = reference.replay(rows, pipeline, aggregates=BY_HAND_AROUND)
    assert any(pane["timing"] == "late" for pane in expected.panes)
    outcome = spark_replay(session, rows[::-1], pipeline, schema=SCHEMA)
    assert_same_tables(outcome, expected, ("panes", "window_results"))


ANEW = {
    WAYS[0]: 0,
    ("tumbling", Accumulation.DISCARDING, LateData.SIDE_OUTPUT, LatePanes.PER_EPOCH): 1,
}


@pytest.mark.parametrize(("way", "seed"), ANEW.items(), ids=lambda case: "-".join(case) if case in ANEW else "")
def test_source_column_named_watermark_is_not_the_firings_watermark(
    session: SparkSession, way: tuple[str, Accumulation, LateData, LatePanes], seed: int
) -> None:
    """`count(distinct ...)` has no parts to continue, so it is computed for each firing from the rows."""
    rows, pipeline = drawn(way, seed)
    named = [{**row, "watermark": row["id"] % 3} for row in rows]
    windows = replace(pipeline.windows, aggregates=(Aggregate("kinds", "count(distinct watermark)"),))
    pipeline = replace(pipeline, windows=windows)
    expected = reference.replay(
        named, pipeline, aggregates={"kinds": lambda rows: len({row["watermark"] for row in rows})}
    )
    assert any(pane["timing"] == "late" and pane["kinds"] > 1 for pane in expected.panes)
    schema = SCHEMA.append(pa.field("watermark", pa.int64()))
    outcome = spark_replay(session, named[::-1], pipeline, schema=schema)
    # Late events have a column watermark, beside which Spark keeps the source's column under another name.
    assert_same_tables(outcome, expected, ("panes", "window_results", "watermarks"))


LATE_COLUMNS = ["event_time", "arrival_time", "watermark", "late_by_ms", "window_start", "window_end"]
NAMED = {
    "its own event time": ("made", "event_time timestamp, made timestamp", ["source_event_time", "made", "landed"]),
    "the event time itself": ("event_time", "event_time timestamp, made timestamp", ["made", "landed"]),
    "in another unit": (
        {"column": "event_time", "unit": "s"},
        "event_time bigint, made timestamp",
        ["source_event_time", "made", "landed"],
    ),
}


@pytest.mark.parametrize("name", [sampled(name, quick=name == "in another unit", judges=True) for name in NAMED])
def test_source_columns_named_as_late_event_columns_are_kept(session: SparkSession, name: str) -> None:
    event_time, schema, columns = NAMED[name]
    rows: list[tuple[Any, ...]] = [
        (moment, datetime.fromtimestamp(moment, UTC), landed, mark) for moment, landed, mark in ((95, 1, 7), (5, 2, 8))
    ]
    if "bigint" not in schema:
        rows = [(event, event, *rest) for _, event, *rest in rows]
    events = session.createDataFrame(rows, f"{schema}, landed bigint, WaterMark bigint")
    source = {"table": "t", "event_time": event_time, "arrival_time": {"column": "landed", "unit": "s"}}
    windows = {"size": "10 seconds", "key": [], "aggregates": {"n": "count(*)"}}
    pipeline = from_mapping(
        {"name": "p", "source": source, "watermark": {"out_of_orderness": "0 seconds"}, "windows": windows}
    )
    late = replay(events, pipeline).late_events
    assert late.columns == [*columns, "source_WaterMark", *LATE_COLUMNS]
    [row] = late.collect()
    assert (row.source_WaterMark, row.late_by_ms) == (8, 89_999)


@pytest.mark.parametrize(("second_us", "may"), [(1_001, True), (25_000, True), (None, False)])
def test_rows_that_are_epochs_may_be_late_from_the_stretch_on_in_which_their_window_fires(
    session: SparkSession, second_us: int | None, *, may: bool
) -> None:
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.PER_EVENT, idle=False)
    pipeline = replace(
        pipeline,
        source=replace(pipeline.source, source_partition=SourcePartition(), where=None),
        watermark=replace(pipeline.watermark, out_of_orderness_ms=0),
        windows=replace(pipeline.windows, size_ms=10, offset_ms=0),
    )
    constants = {"partition": "a", "mark": None, "value": None, "counts": True}
    # The first row is on time and early enough, the second fires the window, the third comes behind it.
    moments = [(0, 5), (1_000, 95), *([] if second_us is None else [(second_us, 6)])]
    rows = [{"id": i, "arrival_us": START_MS * 1000 + us, "ts": ts, **constants} for i, (us, ts) in enumerate(moments)]
    outcome = replay(frame_of(session, rows, SCHEMA), pipeline)
    groups = outcome.census if second_us is not None else outcome.census.where("window_ms = 90")
    assert late_events.may_hold_late(groups, outcome.calendar, pipeline) is may


def test_a_check_knows_what_an_aggregate_may_ask_for(session: SparkSession) -> None:
    _, pipeline = drawn(WAYS[0], 0)
    events = frame_of(session, [], SCHEMA)
    check_source(events, replace(pipeline, windows=replace(pipeline.windows, aggregates=ASKING)))
    wrong = (Aggregate("length", "max(window_stop)"),)
    with pytest.raises(InputError, match=r"windows.aggregates.length: the source has no column 'window_stop'"):
        check_source(events, replace(pipeline, windows=replace(pipeline.windows, aggregates=wrong)))
