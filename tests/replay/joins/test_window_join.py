"""Spark's co-group gives the panes of Flink's window operator, parted by side; its window join gives their pairs."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.replay.joins.window_join import WindowJoined, window_join
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.rows.instants import END_OF_INPUT, MAX, micros, table_time
from tests.sampling import sampled
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.support.recorded_on_spark import ALL, chosen, combinations
from tests.vectors.cogroups import CoGroupScenario, CoGroupTuple, load_cogroups
from tests.vectors.groups import GroupTuple, groups_of, load_of_two, sides_of, sources_of
from tests.vectors.outcomes import millis
from tests.vectors.scenarios import Recorded, Scenario
from tests.vectors.spark_joins import joining
from tests.vectors.spark_joins import rows_of as rows_of_both

pytestmark = pytest.mark.spark


def first_under(strategy: str, scenarios: list[CoGroupScenario]) -> CoGroupScenario:
    """The first of these under a strategy."""
    return next(scenario for scenario in scenarios if scenario.declared["strategy"]["kind"] == strategy)


def strategies(scenario: Recorded) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the watermarks of the left and of the right side follow, as declared."""
    left: dict[str, Any] = scenario.declared["strategy"]
    return left, scenario.declared.get("join", {}).get("right_strategy", left)


def in_one_calendar(scenario: Recorded) -> bool:
    """Whether one calendar serves both sides: tumbling windows, and watermarks that closed forms unite."""
    declared = scenario.declared
    kinds = {strategy["kind"] for strategy in strategies(scenario)}
    one_side_emits = "punctuated" in kinds and len(kinds) > 1 and declared["emit"]["mode"] != "per_event"
    return declared["window"]["kind"] == "tumbling" and "time_lag" not in kinds and not one_side_emits


# A partition of it joins in a stretch of the clock that holds no suspect row.
SILENT_STRETCH = [scenario for scenario in ALL if scenario.id == "s101-174"]
OF_ONE = [s for s in ALL if s not in SILENT_STRETCH]
NEVER_IDLE = [s for s in OF_ONE if "idle_timeout_ms" not in s.declared]
SAMPLE = SILENT_STRETCH + chosen([s for s in NEVER_IDLE if in_one_calendar(s)], 60, combinations)
SAMPLE += chosen([s for s in NEVER_IDLE if not in_one_calendar(s)], 60, combinations)
FEW = SAMPLE[:2] + [s for s in SAMPLE if s.declared["strategy"]["kind"] == "punctuated"][:1]
SAMPLE += chosen([s for s in OF_ONE if s not in NEVER_IDLE], 30, combinations)
OF_TWO = load_of_two()
FALLS_IDLE = sorted(OF_TWO, key=lambda s: -sum(isinstance(entry, str) for _, entry in s.sent))
FEW += [next(s for s in FALLS_IDLE if s.pipeline.windows.kind == kind) for kind in ("tumbling", "sliding", "session")]
RECORDED = sorted(load_cogroups(), key=lambda s: -min(s.recorded["dropped"], len(s.groups)))
IN_ONE_CALENDAR = [s for s in RECORDED if in_one_calendar(s)]
ONE_A_STRATEGY = [first_under(kind, IN_ONE_CALENDAR) for kind in ("bounded", "monotonous", "punctuated")]
# Of the others, replayed as united sources: one a kind of windows, and one of which one side alone emits at rows.
OTHERS = [s for s in RECORDED if not in_one_calendar(s)]
ONE_A_KIND = [next(s for s in OTHERS if s.windows.kind == kind) for kind in ("tumbling", "sliding", "session")]
SIDES_DIFFER = [s for s in IN_ONE_CALENDAR if operator.ne(*strategies(s))]
QUICK = [*ONE_A_STRATEGY, *ONE_A_KIND, *SIDES_DIFFER[:1]]


def joined(session: SparkSession, scenario: Scenario) -> WindowJoined:
    pipeline = scenario.pipeline
    left, *right = sources_of(scenario)
    two_inputs = joining(left, right[0] if right else None, pipeline.watermark.emit)
    rows = [{**row, "side": side.value} for row, side in zip(scenario.rows, sides_of(scenario), strict=True)]
    return window_join(*inputs_of(session, rows[::-1], two_inputs), two_inputs, pipeline.windows, until=scenario.until)


def firing(group: dict[str, Any]) -> tuple[Any, ...]:
    """The columns of a firing, as Flink's tuples have them."""
    return (
        group["key"],
        millis(group["window_start"]),
        millis(group["window_end"]),
        group["pane_index"],
        group["timing"],
        MAX if group["watermark"] == END_OF_INPUT else millis(group["watermark"]),
    )


def group_of(group: dict[str, Any]) -> GroupTuple:
    sides = [[row["index"] for row in group[side.value]] for side in Side]
    assert sides == [sorted(side) for side in sides]
    assert group["row_count"] == sum(map(len, sides))
    return GroupTuple(*firing(group), *map(tuple, sides))


@pytest.mark.parametrize(
    "scenario",
    [sampled(s, quick=s in FEW[::3], judges=s in FEW, id=s.id) for s in [*SAMPLE, *OF_TWO]],
)
def test_spark_groups_as_flink(session: SparkSession, scenario: Scenario) -> None:
    outcome = joined(session, scenario)
    groups, expected = rows_of(outcome.groups), groups_of(scenario.panes, sides_of(scenario))
    assert sorted(map(group_of, groups)) == expected
    fired = {pane[:4]: pane.fired_us for pane in scenario.panes}
    assert {firing(group)[:4]: scenario.shown_clock_us(micros(group["fired_at"])) for group in groups} == fired
    pairs = [(*firing(pair), pair["left"]["index"], pair["right"]["index"]) for pair in rows_of(outcome.pairs)]
    assert sorted(pairs) == sorted((*group[:6], *pair) for group in expected for pair in product(*group[6:]))
    late = [*rows_of(outcome.late_left), *rows_of(outcome.late_right)]
    assert sorted(row["index"] for row in late) == scenario.late
    assert all(row["late_by_ms"] == millis(row["watermark"]) - row["ts"] for row in late)


@pytest.mark.parametrize(
    "scenario",
    [sampled(s, quick=s in QUICK[::3], judges=s in QUICK, id=s.id) for s in RECORDED],
)
def test_spark_gathers_as_flink(session: SparkSession, scenario: CoGroupScenario) -> None:
    pipeline = joining(*scenario.sources, scenario.emit)
    rows = rows_of_both(scenario)
    inputs = inputs_of(session, rows[::-1], pipeline)
    until = table_time(scenario.declared["end_ms"]) if "end_ms" in scenario.declared else None
    outcome = window_join(*inputs, pipeline, scenario.windows, until=until)
    groups = [
        CoGroupTuple(g["key"], millis(g["window_end"]) - 1, arrived_by(rows, g, scenario), *group_of(g)[6:])
        for g in rows_of(outcome.groups)
    ]
    assert sorted(groups) == scenario.groups
    assert outcome.late_left.count() + outcome.late_right.count() == scenario.recorded["dropped"]


def arrived_by(rows: list[dict[str, Any]], group: dict[str, Any], scenario: CoGroupScenario) -> int:
    """The index of the last row before a firing: its own, or that before Flink's watermark, where its clock lies."""
    clock_us = micros(group["fired_at"])
    if group["watermark"] == END_OF_INPUT:
        return len(rows) - 1
    if group["timing"] == "late":
        index: int = next(row["index"] for row in rows if row["arrival_us"] == clock_us)
        return index
    reached = millis(group["watermark"])
    last = next(after for after, watermark in scenario.watermarks if watermark == reached)
    assert rows[last]["arrival_us"] <= clock_us
    assert all(clock_us <= row["arrival_us"] for row in rows[last + 1 :])
    return last
