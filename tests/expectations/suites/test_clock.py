"""Invariants of the tables of a run drawn by hand: exactly the invariants about a corruption report it.

One audit reads all corruptions. Each is in its own copy of the drawn run, a hundred seconds after the copy before it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations.staged import Staged
from expectations.suites import SUITES, watermarks
from spark_jobs.pipeline.model import EndOfInput
from spark_jobs.semantics import reference
from tests.expectations.corruptions import Corruption, cases, of_runs
from tests.expectations.corruptions.good_runs import good_run, replayed
from tests.expectations.corruptions.runner import reported_by, reported_together_by
from tests.sampling import sampled
from tests.support.generated_run import at, change, interpreted
from tests.vectors.scenarios import Scenario, load

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

DRAWN = good_run("drawn")


@pytest.fixture(scope="module")
def invariants_by_name(spark: SparkSession) -> Mapping[str, set[str]]:
    """The invariants that report each corruption, by its name."""
    return reported_together_by(spark, of_runs("drawn"))


@pytest.mark.parametrize("corruption", cases("drawn"))
def test_the_invariants_about_a_corruption_report_it(
    invariants_by_name: Mapping[str, set[str]], corruption: Corruption
) -> None:
    assert invariants_by_name[corruption.name] == corruption.reported_by


TUMBLING = [
    scenario
    for scenario in load()
    if scenario.pipeline.windows.kind == "tumbling" and scenario.late
    if any(pane.timing == "late" for pane in scenario.panes)
]
SCENARIOS = TUMBLING[:: len(TUMBLING) // 6]


@pytest.mark.parametrize("end", [sampled(end, quick=end is EndOfInput.CLOSE) for end in EndOfInput])
@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SCENARIOS[::3], id=s.id) for s in SCENARIOS])
def test_no_invariant_reports_what_flink_emits(spark: SparkSession, scenario: Scenario, end: EndOfInput) -> None:
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    outcome = reference.replay(scenario.rows, pipeline, until=scenario.until)
    assert reported_by(spark, replayed(outcome, pipeline, outcome.counts)) == set()


@pytest.mark.parametrize(("slow", "fast", "violations"), [(10, 20.5, 0), (20.5, 30, 0), (20.4, 20.6, 1)])
def test_where_partitions_fall_idle_windows_fire_at_the_watermark_of_one(
    spark: SparkSession, slow: float, fast: float, violations: int
) -> None:
    pipeline = replace(DRAWN.pipeline, watermark=replace(DRAWN.pipeline.watermark, idle_timeout_ms=1_000))
    partitions = [{"source_partition": "0", "watermark": at(slow)}, {"source_partition": "1", "watermark": at(fast)}]
    rows = copy.deepcopy(DRAWN.rows)
    change("watermarks", 1, partition_watermarks=partitions)(rows)
    staged = Staged(replace(DRAWN, rows=rows).frames(spark), pipeline, DRAWN.counts)
    invariant = next(
        invariant
        for invariant in watermarks.invariants(pipeline)
        if invariant.name == "the_watermark_is_that_of_a_partition"
    )
    with interpreted(spark):
        assert watermarks.rows(staged).where(~F.expr(invariant.condition)).count() == violations
    staged.release()


def test_every_invariant_of_rows_has_a_corruption() -> None:
    invariants = {
        f"{suite.name}.{invariant.name}"
        for suite in SUITES
        if suite.name not in {"source", "run", "plausibility"}
        for invariant in suite.invariants(DRAWN.pipeline)
    }
    # The drawn late events have no columns of their source. Whole runs have them, and a corruption of them.
    invariants -= {"late_events.late_events_are_as_their_columns_say"}
    assert invariants == set().union(*(corruption.reported_by for corruption in of_runs("drawn")))
