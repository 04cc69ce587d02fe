"""Scheduled runs and Airflow's own backfills of them, in whatever order: in the end what one run publishes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import load
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

DAG = "tidemark_readings"
FIRST, LAST = history.START, history.START + timedelta(hours=4)
# Hours of two days of the year, so that none begins while a test runs.
SCHEDULED = 'schedule: "0 * 30-31 3 *"\nreplay: {end_of_input: keep_open}\n'
# Two hours of a day of the year, the first of them with most of the rows.
SINCE = '{cron: "0 0,1 31 3 *", start: 2024-03-30, catchup: true, slices: 2}'
CAUGHT_UP = f"schedule: {SINCE}\nreplay: {{end_of_input: keep_open}}\n"


@pytest.fixture(name="clone")
def _clone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("scheduled") / "clone")
    table = history.land(spark, history.events(), clone.lake / "events")
    clone.write("readings.yaml", drivers.PIPELINE.format(table=table) + SCHEDULED)
    return clone


@pytest.fixture(name="airflow")
def _airflow(clone: Clone) -> Iterator[Whole]:
    with whole(clone) as airflow:
        until(lambda: airflow.knows(DAG))
        yield airflow


@pytest.fixture(name="lake")
def _lake(clone: Clone) -> Lake:
    return Lake(str(clone.lake), "readings")


def backfilled(airflow: Whole, **settings: Any) -> None:
    """Ask for a native backfill of five hours, once the one before is complete."""
    until(lambda: all(backfill["completed_at"] for backfill in airflow.get("backfills", dag_id=DAG)["backfills"]))
    request = {
        "dag_id": DAG,
        "from_date": FIRST.isoformat(),
        "to_date": LAST.isoformat(),
        "max_active_runs": 1,
        "dag_run_conf": {},
        **settings,
    }
    with airflow.client() as client:
        answer = client.post("/api/v2/backfills", json=request)
        assert answer.status_code == httpx.codes.OK, answer.text


def of_type(airflow: Whole, kind: str) -> list[dict[str, Any]]:
    """Return the runs of a type, in the order of their intervals."""
    runs = airflow.get(f"dags/{DAG}/dagRuns", run_type=kind, limit=100)["dag_runs"]
    return sorted(runs, key=lambda run: str(run["data_interval_end"]))


def ended(airflow: Whole) -> list[str]:
    """The states of the backfill's runs, when all of them have ended."""
    until(lambda: {run["state"] for run in of_type(airflow, "backfill")} <= {"success", "failed"}, 1500, every_s=1)
    return [run["state"] for run in of_type(airflow, "backfill")]


def changed(airflow: Whole, run: dict[str, Any] | None = None, **fields: Any) -> None:
    """Change the DAG, or a run of it."""
    path = f"/api/v2/dags/{DAG}" + (f"/dagRuns/{run['dag_run_id']}" if run else "")
    with airflow.client() as client:
        answer = client.patch(path, json=fields)
        assert answer.status_code == httpx.codes.OK, answer.text


def unpaused_without_its_scheduled_run(airflow: Whole) -> None:
    """Let the DAG run; the run of the newest interval, which would publish everything at once, is cancelled."""
    changed(airflow, is_paused=False)
    until(lambda: bool(of_type(airflow, "scheduled")))
    (run,) = of_type(airflow, "scheduled")
    changed(airflow, run, state="failed")


def test_intervals_forth_with_one_that_is_blocked_and_a_scheduler_that_dies(
    airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone
) -> None:
    file = clone.root / "dags/pipelines/readings.yaml"
    pipeline, text = load(file), file.read_text(encoding="utf-8")
    backfilled(airflow)
    unpaused_without_its_scheduled_run(airflow)
    until(lambda: len(ledger.published(spark, lake)) == 1, 400, every_s=1)
    file.write_text(text.replace("max_too_late_ratio: 0.5", "max_too_late_ratio: 0"), encoding="utf-8")
    until(lambda: "failed" in [run["state"] for run in of_type(airflow, "backfill")], 400, every_s=1)
    file.write_text(text, encoding="utf-8")
    airflow.restart("scheduler")
    states = ended(airflow)
    assert len(states) == 5
    assert states[0] == states[-1] == "success"
    assert "failed" in states
    # The intervals behind a blocked one publish it too; cleared, its run has nothing left to do.
    for run in of_type(airflow, "backfill"):
        if run["state"] == "failed":
            with airflow.client() as client:
                path = f"/api/v2/dags/{DAG}/dagRuns/{run['dag_run_id']}/clear"
                assert client.post(path, json={"dry_run": False}).status_code == httpx.codes.OK
    until(lambda: ended(airflow) == ["success"] * 5, 600, every_s=1)
    last = LAST + timedelta(hours=1)
    assert ledger.published(spark, lake)[-1].arrived_to == last
    assert_published(spark, lake, replay_until(history.events(), pipeline, last))

    # The same intervals again, from the last to the first.
    before = [run.run_id for run in ledger.published(spark, lake)]
    backfilled(airflow, run_backwards=True, reprocess_behavior="completed")
    assert ended(airflow) == ["success"] * 5
    assert [run.run_id for run in ledger.published(spark, lake)] == before
    assert_published(spark, lake, replay_until(history.events(), pipeline, last))


def test_intervals_back_beside_the_scheduled_run(airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone) -> None:
    backfilled(airflow, run_backwards=True)
    changed(airflow, is_paused=False)
    assert ended(airflow) == ["success"] * 5
    until(lambda: [run["state"] for run in of_type(airflow, "scheduled")][:1] == ["success"], 600, every_s=1)
    newest = ledger.published(spark, lake)[-1]
    assert newest.arrived_to is not None
    pipeline = load(clone.root / "dags/pipelines/readings.yaml")
    assert_published(spark, lake, replay_until(history.events(), pipeline, LAST + timedelta(hours=1)))


def test_intervals_since_the_start_are_caught_up_in_slices_that_are_tasks(
    airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone
) -> None:
    file = clone.root / "dags/pipelines/readings.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(SCHEDULED, CAUGHT_UP), encoding="utf-8")
    until(lambda: airflow.get(f"dags/{DAG}/details")["catchup"], 120)
    changed(airflow, is_paused=False)
    # Two more intervals end with each year.
    hours = (datetime(year, 3, 31, h, tzinfo=UTC) for year in range(2024, datetime.now(UTC).year + 1) for h in (0, 1))
    _, *expected = (hour for hour in hours if hour < datetime.now(UTC))
    success = ["success"] * len(expected)
    until(lambda: [run["state"] for run in of_type(airflow, "scheduled")] == success, 1200, every_s=1)
    runs = of_type(airflow, "scheduled")
    ends = [datetime.fromisoformat(run["data_interval_end"]) for run in runs]
    assert ends == expected
    published_runs = [run for run in ledger.published(spark, lake) if run.kind == ledger.ARRIVALS]
    assert [run.arrived_to for run in published_runs] == ends
    assert_published(spark, lake, replay_until(history.events(), load(file), ends[-1]))
    # A run that goes on from the run before is in one piece.
    pieces = [{(f"slice-{i}-of-2", "success") for i in range(2)}, *[{(None, "skipped")}] * (len(runs) - 1)]
    for run, states in zip(runs, pieces, strict=True):
        tasks = airflow.get(f"dags/{DAG}/dagRuns/{run['dag_run_id']}/taskInstances")["task_instances"]
        slices = {(task["rendered_map_index"], task["state"]) for task in tasks if task["task_id"] == "slice"}
        assert slices == states
