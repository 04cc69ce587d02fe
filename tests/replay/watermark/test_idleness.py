"""Sources that fall silent, under every strategy: Spark matches the reference, in results and in each advance.

Streams and settings are drawn from a seed: partitions that pause for longer than the idle timeout, declared ones
without rows, marks, rows that `where` drops, clocks that stand still, a clock that goes on behind the last row.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Emit,
    EmitKind,
    Pipeline,
    Placement,
    SourcePartition,
    Strategy,
)
from spark_jobs.replay.rows import arrival_order, emission
from spark_jobs.replay.rows.prepare import moves_watermark, prepare
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import census, moving
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import MAX, MIN, table_time
from spark_jobs.semantics.streaming_job import StreamingJob
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, frame_of, spark_replay
from tests.support.streams import SCHEMA, START_MS, drawn, drawn_pipeline, marked, numbered_rows

pytestmark = pytest.mark.spark

WAYS = [
    (strategy, kind, idle)
    for strategy in Strategy
    # Custom generators are drawn in another test.
    if strategy is not Strategy.CUSTOM
    for kind in EmitKind
    for idle in (True, False)
    # Without watermarks nobody is waited for; bounds without silence are drawn elsewhere.
    if (idle or strategy is not Strategy.BOUNDED_OUT_OF_ORDERNESS) and not (idle and strategy is Strategy.NONE)
]
SEEDS = [
    sampled(
        *(way, seed),
        quick=seed == 0 and i % 36 == 0,
        judges=seed == 0 and i % 6 == 0,
        id="-".join(map(str, (*way, seed))),
    )
    for seed in range(8)
    for i, way in enumerate(WAYS)
]


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> SparkSession:
    """Spark without compiled code, which takes longer to make than these streams take to replay."""
    session = spark.newSession()
    without_codegen = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in {
        **without_codegen,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
    }.items():
        session.conf.set(name, value)
    return session


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_spark_matches_the_reference(session: SparkSession, way: tuple[Strategy, EmitKind, bool], seed: int) -> None:
    rows, pipeline, until = drawn(way, seed)
    expected = reference.replay(rows, pipeline, until=until)
    outcome = spark_replay(session, rows[::-1], pipeline, until=until, schema=SCHEMA)
    assert_same_tables(outcome, expected)


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_turning_points_hold_every_advance(
    session: SparkSession, way: tuple[Strategy, EmitKind, bool], seed: int
) -> None:
    rows, pipeline, until = drawn(way, seed)
    assert timeline(session, rows, pipeline, until) == advances(rows, pipeline, until)


@pytest.mark.parametrize(
    ("until_us", "ticks"), [(None, []), (3_999_999, []), (6_999_999, [3, 4, 5]), (7_000_000, [3, 4, 5, 6])]
)
def test_ticks_continue_until_the_end_of_the_clock(
    session: SparkSession, until_us: int | None, ticks: list[int]
) -> None:
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.EVERY, idle=True)
    pipeline = replace(pipeline, watermark=replace(pipeline.watermark, emit=Emit(EmitKind.EVERY, interval_ms=1000)))
    groups = session.createDataFrame([(3,)], "bucket long")
    assert [row.epoch for row in emission.all_ticks(groups, pipeline, until_us=until_us).collect()] == ticks


def test_many_ticks_are_listed_in_pieces_and_too_many_are_refused(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, EmitKind.EVERY, idle=True)
    pipeline = replace(pipeline, watermark=replace(pipeline.watermark, emit=Emit(EmitKind.EVERY, interval_ms=1000)))
    groups = session.createDataFrame([(-3,), (20,)], "bucket long")
    monkeypatch.setattr(emission, "TICKS_A_PIECE", 7)
    monkeypatch.setattr(emission, "MOST_TICKS", 23)
    listed = emission.all_ticks(groups, pipeline)
    assert [row.epoch for row in listed.collect()] == list(range(-3, 20))
    monkeypatch.setattr(emission, "MOST_TICKS", 22)
    with pytest.raises(PySparkException, match=r"watermark.emit: found 23 ticks .*, of 22 at most"):
        emission.all_ticks(groups, pipeline).collect()


def test_watermark_does_not_fall_when_an_idle_partition_becomes_active(session: SparkSession) -> None:
    """The late row at 11 is behind what the others had reached while `b` was idle; `b` has been active since."""
    moments = [(1, "a", 57), (1, "b", 12), (3, "a", 57), (5, "a", 57), (7, "a", 57), (9, "b", 52), (11, "a", 15)]
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
        for number, (clock, partition, ts) in enumerate(moments)
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
    advances: list[tuple[int, int, dict[str, int]]] = []
    for point in sorted(clocked.collect(), key=lambda point: (point.watermark_ms or MIN, point.clock_us)):
        if point.watermark_ms is not None and (not advances or point.watermark_ms > advances[-1][1]):
            partitions = {p.source_partition: p.watermark_ms for p in point.partition_watermarks}
            advances.append((point.clock_us, point.watermark_ms, partitions))
    return advances


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


def test_only_a_marked_row_ends_the_silence_of_a_partition_for_sessions_too(session: SparkSession) -> None:
    """Row 11 is late only if a, whose row 9 is not marked, is still idle when row 10, of b, raises the watermark."""
    steps = [("a", 1000, 1000, True), ("b", 1001, 1010, True)]
    steps += [("b", 1000 + 100 * k, 1010 + k, True) for k in range(1, 8)]
    steps += [("a", 1801, 1015, False), ("b", 1802, 1100, True), ("b", 1803, 1050, False), ("a", 1804, 1200, True)]
    rows, pipeline = numbered_rows(steps), marked(1, {"kind": "session", "size_ms": 0, "gap_ms": 2})
    expected = reference.replay(rows, pipeline)
    assert [row["id"] for row in expected.late_events] == [11]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=SCHEMA), expected)


def test_highest_of_close_marks_counts_when_another_partition_continues(session: SparkSession) -> None:
    """The marks of a fire the same windows and arrive in one stretch; b goes on in a later one, and a's holds it."""
    steps = [("a", 900, 1000, True), ("b", 901, 1000, True)]
    steps += [("a", 1001, 1101, True), ("a", 1002, 1105, True), ("b", 1500, 1200, True)]
    rows, pipeline = numbered_rows(steps), marked(None, {"kind": "tumbling", "size_ms": 10})
    expected = reference.replay(rows, pipeline)
    assert table_time(1105) in [pane["watermark"] for pane in expected.panes]
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=SCHEMA), expected)
