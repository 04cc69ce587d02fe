"""Spark gives Flink's panes, late rows and watermarks, row for row, on scenarios chosen over all combinations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics import reference
from tests.spark.engine import spark_replay
from tests.vectors.scenarios import Scenario, calendar_of, late_of, load, panes_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("partition", pa.string()),
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("arrival_us", pa.int64()),
        ("value", pa.float64()),
    ]
)
CHOSEN = 88


def combination(scenario: Scenario) -> tuple[Any, ...]:
    """What a scenario has of everything that the engine treats apart."""
    declared = scenario.declared
    lateness = declared["allowed_lateness_ms"]
    return (
        declared["emit"]["mode"],
        declared.get("register", "upfront"),
        declared["accumulation"],
        "none" if lateness == 0 else "long" if lateness > declared["window"]["size_ms"] else "short",
        bool(scenario.late),
        any(pane.timing == "late" for pane in scenario.panes),
    )


def chosen(scenarios: Iterable[Scenario], wanted: int, told: Callable[[Scenario], Any]) -> list[Scenario]:
    """`wanted` scenarios, from each kind of them in turn, of which `told` tells."""
    by_combination = defaultdict(list)
    for scenario in scenarios:
        by_combination[told(scenario)].append(scenario)
    in_turn = chain.from_iterable(zip_longest(*by_combination.values()))
    return [scenario for scenario in in_turn if scenario is not None][:wanted]


ALL = [scenario for scenario in load() if scenario.declared["window"]["kind"] == "tumbling"]
SAMPLE = chosen(ALL, CHOSEN, combination)


def test_sample_covers_every_combination() -> None:
    assert {combination(scenario) for scenario in SAMPLE} == {combination(scenario) for scenario in ALL}
    assert len(SAMPLE) >= 80


@pytest.mark.parametrize("scenario", SAMPLE, ids=lambda scenario: scenario.id)
def test_spark_says_what_flink_said(session: SparkSession, scenario: Scenario) -> None:
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=SCHEMA)
    assert panes_of(outcome) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert calendar_of(outcome) == scenario.calendar


@pytest.mark.parametrize("scenario", SAMPLE[::3], ids=lambda scenario: scenario.id)
def test_continued_aggregates_say_the_same_as_recomputed_ones(session: SparkSession, scenario: Scenario) -> None:
    pipeline = continued(scenario.pipeline)
    outcome = spark_replay(session, scenario.rows, pipeline, until=scenario.until, schema=SCHEMA)
    expected = reference.replay(scenario.rows, pipeline, until=scenario.until)
    assert in_order(outcome.panes) == in_order(expected.panes)
    assert in_order(outcome.window_results) == in_order(expected.window_results)
    assert in_order(outcome.late_events) == in_order(expected.late_events)
    assert in_order(outcome.watermarks) == in_order(expected.watermarks)


def continued(pipeline: Pipeline) -> Pipeline:
    """The pipeline with only such aggregates as late panes continue."""
    kept = tuple(a for a in pipeline.windows.aggregates if a.name != "members")
    mean = replace(kept[1], name="mean", expression="avg(value)")
    return replace(pipeline, windows=replace(pipeline.windows, aggregates=(*kept, mean)))


def in_order(rows: list[dict[str, Any]]) -> list[Any]:
    """Rows as comparable text-free tuples, whatever order they came in."""
    return sorted((sorted(row.items(), key=lambda item: item[0]) for row in rows), key=str)
