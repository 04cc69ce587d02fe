"""Sources that fall silent, under every strategy: Spark says what the reference says, and sees each advance it sees.

Streams and settings are drawn from a seed: partitions that pause for longer than the idle timeout, declared ones that
never speak, marks, rows that `where` drops, clocks that stand still, a clock that goes on behind the last row.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

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
from spark_jobs.replay.rows import arrival_order, emission
from spark_jobs.replay.rows.prepare import moves_watermark, prepare
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import census, moving
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import MAX, MIN, table_time
from spark_jobs.semantics.streaming_job import StreamingJob
from tests.spark.engine import assert_same_tables, frame_of, spark_replay

pytestmark = pytest.mark.spark

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
WAYS = [
    (strategy, kind, idle)
    for strategy in Strategy
    # What a class of the user's says is drawn elsewhere.
    if strategy is not Strategy.CUSTOM
    for kind in EmitKind
    for idle in (True, False)
    # Without watermarks nobody is waited for; bounds without silence are drawn elsewhere.
    if (idle or strategy is not Strategy.BOUNDED_OUT_OF_ORDERNESS) and not (idle and strategy is Strategy.NONE)
]
SEEDS = [
    pytest.param(way, seed, marks=[pytest.mark.soak] if seed or i % 3 else [], id="-".join(map(str, (*way, seed))))
    for seed in range(8)
    for i, way in enumerate(WAYS)
]


def drawn_rows(draw: random.Random) -> list[dict[str, Any]]:
    """Rows of up to three partitions; now and then one of them is silent for long."""
    clock_us, silent_until = START_MS * 1000, dict.fromkeys("abc", 0)
    rows: list[dict[str, Any]] = []
    for number in range(draw.choice([1, 8, 30, 60])):
        clock_us += draw.choice([0, 1, 700, 1000, 1000, 3000, 5000, 40_000])
        speaking = [name for name, until in silent_until.items() if until <= clock_us] or ["a"]
        partition = draw.choice(speaking)
        if draw.random() < 0.15:
            silent_until[partition] = clock_us + draw.choice([5_000, 30_000, 90_000])
        ts = clock_us // 1000 - draw.choice([0, 0, 1, 2, 5, 9, 30, 60])
        marked = draw.choice([True, False, False, None])
        value = draw.choice([ts - 1, ts - 4, ts - 20, None])
        told = {"ts": None if draw.random() < 0.05 else ts, "mark": marked, "value": value}
        kept = draw.choice([True, True, True, False, None])
        rows.append({"id": number, "partition": partition, "arrival_us": clock_us, "counts": kept, **told})
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


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> SparkSession:
    """Spark without compiled code, which takes longer to make than these streams take to replay."""
    session = spark.newSession()
    told = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in {**told, "spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}.items():
        session.conf.set(name, value)
    return session


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_spark_says_what_the_reference_says(
    session: SparkSession, way: tuple[Strategy, EmitKind, bool], seed: int
) -> None:
    rows, pipeline, until = drawn(way, seed)
    expected = reference.replay(rows, pipeline, until=until)
    found = spark_replay(session, rows[::-1], pipeline, until=until, schema=SCHEMA)
    assert_same_tables(found, expected)


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_turning_points_hold_every_advance(
    session: SparkSession, way: tuple[Strategy, EmitKind, bool], seed: int
) -> None:
    rows, pipeline, until = drawn(way, seed)
    assert timeline(session, rows, pipeline, until) == advances(rows, pipeline, until)


@pytest.mark.parametrize(
    ("until_us", "ticks"), [(None, []), (3_999_999, []), (6_999_999, [3, 4, 5]), (7_000_000, [3, 4, 5, 6])]
)
def test_ticks_go_on_as_far_as_the_clock(session: SparkSession, until_us: int | None, ticks: list[int]) -> None:
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.EVERY, idle=True)
    pipeline = replace(pipeline, watermark=replace(pipeline.watermark, emit=Emit(EmitKind.EVERY, interval_ms=1000)))
    groups = session.createDataFrame([(3,)], "bucket long")
    assert [row.epoch for row in emission.all_ticks(groups, pipeline, until_us=until_us).collect()] == ticks


def test_a_partition_that_speaks_again_takes_nothing_back(session: SparkSession) -> None:
    """The late row at 11 is behind what the others had reached while `b` was idle; `b` has spoken since."""
    told = [(1, "a", 57), (1, "b", 12), (3, "a", 57), (5, "a", 57), (7, "a", 57), (9, "b", 52), (11, "a", 15)]
    rows = [
        {
            "id": number,
            "partition": partition,
            "arrival_us": (START_MS + clock) * 1000,
            "ts": START_MS + ts,
            "mark": None,
            "value": None,
            "counts": True,
        }
        for number, (clock, partition, ts) in enumerate(told)
    ]
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.EVERY, idle=True)
    mark = replace(
        pipeline.watermark,
        out_of_orderness_ms=0,
        placement=Placement.SOURCE,
        emit=Emit(EmitKind.EVERY, interval_ms=1),
        idle_timeout_ms=4,
    )
    windows = replace(pipeline.windows, size_ms=10, offset_ms=START_MS % 10, allowed_lateness_ms=0)
    source = replace(pipeline.source, source_partition=SourcePartition(("partition",)), where=None)
    pipeline = replace(pipeline, source=source, watermark=mark, windows=windows)
    expected = reference.replay(rows, pipeline)
    (late,) = expected.late_events
    assert (late["watermark"] - late["event_time"]) / timedelta(milliseconds=1) == 56 - 15
    assert_same_tables(spark_replay(session, rows, pipeline, schema=SCHEMA), expected)


def timeline(
    session: SparkSession, rows: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None
) -> list[tuple[int, int, dict[str, int]]]:
    """Clock (microseconds), combined watermark and those of the partitions, at each advance that Spark sees."""
    placed = arrival_order.with_epoch(prepare(frame_of(session, rows, SCHEMA), pipeline), pipeline)
    groups, moves = (
        moving(census(placed, pipeline).localCheckpoint(), pipeline),
        placed.where(moves_watermark(pipeline)),
    )
    until_us = None if until is None else int(until.timestamp() * 1000) * 1000
    turns = combined.turning_points(groups, moves, pipeline, until_us=until_us)
    reached = combined.combined(combined.points_after(turns, pipeline), groups, moves, pipeline)
    clocked = emission.clocked(reached, {"epoch": "clock_us"}, groups, pipeline)
    found: list[tuple[int, int, dict[str, int]]] = []
    for point in sorted(clocked.collect(), key=lambda point: (point.watermark_ms or MIN, point.clock_us)):
        if point.watermark_ms is not None and (not found or point.watermark_ms > found[-1][1]):
            partitions = {p.source_partition: p.watermark_ms for p in point.partition_watermarks}
            found.append((point.clock_us, point.watermark_ms, partitions))
    return found


def advances(
    rows: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None
) -> list[tuple[int, int, dict[str, int | None]]]:
    """The same of the streaming job."""
    reader, job = EventReader(pipeline, lambda row: row["counts"] is True), StreamingJob(pipeline)
    if pipeline.source.where is None:
        reader = EventReader(pipeline)
    events = sorted((e for e in map(reader.read, rows) if isinstance(e, Event)), key=lambda event: event.position)
    if pipeline.watermark.placement is Placement.AFTER_WHERE:
        events = [event for event in events if event.is_kept]
    job.run(events, None if until is None else int(until.timestamp() * 1000) * 1000)
    return [
        (a.clock_us, a.watermark, {p: None if w == MIN else w for p, w in (a.partitions or {}).items()})
        for a in job.calendar.advances
        if a.watermark != MAX
    ]


def told(steps: list[tuple[str, int, int, bool]]) -> list[dict[str, Any]]:
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


def test_only_a_marked_row_ends_the_silence_of_a_partition_for_sessions_too(session: SparkSession) -> None:
    """Row 11 is late only if a, whose row 9 is not marked, is still idle when row 10, of b, raises the watermark."""
    steps = [("a", 1000, 1000, True), ("b", 1001, 1010, True)]
    steps += [("b", 1000 + 100 * k, 1010 + k, True) for k in range(1, 8)]
    steps += [("a", 1801, 1015, False), ("b", 1802, 1100, True), ("b", 1803, 1050, False), ("a", 1804, 1200, True)]
    rows, pipeline = told(steps), marked(1, {"kind": "session", "size_ms": 0, "gap_ms": 2})
    expected = reference.replay(rows, pipeline)
    assert [row["id"] for row in expected.late_events] == [11]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=SCHEMA), expected)


def test_of_marks_close_to_each_other_the_highest_counts_when_another_partition_goes_on(session: SparkSession) -> None:
    """The marks of a fire the same windows and arrive in one stretch; b goes on in a later one, and a's holds it."""
    steps = [("a", 900, 1000, True), ("b", 901, 1000, True)]
    steps += [("a", 1001, 1101, True), ("a", 1002, 1105, True), ("b", 1500, 1200, True)]
    rows, pipeline = told(steps), marked(None, {"kind": "tumbling", "size_ms": 10})
    expected = reference.replay(rows, pipeline)
    assert table_time(1105) in [pane["watermark"] for pane in expected.panes]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=SCHEMA), expected)
