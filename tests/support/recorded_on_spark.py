"""Recorded scenarios as DataFrames, and which of them a quick run takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics import reference
from tests.support.engine import EVENTS, assert_same_tables, spark_replay
from tests.vectors.scenarios import Recorded, Scenario, load

OfKind = TypeVar("OfKind", bound=Recorded)


def chosen(scenarios: Sequence[OfKind], wanted: int, has: Callable[[OfKind], set[tuple[Any, ...]]]) -> list[OfKind]:
    """`wanted` scenarios: as few as cover all combinations, then as few others as do so again."""
    left, taken, covered = {s.id: has(s) for s in scenarios}, list[str](), set[tuple[Any, ...]]()
    while len(taken) < wanted:
        best = max(left, key=lambda name: len(left[name] - covered))
        if not left[best] - covered:
            covered.clear()
        covered |= left.pop(best)
        taken.append(best)
    return [scenario for scenario in scenarios if scenario.id in taken]


ALL = load()


def assert_restated_says_the_same(session: SparkSession, scenario: Scenario) -> None:
    """With aggregates that can be continued a scenario gives what the reference gives."""
    pipeline = continued(scenario.pipeline)
    outcome = spark_replay(session, scenario.rows, pipeline, until=scenario.until, schema=schema_of(scenario))
    assert_same_tables(outcome, reference.replay(scenario.rows, pipeline, until=scenario.until))


def schema_of(scenario: Scenario) -> pa.Schema:
    """The columns of a scenario's rows, which may be none."""
    is_punctuated = scenario.pipeline.watermark.when is not None
    return EVENTS.append(pa.field("marker", pa.bool_())) if is_punctuated else EVENTS


def continued(pipeline: Pipeline) -> Pipeline:
    """The pipeline with only such aggregates as late panes continue."""
    kept = tuple(a for a in pipeline.windows.aggregates if a.name != "members")
    mean = replace(kept[1], name="mean", expression="avg(value)")
    return replace(pipeline, windows=replace(pipeline.windows, aggregates=(*kept, mean)))
