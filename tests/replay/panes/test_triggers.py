"""Windows that fire at intervals and by counts: Spark gives Flink's panes, and the reference's on drawn streams."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import (
    Accumulation,
    EmitKind,
    Pipeline,
    SourcePartition,
    Strategy,
    Trigger,
    TriggerKind,
    Windows,
)
from spark_jobs.semantics import reference
from spark_jobs.semantics.spec import WindowKind
from tests.sampling import sampled
from tests.support.aggregates import AGGREGATES
from tests.support.engine import assert_same_tables, in_order, spark_replay
from tests.support.recorded_on_spark import assert_continued_matches_reference, chosen, schema_of
from tests.support.recorded_triggers import ALL, combinations
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows
from tests.vectors.outcomes import calendar_of, late_of, panes_of
from tests.vectors.scenarios import Scenario

pytestmark = pytest.mark.spark


SAMPLE = chosen(ALL, 4, combinations)
CASES = [sampled(s, quick=s in SAMPLE[::2], judges=s in SAMPLE, id=s.id) for s in ALL]
RESTATED = [sampled(s, quick=False, judges=s in SAMPLE[::8], id=s.id) for s in ALL]


@pytest.mark.parametrize("scenario", CASES)
def test_spark_fires_as_flink_does(session: SparkSession, scenario: Scenario) -> None:
    schema = schema_of(scenario)
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=schema)
    assert panes_of(outcome, scenario.shown_clock_us) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert calendar_of(outcome, scenario.shown_clock_us) == scenario.calendar
    expected = reference.replay(scenario.rows, scenario.pipeline, until=scenario.until)
    assert without_members(outcome.window_results) == without_members(expected.window_results)
    assert in_order(outcome.late_events) == in_order(expected.late_events)


@pytest.mark.parametrize("scenario", RESTATED)
def test_continued_aggregates_equal_recomputed_ones(session: SparkSession, scenario: Scenario) -> None:
    assert_continued_matches_reference(session, scenario)


def without_members(results: list[dict[str, object]]) -> list[object]:
    """Results whose lists of rows are sorted: the lists have no defined order."""
    return in_order([{**row, "members": sorted(row["members"])} for row in results])  # type: ignore[call-overload]


WAYS = [(kind, trigger) for kind in ("tumbling", "sliding", "session") for trigger in ("continuous", "count")]
SEEDS = [
    sampled(
        *(*way, seed),
        quick=seed == 0 and way == ("sliding", "count"),
        judges=seed == 0 and i % 2 == 1,
        id=f"{way[0]}-{way[1]}-{seed}",
    )
    for seed in range(20)
    for i, way in enumerate(WAYS)
]


def drawn_windows(draw: random.Random, kind: str, trigger: str) -> Windows:
    """Windows some intervals long, and such as are shorter than one."""
    interval, n = draw.choice([1, 2, 3, 7]), draw.choice([1, 2, 3, 5])
    return Windows(
        kind=WindowKind(kind),
        size_ms=0 if kind == "session" else draw.choice([3, 10, 25]),
        offset_ms=0 if kind == "session" else draw.choice([0, 1]),
        slide_ms=draw.choice([2, 4, 13]) if kind == "sliding" else 0,
        gap_ms=draw.choice([1, 4, 12]) if kind == "session" else 0,
        key=draw.choice([(), ("key",)]),
        allowed_lateness_ms=draw.choice([0, 4, 50]),
        accumulation=draw.choice(list(Accumulation)),
        aggregates=draw.choice(AGGREGATES),
        trigger=Trigger(
            TriggerKind(trigger), interval if trigger == "continuous" else 0, n if trigger == "count" else 0
        ),
    )


@pytest.mark.parametrize(("kind", "trigger", "seed"), SEEDS)
def test_spark_matches_the_reference(session: SparkSession, kind: str, trigger: str, seed: int) -> None:
    draw = random.Random(f"{kind} {trigger} {seed}")
    strategy, emission = draw.choice(list(Strategy)), draw.choice(list(EmitKind))
    rows = [{**row, "key": draw.choice(["x", "y", None])} for row in drawn_rows(draw)]
    pipeline = drawn_pipeline(draw, strategy, emission, idle=strategy is not Strategy.NONE and draw.random() < 0.3)
    pipeline = replace(pipeline, windows=drawn_windows(draw, kind, trigger))
    expected = reference.replay(rows, pipeline)
    outcome = spark_replay(session, rows[::-1], pipeline, schema=SCHEMA.append(pa.field("key", pa.string())))
    assert_same_tables(outcome, expected)


def shown_every(interval_ms: int) -> Pipeline:
    """Windows of 10 ms of the whole stream, shown every so often, under a watermark that every row raises."""
    pipeline = drawn_pipeline(random.Random(0), Strategy.MONOTONOUS, EmitKind.PER_EVENT, idle=False)
    trigger = Trigger(TriggerKind.CONTINUOUS, interval_ms=interval_ms)
    return replace(
        pipeline,
        source=replace(pipeline.source, where=None, source_partition=SourcePartition()),
        windows=Windows(size_ms=10, aggregates=AGGREGATES[0], trigger=trigger),
    )


def test_only_the_first_of_identical_rows_comes_before_its_advance(session: SparkSession) -> None:
    pipeline = shown_every(2)
    constants = {"partition": "a", "mark": False, "value": None, "counts": True}
    rows = [{"id": ts, "ts": ts, "arrival_us": ts * 1000, **constants} for ts in (1, 3, 3, 3, 5, 9)]
    expected = reference.replay(rows, pipeline)
    outcome = spark_replay(session, rows, pipeline, schema=SCHEMA)
    assert [pane["rows"] for pane in expected.panes] == [2, 5, 6, 6]
    assert in_order(outcome.panes) == in_order(expected.panes)


def test_rows_may_be_shown_first_when_their_window_ends(session: SparkSession) -> None:
    """The row at 3 comes behind the instant 8: of the instants 4, 8 and 9 of its window the last alone shows it."""
    pipeline = shown_every(4)
    constants = {"partition": "a", "mark": False, "value": None, "counts": True}
    rows = [{"id": n, "ts": ts, "arrival_us": n * 1000, **constants} for n, ts in enumerate((1, 9, 3, 20))]
    expected = reference.replay(rows, pipeline)
    outcome = spark_replay(session, rows, pipeline, schema=SCHEMA)
    first = expected.panes[0]["window_start"]
    assert max(pane["rows"] for pane in expected.panes if pane["window_start"] == first) == 3
    assert in_order(outcome.panes) == in_order(expected.panes)
