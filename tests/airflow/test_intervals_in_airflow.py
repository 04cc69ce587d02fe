"""A range in intervals, through a real API server, scheduler and PostgreSQL, with real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

BACKFILL = "tidemark_backfill"
# Four intervals with all windows of the history; the third one does not meet the expectation.
RANGE = {"from": "2024-03-30T16:00:00Z", "to": "2024-03-31T04:00:00Z", "every": "3 hours"}
STARTS = [datetime(2024, 3, 30, 16, tzinfo=UTC), datetime(2024, 3, 30, 19, tzinfo=UTC)]
STARTS += [datetime(2024, 3, 30, 22, tzinfo=UTC), datetime(2024, 3, 31, 1, tzinfo=UTC)]
THIRD = "2024-03-30 22:00 to 2024-03-31 01:00"
QUALITY = "quality: {max_too_late_ratio: 1}"
FAILING = """quality:
  max_too_late_ratio: 1
  expectations:
    - type: expect_rows_to_satisfy
      table: window_results
      condition: "window_start < timestamp'2024-03-30T22:00:00Z' or window_start >= timestamp'2024-03-31T01:00:00Z'"
"""


def write_pipeline(clone: Clone, quality: str) -> None:
    text = drivers.PIPELINE.format(table=clone.lake / "events")
    clone.write("readings.yaml", text.replace("quality: {max_too_late_ratio: 0.5}", quality))


@pytest.fixture(name="clone", scope="module")
def _clone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone whose results are of other settings than its pipeline file."""
    clone = Clone.make(tmp_path_factory.mktemp("intervals") / "clone")
    history.land(spark, history.events(), clone.lake / "events")
    write_pipeline(clone, QUALITY)
    before = load(clone.root / "dags/pipelines/readings.yaml", overrides={"windows.allowed_lateness": "5 minutes"})
    Runner(spark, before, Lake(str(clone.lake), "readings")).run(Interval())
    write_pipeline(clone, FAILING)
    return clone


@pytest.fixture(name="airflow", scope="module")
def _airflow(clone: Clone) -> Iterator[Whole]:
    with whole(clone) as airflow:
        until(lambda: airflow.knows(BACKFILL) and airflow.knows("tidemark_readings"))
        yield airflow


@pytest.fixture(name="lake")
def _lake(clone: Clone) -> Lake:
    return Lake(str(clone.lake), "readings")


def start_run(airflow: Whole, **form: Any) -> str:
    """Start a backfill of the range with a form; return its id."""
    answer = airflow.trigger(BACKFILL, {"pipeline": "readings", "restate": True, **RANGE, **form})
    assert answer.status_code == httpx.codes.OK, answer.text
    return str(answer.json()["dag_run_id"])


def mapped(airflow: Whole, run: str, task: str) -> dict[str, str]:
    """Return the states of the tasks of intervals by their names."""
    instances = airflow.get(f"dags/{BACKFILL}/dagRuns/{run}/taskInstances", limit=200)["task_instances"]
    return {
        instance["rendered_map_index"]: instance["state"]
        for instance in instances
        if instance["task_id"] == f"intervals.{task}" and instance["map_index"] >= 0
    }


def starts(spark: SparkSession, lake: Lake) -> list[datetime | None]:
    """Return the first windows of the published parts of time, in the order of their publishing."""
    return [run.interval_start for run in ledger.published(spark, lake) if run.kind == ledger.BACKFILL]


def test_an_interval_that_fails_stops_no_other_and_is_the_rest_of_a_later_run(
    airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone
) -> None:
    run = start_run(airflow, side_by_side=2)
    assert airflow.ended(BACKFILL, run) == "failed"
    states = mapped(airflow, run, "two_at_a_time")
    assert len(states) == 4
    assert [name for name, state in states.items() if state != "success"] == [THIRD]
    tasks = airflow.tasks(BACKFILL, run)
    assert {tasks[task] for task in ("plan", "replay", "publish", "report")} == {"skipped"}
    assert tasks["intervals.summary"] == "failed"
    assert f"1 of 4 intervals failed:\\n  {THIRD}" in airflow.log(BACKFILL, run, "intervals.summary")
    assert set(starts(spark, lake)) == {*STARTS} - {STARTS[2]}

    write_pipeline(clone, QUALITY)
    run = start_run(airflow, only_missing=True)
    assert airflow.ended(BACKFILL, run) == "success"
    assert mapped(airflow, run, "one_at_a_time") == {THIRD: "success"}
    assert "left out: from 2024-03-30 16:00 to 2024-03-30 19:00" in airflow.log(BACKFILL, run, "intervals.cut")
    assert starts(spark, lake)[-1] == STARTS[2]
    pipeline = load(clone.root / "dags/pipelines/readings.yaml")
    assert_published(spark, lake, reference.replay(history.events(), pipeline))

    events = airflow.get("assets/events")["asset_events"]
    assert {event["extra"]["from"] for event in events} == {start.isoformat() for start in STARTS}

    run = start_run(airflow, only_missing=True)
    assert airflow.ended(BACKFILL, run) == "success"
    assert airflow.tasks(BACKFILL, run)["intervals.one_at_a_time"] == "skipped"
    assert len(starts(spark, lake)) == 4


def test_one_question_publishes_all_intervals_the_newest_first(airflow: Whole, spark: SparkSession, lake: Lake) -> None:
    before = len(starts(spark, lake))
    form = {"to": "2024-03-30T22:00:00Z", "order": "newest first", "approve": True, "allowed_lateness": "40 minutes"}
    run = start_run(airflow, **form)
    until(lambda: airflow.tasks(BACKFILL, run).get("intervals.approve") == "awaiting_input", 400, every_s=0.5)
    assert len(starts(spark, lake)) == before
    task = f"dags/{BACKFILL}/dagRuns/{run}/taskInstances/intervals.approve/-1/hitlDetails"
    assert airflow.get(task)["subject"] == "Publish 2 intervals of readings?"
    heard = f"executor event with state success for task instance TaskInstanceKey(dag_id='{BACKFILL}'"
    log = airflow.installation.logs / "scheduler.log"
    text = f"{heard}, task_id='intervals.approve', run_id='{run}'"
    until(lambda: text in log.read_text(encoding="utf-8", errors="replace"), every_s=0.2)
    with airflow.client() as client:
        body = {"chosen_options": ["Approve"], "params_input": {}}
        assert client.patch(f"/api/v2/{task}", json=body).status_code == httpx.codes.OK
    assert airflow.ended(BACKFILL, run) == "success"
    assert starts(spark, lake)[before:] == [STARTS[1], STARTS[0]]
    assert airflow.xcom(BACKFILL, run, "intervals.summary") == {"published": 2, "waiting": 0, "failed": 0}
