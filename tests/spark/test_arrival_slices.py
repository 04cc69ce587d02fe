"""Arrival slices: after each of them the published tables are what one job says that has seen as much."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.run import Outcome, Runner
from spark_jobs.pipeline import EndOfInput, Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import RESULT_TABLES, Lake
from spark_jobs.tables.publishing import Interval
from tests.spark import history
from tests.spark.engine import in_order
from tests.spark.test_custom_runs import detecting
from tests.spark.test_session_runs import sessions
from tests.spark.test_sliding_runs import SHAPES, sliding
from tests.spark.whole_run import published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

# At a tick and between two, before the first firing and behind the last row.
CUTS = [
    history.START + timedelta(minutes=4, seconds=3),
    history.START + timedelta(minutes=70),
    history.START + timedelta(minutes=131, seconds=17, milliseconds=250),
    history.START + timedelta(hours=9),
]


def taken(spark: SparkSession, pipeline: Pipeline, lake: Lake, arrived_to: datetime) -> list[Outcome]:
    """The steps of a run but its report."""
    runner = Runner(spark, pipeline, lake)
    planned, outcome = runner.begin(Interval(), arrived_to)
    steps = ("replay", "audit", "publish")
    return [outcome, *(runner.step(step, runner.find(planned.run.run_id)) for step in steps)]


def seen(rows: list[dict[str, Any]], pipeline: Pipeline, arrived_to: datetime) -> reference.Replay:
    """What a job says that has seen what arrived before a moment."""
    there = [row for row in rows if row["stored_at"] is None or row["stored_at"] < arrived_to]
    still = replace(pipeline, replay=replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN))
    return reference.replay(there, still, until=arrived_to)


def assert_slices_follow(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, cuts: list[datetime] = CUTS
) -> list[ledger.Run]:
    rows = history.events()
    for cut in cuts:
        outcomes = taken(spark, pipeline, lake, cut)
        assert [outcome.state for outcome in outcomes] == ["done"] * 4
        expected, found = seen(rows, pipeline, cut), published(spark, lake)
        for name in RESULT_TABLES:
            assert found[name] == in_order(getattr(expected, name)), (name, cut)
    return ledger.published(spark, lake)


KINDS = {
    "sliding": lambda table: sliding(table, **SHAPES["overlapping"]),
    "with gaps": lambda table: sliding(table, **SHAPES["with gaps"]),
    "sessions": sessions,
    "by row": lambda table: history.pipeline(table, watermark__emit="per_event"),
    "idle": lambda table: history.pipeline(table, watermark__idle_timeout="20 seconds"),
    "custom": detecting,
    "no lateness": lambda table: history.pipeline(table, windows__allowed_lateness="0s"),
    "retracting": lambda table: history.pipeline(table, windows__accumulation="retracting"),
    "gathered": lambda table: history.pipeline(table, windows__late_panes="per_epoch"),
    "early": lambda table: history.pipeline(table, windows__trigger="{kind: count, n: 5}"),
}


def test_slices_that_follow_each_other_publish_what_one_job_says(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    runs = assert_slices_follow(spark, pipeline, lake)
    assert [run.arrived_to for run in runs] == CUTS
    assert [run.arrived_from for run in runs] == [None, None, *CUTS[1:-1]]
    assert min(runs[-1].counts["late"], runs[-1].counts["too_late"]) > 0
    # What is covered is not done again; a part of time is replayed as of what is published.
    before = published(spark, lake)
    assert {outcome.state for outcome in taken(spark, pipeline, lake, CUTS[1])} == {"unchanged"}
    hour = Interval(history.START, history.START + timedelta(hours=1))
    assert [outcome.state for outcome in Runner(spark, pipeline, lake).run(hour)] == ["done"] * 5
    assert published(spark, lake) == before


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_slices_of_every_kind(spark: SparkSession, table: str, lake: Lake, kind: str) -> None:
    assert_slices_follow(spark, KINDS[kind](table), lake)


def test_what_cannot_be_cut_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    by_event_time = Runner(spark, history.pipeline(table, replay__order="event_time"), lake)
    with pytest.raises(InputError, match="found a replay in the order of event_time, where rows have no arrival"):
        by_event_time.plan(Interval(), CUTS[0])
    runner = Runner(spark, history.pipeline(table), lake)
    with pytest.raises(InputError, match="which is still to come"):
        runner.plan(Interval(), datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1))
    with pytest.raises(InputError, match="expected whole milliseconds"):
        runner.plan(Interval(), CUTS[0] + timedelta(microseconds=1))
    with pytest.raises(InputError, match="and with --from or --to for one of windows"):
        runner.plan(Interval(CUTS[1], None), CUTS[1])
