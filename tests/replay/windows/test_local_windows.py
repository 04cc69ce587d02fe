"""Windows by the clock of a zone on Spark: every column equals the reference's grid, and every replay its result."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Accumulation, Aggregate, EmitKind, Pipeline, Strategy, WindowKind, Windows
from spark_jobs.replay import replay
from spark_jobs.replay.rows import window_assigners
from spark_jobs.semantics import reference
from spark_jobs.semantics.windows.window_assigners import assigner
from tests.sampling import sampled
from tests.support.engine import aware, in_order
from tests.support.local_days import DAY, HOUR, ODD_DAYS, ZONES, ms
from tests.support.streams import SCHEMA, START_MS, drawn_pipeline, drawn_rows

pytestmark = pytest.mark.spark

LENGTHS = (
    (DAY, DAY, 0),
    (7 * DAY, 7 * DAY, 4 * DAY),
    (3 * DAY, DAY, 6 * HOUR),
    (3 * DAY, 2 * DAY, 0),
    (DAY, 2 * DAY, 0),
)
DDL = "id long, partition string, ts long, arrival_us long, mark boolean, value long, counts boolean"
TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")


def declared(zone: str, lengths: tuple[int, int, int]) -> Windows:
    size, slide, offset = lengths
    kind = WindowKind.TUMBLING if size == slide else WindowKind.SLIDING
    return Windows(size_ms=size, slide_ms=slide, offset_ms=offset, kind=kind, timezone=zone)


@pytest.mark.parametrize(
    "lengths",
    [pytest.param(each, marks=[] if each == LENGTHS[2] else [pytest.mark.soak]) for each in LENGTHS],
    ids=lambda lengths: f"{lengths[0] // DAY}-by-{lengths[1] // DAY}",
)
def test_columns_equal_the_grid(session: SparkSession, lengths: tuple[int, int, int]) -> None:
    for zone in ZONES:
        draw, spec = random.Random(zone), declared(zone, lengths)
        instants = sorted(
            {ms(day) + draw.randrange(-2 * DAY, 2 * DAY) // HOUR * HOUR for day in ODD_DAYS for _ in range(25)}
        )
        frame = session.createDataFrame([(ts,) for ts in instants], "ts long")
        ts = F.col("ts")
        newest, oldest = window_assigners.start_ms(ts, spec), window_assigners.oldest_ms(ts, spec)
        of_slice = window_assigners.slice_ms(ts, spec)
        columns = {
            "newest": newest,
            "oldest": oldest,
            "starts": F.when(oldest <= newest, window_assigners.starts_ms(oldest, newest, spec)),
            "count": window_assigners.count_between(oldest, newest, spec),
            "end": window_assigners.end_ms(newest, spec),
            "next": window_assigners.next_ms(newest, spec),
            "of_slice": of_slice,
            "slice_newest": window_assigners.start_ms(of_slice, spec),
            "slice_oldest": window_assigners.oldest_ms(of_slice, spec),
            "fired": window_assigners.latest_with_last_ms(ts, spec),
            "last_of_fired": window_assigners.last_ms(window_assigners.latest_with_last_ms(ts, spec), spec),
            "after_fired": window_assigners.last_ms(
                window_assigners.next_ms(window_assigners.latest_with_last_ms(ts, spec), spec), spec
            ),
        }
        for row in frame.select("ts", *(column.alias(name) for name, column in columns.items())).collect():
            windows = sorted(assigner(spec).assign(row.ts))
            assert (row.starts or []) == [w.start for w in windows], (zone, row)
            assert row["count"] == len(windows)
            assert row.newest <= row.ts < row.next
            if windows:
                assert (row.oldest, row.newest, row.end) == (windows[0].start, windows[-1].start, windows[-1].end)
            assert (row.slice_oldest, row.slice_newest) == (row.oldest, row.newest)
            assert row.last_of_fired <= row.ts < row.after_fired


def test_columns_of_no_time_are_null(session: SparkSession) -> None:
    spec, nothing = declared("Europe/Berlin", LENGTHS[2]), F.lit(None).cast("long")
    columns = (window_assigners.start_ms, window_assigners.oldest_ms, window_assigners.latest_with_cleanup_ms)
    row = session.range(1).select(*(column(nothing, spec).alias(column.__name__) for column in columns)).collect()[0]
    assert set(row.asDict().values()) == {None}


def stretched(rows: list[dict[str, Any]], start_ms: int, factor: int) -> list[dict[str, Any]]:
    """Return the rows in other times: a millisecond lasts `factor`."""

    def moved(at: int | None) -> int | None:
        return None if at is None else start_ms + (at - START_MS) * factor

    return [
        {
            **row,
            "ts": moved(row["ts"]),
            "value": moved(row["value"]),
            "arrival_us": start_ms * 1000 + (row["arrival_us"] - START_MS * 1000) * factor,
        }
        for row in rows
    ]


def drawn_case(number: int) -> tuple[list[dict[str, Any]], Pipeline]:
    """Rows around a change of the clock, and a pipeline with windows of days."""
    draw = random.Random(f"local-{number}")
    factor, zone = draw.choice([HOUR, 3 * HOUR, 6 * HOUR]), draw.choice(ZONES)
    rows = stretched(drawn_rows(draw), ms(draw.choice(ODD_DAYS)) - draw.randrange(10) * DAY, factor)
    strategy = draw.choice(
        [Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED, Strategy.TIME_LAG]
    )
    pipeline = drawn_pipeline(draw, strategy, draw.choice(list(EmitKind)), idle=draw.random() < 0.3)
    watermark, emit = pipeline.watermark, pipeline.watermark.emit
    slower = replace(
        watermark,
        out_of_orderness_ms=watermark.out_of_orderness_ms * factor,
        lag_ms=watermark.lag_ms * factor,
        idle_timeout_ms=None if watermark.idle_timeout_ms is None else watermark.idle_timeout_ms * factor,
        emit=replace(emit, interval_ms=emit.interval_ms * factor, phase_ms=emit.phase_ms * factor),
    )
    windows = replace(
        declared(zone, draw.choice(LENGTHS)),
        allowed_lateness_ms=draw.choice([0, 5 * HOUR, 3 * DAY]),
        accumulation=draw.choice(list(Accumulation)),
        aggregates=(
            Aggregate("rows", "count(*)"),
            Aggregate("total", "sum(id)"),
            Aggregate("hours", "max(unix_millis(window_end) - unix_millis(window_start))"),
        )[: draw.choice([2, 2, 3])],
    )
    return rows, replace(pipeline, watermark=slower, windows=windows)


def check(session: SparkSession, number: int) -> None:
    rows, pipeline = drawn_case(number)
    aggregates = {"hours": lambda rows: int((rows[0]["window_end"] - rows[0]["window_start"]).total_seconds() * 1000)}
    expected = reference.replay(rows, pipeline, aggregates=aggregates)
    actual = replay(
        session.createDataFrame([{name: row[name] for name in SCHEMA.names} for row in rows], DDL), pipeline
    )
    for name in TABLES[:5]:
        found_rows = [{n: aware(v) for n, v in row.items()} for row in getattr(actual, name).toArrow().to_pylist()]
        assert in_order(found_rows) == in_order(getattr(expected, name)), (number, name)


@pytest.mark.parametrize("number", [sampled(n, quick=n < 1) for n in range(2)])
def test_replays_equal_the_reference(session: SparkSession, number: int) -> None:
    check(session, number)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(2, 120))
def test_many_replays_equal_the_reference(session: SparkSession, number: int) -> None:
    check(session, number)
