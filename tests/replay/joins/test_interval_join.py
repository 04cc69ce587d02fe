"""Spark gives the pairs and late rows of Flink's interval join, row for row."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Watermark
from spark_jobs.replay.joins.interval_join import interval_join
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import JoinSource
from tests.sampling import sampled
from tests.support.joining import Collected, inputs_of, spark_join
from tests.support.recorded_on_spark import chosen
from tests.vectors.joins import JoinScenario, load_joins
from tests.vectors.scenarios import Recorded
from tests.vectors.spark_joins import joining, rows_of

pytestmark = pytest.mark.spark

CHOSEN = 20


def combinations(scenario: Recorded) -> set[tuple[Any, ...]]:
    """What a scenario has of everything that the engine treats apart."""
    declared = scenario.declared
    strategy, mode = declared["strategy"]["kind"], declared["emit"]["mode"]
    behind_rows = "bounded" if strategy == "monotonous" else strategy
    watermark = (behind_rows, mode, "idle_timeout_ms" in declared)
    shared = bool(declared["join"].get("shared_source"))
    return {watermark, (shared, behind_rows), (shared, declared.get("register", "upfront"), mode)}


def fewest_rows(scenario: JoinScenario) -> int:
    """How many pairs, and late rows of either side, it has at the least."""
    return min(len(scenario.pairs), len(scenario.recorded["late_left"]))


ALL = sorted(load_joins(), key=fewest_rows, reverse=True)
SAMPLE = chosen(ALL, CHOSEN, combinations)


def test_sample_covers_every_combination() -> None:
    assert set().union(*map(combinations, SAMPLE)) == set().union(*map(combinations, ALL))
    assert len(ALL) == 178


@pytest.mark.parametrize(
    "scenario",
    [sampled(s, quick=s in SAMPLE[::6], judges=s in SAMPLE, id=s.id) for s in ALL],
)
def test_spark_joins_as_flink(session: SparkSession, scenario: JoinScenario) -> None:
    pipeline = joining(*scenario.sources, scenario.emit)
    joined = spark_join(session, rows_of(scenario)[::-1], pipeline, scenario.bounds)
    assert joined.pairs == scenario.pairs
    assert [index for index, *_ in joined.late[Side.LEFT]] == scenario.recorded["late_left"]
    assert [index for index, *_ in joined.late[Side.RIGHT]] == scenario.recorded["late_right"]
    assert_watermarks(joined, scenario)


def assert_watermarks(joined: Collected, scenario: JoinScenario) -> None:
    """Each late row shows the last watermark of Flink's before it."""
    for side in Side:
        for index, watermark, late_by_ms in joined.late[side]:
            before = [w for after, w in scenario.watermarks if after < index]
            assert watermark == before[-1]
            assert late_by_ms == watermark - scenario.declared["events"][index]["ts"]


def test_rows_meet_by_key_and_cell_and_not_all_with_all(session: SparkSession) -> None:
    pipeline = joining(*SAMPLE[0].sources, SAMPLE[0].emit)
    joined = spark_join(session, rows_of(SAMPLE[0]), pipeline, SAMPLE[0].bounds)
    plan = joined.lazy.pairs._jdf.queryExecution().executedPlan().toString()
    joins = re.findall(r"\w*(?:Join|Cartesian)\w*", plan)
    assert joins
    assert not [name for name in joins if "Cartesian" in name or "NestedLoop" in name]


def test_one_source_is_split_and_two_are_not(session: SparkSession) -> None:
    two = JoinSource(Watermark())
    shared, apart = (joining(two, right, SAMPLE[0].emit) for right in (None, two))
    frame, _ = inputs_of(session, rows_of(SAMPLE[0]), shared)
    for right, pipeline in ((frame, shared), (None, apart)):
        with pytest.raises(ValueError, match="as many inputs"):
            interval_join(frame, right, pipeline, SAMPLE[0].bounds)
