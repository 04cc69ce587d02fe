"""Flink's recorded answers, computed in pieces: by arrival, by event time, in several commits, in any order.

What runs publish piece after piece is what Flink emitted for the whole stream, row for row.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import EndOfInput, Pipeline
from spark_jobs.semantics.rows.instants import MAX, table_time
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support.engine import frame_of, rows_of
from tests.support.recorded_on_spark import ALL, chosen, combinations, schema_of
from tests.support.recorded_triggers import ALL as TRIGGERS
from tests.support.recorded_triggers import combinations as of_triggers
from tests.support.whole_run import run_steps
from tests.vectors.outcomes import late_of, panes_of
from tests.vectors.scenarios import Scenario

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

EACH = 40


def before_end(scenario: Scenario) -> tuple[Scenario, int]:
    """The scenario as far as its rows came before a millisecond, the input being open; and that millisecond.

    It is where the recorded clock has ended, or the arrival of the last rows, which are then not of it.
    """
    rows, end_ms = scenario.rows, scenario.declared.get("end_ms")
    if end_ms is None:
        end_ms = rows[-1]["arrival_us"] // 1000
    count = sum(row["arrival_us"] < end_ms * 1000 for row in rows)
    panes = [p for p in scenario.recorded["panes"] if p["after_event"] < count and p["watermark"] < MAX]
    late = [index for index in scenario.recorded["late"] if index < count]
    return Scenario(scenario.declared, {**scenario.recorded, "panes": panes, "late": late}), end_ms


def fires_while_open(scenario: Scenario) -> bool:
    """Whether panes fire in it while the input is open."""
    return len(scenario.rows) > 5 and len(before_end(scenario)[0].panes) > 2


FIRING, FIRING_TRIGGERS = [s for s in ALL if fires_while_open(s)], [s for s in TRIGGERS if fires_while_open(s)]
BY_ARRIVAL = chosen(FIRING, EACH, combinations) + chosen(FIRING_TRIGGERS, EACH // 4, of_triggers)


def cuts(draw: random.Random, scenario: Scenario) -> list[int]:
    """Milliseconds up to which runs take arrivals, before the last one.

    None belongs to the last run: by then its results are published, and rows stored later are left to the next run.
    """
    first_ms, end_ms = scenario.rows[0]["arrival_us"] // 1000, before_end(scenario)[1]
    drawn = {draw.randrange(first_ms, end_ms) + 1 for _ in range(draw.randint(1, 3))}
    return sorted({min(cut, end_ms - 1) for cut in drawn})


# A run that closes its input does so at the last arrival, not where a recorded clock goes on.
ENDED, ENDED_TRIGGERS = [[s for s in scenarios[::-1] if s.until is None] for scenarios in (FIRING, FIRING_TRIGGERS)]
BY_EVENT_TIME = chosen(ENDED, EACH, combinations) + chosen(ENDED_TRIGGERS, EACH // 4, of_triggers)


@dataclass(frozen=True)
class Published:
    """What Flink's answer is about, as it is published; no `watermarks` of sessions."""

    panes: list[dict[str, Any]]
    late_events: list[dict[str, Any]]
    watermarks: list[dict[str, Any]]


def published(spark: SparkSession, lake: Lake) -> Published:
    """The tables of the newest run."""
    return Published(*(rows_of(read_published(spark, lake, name)) for name in Published.__annotations__))


def stored(scenario: Scenario, table: Path, end_of_input: EndOfInput) -> Pipeline:
    """The scenario's pipeline over a table."""
    pipeline = scenario.pipeline
    return replace(
        pipeline,
        source=replace(pipeline.source, table=str(table)),
        replay=replace(pipeline.replay, end_of_input=end_of_input),
        # Event times of scenarios are milliseconds after 1970, arrivals are of today.
        quality=replace(pipeline.quality, max_too_late_ratio=1.0, max_arrival_lag_ms=None),
    )


def land(spark: SparkSession, scenario: Scenario, rows: list[dict[str, Any]], table: Path) -> None:
    """Append rows in any order."""
    frame = frame_of(spark, rows, schema_of(scenario)).coalesce(1)
    frame.write.format("delta").mode("append").save(str(table))


@pytest.mark.soak
@pytest.mark.parametrize("scenario", BY_ARRIVAL, ids=lambda scenario: scenario.id)
def test_consecutive_arrivals_match_flink(spark: SparkSession, tmp_path: Path, lake: Lake, scenario: Scenario) -> None:
    draw, table = random.Random(scenario.id), tmp_path / "rows"
    pipeline = stored(scenario, table, EndOfInput.KEEP_OPEN)
    expected, end_ms = before_end(scenario)
    moments = cuts(draw, scenario)
    behind = draw.sample(scenario.rows, 2) if draw.random() < 0.25 else []
    waiting = [row for row in scenario.rows if row not in behind]
    for cut in moments:
        batch = [row for row in waiting if row["arrival_us"] < (cut + 2) * 1000]
        waiting = waiting[len(batch) :]
        if batch or not table.exists():
            land(spark, scenario, draw.sample(batch, len(batch)), table)
        run_steps(spark, pipeline, lake, arrived_to=table_time(cut))
        if draw.random() < 0.3:
            run_steps(spark, pipeline, lake, draw.choice(list(parts(draw, scenario))))
    if waiting or behind:
        land(spark, scenario, waiting + behind, table)
    run_steps(spark, pipeline, lake, arrived_to=table_time(end_ms))
    outcome = published(spark, lake)
    assert panes_of(outcome, scenario.shown_clock_us) == expected.panes, moments
    assert late_of(outcome) == expected.late, moments


@pytest.mark.soak
@pytest.mark.parametrize("scenario", BY_EVENT_TIME, ids=lambda scenario: scenario.id)
def test_parts_of_event_time_in_any_order_match_flink(
    spark: SparkSession, tmp_path: Path, lake: Lake, scenario: Scenario
) -> None:
    draw, table = random.Random(scenario.id), tmp_path / "rows"
    pipeline = stored(scenario, table, EndOfInput.CLOSE)
    half = draw.randrange(1, len(scenario.rows))
    rows = draw.sample(scenario.rows, len(scenario.rows))
    for some in (rows[:half], rows[half:]):
        land(spark, scenario, some, table)
    pieces = list(parts(draw, scenario))
    again = draw.choice(pieces)
    for piece in (*draw.sample(pieces, len(pieces)), Interval(again.start, pieces[-1].end)):
        run_steps(spark, pipeline, lake, piece, slices=draw.randint(1, 3))
    outcome = published(spark, lake)
    assert panes_of(outcome, scenario.shown_clock_us) == scenario.panes, pieces
    assert late_of(outcome) == scenario.late, pieces


def parts(draw: random.Random, scenario: Scenario) -> Iterator[Interval]:
    """Pieces of event time that follow each other and hold all windows."""
    windows = scenario.pipeline.windows
    period = windows.period_ms or 1
    times = [row["ts"] for row in scenario.rows]
    first = min(times) - windows.size_ms
    first -= (first - windows.offset_ms) % period
    periods = (max(times) - first) // period + 1
    inner = {first + period * draw.randrange(1, periods) for _ in range(draw.randint(1, 3))} if periods > 1 else set()
    for start, end in pairwise(sorted({first, *inner, first + period * periods})):
        yield Interval(table_time(start), table_time(end))
