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


def chosen(scenarios: Sequence[OfKind], count: int, has: Callable[[OfKind], set[tuple[Any, ...]]]) -> list[OfKind]:
    """`count` scenarios: as few as cover all combinations, then as few others as do so again."""
    left, ids, covered = {s.id: has(s) for s in scenarios}, list[str](), set[tuple[Any, ...]]()
    while len(ids) < count:
        best = max(left, key=lambda name: len(left[name] - covered))
        if not left[best] - covered:
            covered.clear()
        covered |= left.pop(best)
        ids.append(best)
    return [scenario for scenario in scenarios if scenario.id in ids]


ALL = load()


def assert_continued_matches_reference(session: SparkSession, scenario: Scenario) -> None:
    """Assert that a scenario with aggregates that can be continued gives the results of the reference."""
    pipeline = continued(scenario.pipeline)
    outcome = spark_replay(session, scenario.rows, pipeline, until=scenario.until, schema=schema_of(scenario))
    assert_same_tables(outcome, reference.replay(scenario.rows, pipeline, until=scenario.until))


def schema_of(scenario: Scenario) -> pa.Schema:
    """The columns of a scenario's rows, which may be none."""
    is_punctuated = scenario.pipeline.watermark.when is not None
    return EVENTS.append(pa.field("marker", pa.bool_())) if is_punctuated else EVENTS


def continued(pipeline: Pipeline) -> Pipeline:
    """The pipeline with only such aggregates as late panes continue."""
    aggregates = tuple(a for a in pipeline.windows.aggregates if a.name != "members")
    mean = replace(aggregates[1], name="mean", expression="avg(value)")
    return replace(pipeline, windows=replace(pipeline.windows, aggregates=(*aggregates, mean)))


def shape(scenario: Scenario) -> str:
    """The kind of windows; of sliding ones, how slide and size stand to each other."""
    windows = scenario.pipeline.windows
    if windows.kind != "sliding":
        return windows.kind
    if windows.slide_ms > windows.size_ms:
        return "gaps"
    return "uneven" if windows.size_ms % windows.slide_ms else "multiple"


def combinations(scenario: Scenario) -> set[tuple[Any, ...]]:
    """What a scenario has of everything that the engine treats apart: how watermarks move, what windows take."""
    declared = scenario.declared
    lateness, windows = declared["allowed_lateness_ms"], scenario.pipeline.windows
    watermark = (declared["strategy"]["kind"], declared["emit"]["mode"], "idle_timeout_ms" in declared)
    late = (bool(scenario.late), any(pane.timing == "late" for pane in scenario.panes))
    allowed = "none" if lateness == 0 else "long" if lateness > max(windows.size_ms, windows.gap_ms) else "short"
    strategy, mode, _ = watermark
    return {
        watermark,
        (shape(scenario), strategy),
        (shape(scenario), mode),
        (shape(scenario), declared["accumulation"], *late),
        (shape(scenario), allowed),
        (shape(scenario), "unassigned", bool(scenario.unassigned), bool(scenario.recorded["unassigned"])),
        (strategy, declared.get("register", "upfront")),
        (mode, *late),
        (strategy, "end_ms" in declared),
    }
