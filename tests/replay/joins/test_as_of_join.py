"""Spark gives the rows and late rows of Flink's temporal join, row for row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline.model import AsOf
from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import join_as_of
from spark_jobs.semantics.rows.instants import micros, table_time_us
from tests.sampling import sampled
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.support.recorded_on_spark import chosen
from tests.vectors import spark_joins
from tests.vectors.as_of_joins import AsOfScenario, load_as_of_joins
from tests.vectors.outcomes import millis
from tests.vectors.scenarios import Recorded

pytestmark = pytest.mark.spark

CHOSEN = 24


def combinations(scenario: Recorded) -> set[tuple[Any, ...]]:
    """Return what a scenario has of everything that the engine treats apart."""
    declared = scenario.declared
    strategy, mode = declared["strategy"]["kind"], declared["emit"]["mode"]
    behind_rows = "bounded" if strategy == "monotonous" else strategy
    shared = bool(declared["join"]["shared_source"])
    return {(behind_rows, mode, "idle_timeout_ms" in declared), (shared, behind_rows), (shared, mode)}


def late_rows(scenario: AsOfScenario) -> int:
    """Return how many late rows of the left side it has."""
    return len(scenario.late[Side.LEFT])


ALL = sorted(load_as_of_joins(), key=late_rows, reverse=True)
SAMPLE = chosen(ALL, CHOSEN, combinations)


def test_sample_covers_every_combination() -> None:
    assert set().union(*map(combinations, SAMPLE)) == set().union(*map(combinations, ALL))


@pytest.mark.parametrize(
    "scenario",
    [sampled(s, quick=s in SAMPLE[::8], judges=s in SAMPLE, id=s.id) for s in ALL],
)
def test_spark_joins_as_of_a_time_as_flink(session: SparkSession, scenario: AsOfScenario) -> None:
    joined = on_spark(session, scenario)
    emitted = rows_of(joined.pairs)
    assert sorted((_index(row["left"]), _index(row["right"])) for row in emitted) == [
        (left, right) for left, right, _ in scenario.matches
    ]
    assert sorted((_index(row["left"]), micros(row["fired_at"])) for row in emitted) == sorted(clocks(scenario).items())
    assert all(millis(row["event_time"]) == row["left"]["ts"] for row in emitted)
    check_late(scenario, Side.LEFT, joined.late_left)
    check_late(scenario, Side.RIGHT, joined.late_right)


def on_spark(session: SparkSession, scenario: AsOfScenario) -> AsOfJoined:
    """Join a scenario on Spark."""
    pipeline = spark_joins.joining(*scenario.sources, scenario.emit)
    frames = inputs_of(session, spark_joins.rows_of(scenario)[::-1], pipeline)
    until = None if scenario.until_us is None else table_time_us(scenario.until_us)
    return as_of_join(*frames, pipeline, scenario.kind, until=until)


def clocks(scenario: AsOfScenario) -> dict[int, int]:
    """Return the clock of the emission of each left row that Flink emits, by the reference, which agrees with Flink."""
    numbered = zip(scenario.arrivals, spark_joins.rows_of(scenario), strict=True)
    arrivals = [replace(arrival, clock_us=row["arrival_us"]) for arrival, row in numbered]
    versioned = join_as_of(arrivals, scenario.emit, *scenario.sources, until_us=scenario.until_us)
    of_flink = {left for left, *_ in scenario.matches}
    by_index = {emitted.match.left.row["index"]: emitted.clock_us for emitted in versioned.emitted}
    return {index: clock_us for index, clock_us in by_index.items() if index in of_flink}


def check_late(scenario: AsOfScenario, side: Side, table: DataFrame) -> None:
    """Assert that each late row shows the last watermark of Flink's before it, and whether Flink joined it."""
    late = sorted(rows_of(table), key=lambda row: row["index"])
    assert [row["index"] for row in late] == scenario.late[side]
    joined = {left for left, right, _ in scenario.matches if right >= 0}
    for row in late:
        before = [watermark for after, watermark in scenario.watermarks if after < row["index"]]
        assert millis(row["watermark"]) == before[-1]
        assert row["late_by_ms"] == before[-1] - row["ts"]
        verdict = "kept" if side is Side.RIGHT else "joined" if row["index"] in joined else "unmatched"
        assert row["verdict"] == verdict


def test_rows_meet_by_key_and_not_all_with_all(session: SparkSession) -> None:
    scenario = max(ALL, key=late_rows)
    plan = on_spark(session, scenario).pairs._jdf.queryExecution().executedPlan().toString()
    assert not re.search(r"Cartesian|NestedLoopJoin .*(?:Left|Full)Outer", plan)
    assert "hashpartitioning(__tm_key_0" in plan


def test_one_source_is_split_and_two_are_not(session: SparkSession) -> None:
    scenario = SAMPLE[0]
    left, _ = scenario.sources
    shared, apart = (spark_joins.joining(left, right, scenario.emit) for right in (None, left))
    frame, _ = inputs_of(session, spark_joins.rows_of(scenario), shared)
    for right, pipeline in ((frame, shared), (None, apart)):
        with pytest.raises(ValueError, match="as many inputs"):
            as_of_join(frame, right, pipeline, AsOf.INNER)


def _index(row: dict[str, Any] | None) -> int:
    return -1 if row is None else int(row["index"])
