"""A person's backfill, through a real API server, scheduler and PostgreSQL, with real Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import psutil
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

BACKFILL, READINGS = "tidemark_backfill", "tidemark_readings"
LATER = ["watermarks", "slice", "replay", "audit", "approve", "publish", "report", "report_if_blocked"]


@pytest.fixture(name="clone", scope="module")
def _clone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("by-hand") / "clone")
    table = history.land(spark, history.events(), clone.lake / "events")
    clone.write("readings.yaml", drivers.PIPELINE.format(table=table))
    return clone


@pytest.fixture(name="airflow", scope="module")
def _airflow(clone: Clone) -> Iterator[Whole]:
    with whole(clone) as airflow:
        until(lambda: airflow.knows(BACKFILL) and airflow.knows(READINGS))
        yield airflow


@pytest.fixture(name="lake")
def _lake(clone: Clone) -> Lake:
    return Lake(str(clone.lake), "readings")


def start_run(airflow: Whole, **form: Any) -> str:
    """Start a run of the backfill DAG with a form; return its id."""
    answer = airflow.trigger(BACKFILL, {"pipeline": "readings", **form})
    assert answer.status_code == httpx.codes.OK, answer.text
    return str(answer.json()["dag_run_id"])


def in_one_piece(airflow: Whole, run: str) -> dict[str, Any]:
    """Return the states of the tasks of a range in one piece; those of intervals have done nothing."""
    tasks = airflow.tasks(BACKFILL, run)
    of_intervals = {state for task, state in tasks.items() if task.startswith("intervals.")}
    assert of_intervals <= {"skipped", "upstream_failed"}
    return {task: state for task, state in tasks.items() if not task.startswith("intervals.")}


def published(spark: SparkSession, lake: Lake) -> list[str]:
    return [run.run_id for run in ledger.published(spark, lake)]


def test_pages_need_a_login_and_a_viewer_starts_no_run(airflow: Whole) -> None:
    with airflow.client(None) as nobody:
        pages = ("/tidemark/quality/", f"/tidemark/reports/{READINGS}/r0123456789abcde")
        for path in (f"/api/v2/dags/{BACKFILL}", *pages):
            assert nobody.get(path).status_code == httpx.codes.UNAUTHORIZED
    assert airflow.trigger(BACKFILL, {"pipeline": "readings"}, user="viewer").status_code == httpx.codes.FORBIDDEN
    with airflow.client("viewer") as viewer:
        assert viewer.get(f"/api/v2/dags/{BACKFILL}").status_code == httpx.codes.OK


@pytest.mark.parametrize(("form", "text"), [({"pipeline": "sales"}, "readings"), ({"slices": 0}, "slices")])
def test_a_form_that_is_wrong_is_refused_at_once(airflow: Whole, form: dict[str, Any], text: str) -> None:
    answer = airflow.trigger(BACKFILL, {"pipeline": "readings", **form})
    assert answer.status_code == httpx.codes.BAD_REQUEST
    assert text in answer.text


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ({"from": "2024-03-31", "to": "2024-03-30"}, ["holds no window"]),
        ({"from": "yesterday", "emit": "now and then"}, ["yesterday", "now and then"]),
    ],
)
def test_a_form_that_holds_no_run_fails_in_its_first_task_with_the_reason(
    airflow: Whole, form: dict[str, Any], texts: list[str]
) -> None:
    run = start_run(airflow, **form)
    assert airflow.ended(BACKFILL, run) == "failed"
    behind = dict.fromkeys(["plan", *LATER], "upstream_failed")
    assert in_one_piece(airflow, run) == {"check": "failed", **behind, "report_if_blocked": "skipped"}
    log = airflow.log(BACKFILL, run, "check")
    assert [text for text in texts if text not in log] == []


def test_a_dry_run_shows_what_would_be_done_and_does_nothing(airflow: Whole, spark: SparkSession, lake: Lake) -> None:
    run = start_run(airflow, dry_run=True)
    assert airflow.ended(BACKFILL, run) == "success"
    assert in_one_piece(airflow, run) == {"check": "success", "plan": "success"} | dict.fromkeys(LATER, "skipped")
    plan = airflow.xcom(BACKFILL, run, "plan")
    assert plan["message"].startswith("would read 3,000 rows in 1 file (")
    assert plan["message"] in airflow.log(BACKFILL, run, "replay")
    assert ledger.find(spark, lake, plan["run_id"]) is None


def test_a_run_is_published_only_after_a_person_approves(
    airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone
) -> None:
    run = start_run(airflow, approve=True, slices=2)
    airflow.waiting(BACKFILL, run)
    assert published(spark, lake) == []
    assert airflow.answered(BACKFILL, run, "Approve", user="viewer") == httpx.codes.FORBIDDEN
    assert airflow.answered(BACKFILL, run, "Approve") == httpx.codes.OK
    assert airflow.ended(BACKFILL, run) == "success"
    pipeline = load(clone.root / "dags/pipelines/readings.yaml")
    expected = reference.replay(history.events(), pipeline)
    assert_published(spark, lake, expected)

    (event,) = airflow.get("assets/events")["asset_events"]
    (run_id,) = published(spark, lake)
    assert (event["uri"], event["extra"]["run_id"]) == ("tidemark://readings/results", run_id)
    assert event["extra"]["counts"] == {**event["extra"]["counts"], **expected.counts}
    assert event["extra"]["checks"]["failed"] == 0

    page = f"/tidemark/reports/{READINGS}/{run_id}"
    with airflow.client("viewer") as viewer, airflow.client(None) as nobody:
        assert run_id in viewer.get(page).text
        assert nobody.get(page).status_code == httpx.codes.UNAUTHORIZED


def test_slices_apart_are_separate_tasks(airflow: Whole, spark: SparkSession, lake: Lake, clone: Clone) -> None:
    start = history.START + timedelta(minutes=30)
    bounds = {"from": start.isoformat(), "to": (start + timedelta(hours=2)).isoformat()}
    run = start_run(airflow, **bounds, slices=3, apart=True)
    assert airflow.ended(BACKFILL, run) == "success"
    tasks = airflow.get(f"dags/{BACKFILL}/dagRuns/{run}/taskInstances", limit=100)["task_instances"]
    slices = {(task["rendered_map_index"], task["state"], task["pool"]) for task in tasks if task["task_id"] == "slice"}
    assert slices == {(f"slice-{i}-of-3", "success", "tidemark") for i in range(3)}
    assert published(spark, lake)[-1] == airflow.xcom(BACKFILL, run, "plan")["run_id"]
    assert_published(spark, lake, reference.replay(history.events(), load(clone.root / "dags/pipelines/readings.yaml")))


def test_after_a_no_nothing_is_published(airflow: Whole, spark: SparkSession, lake: Lake) -> None:
    before = published(spark, lake)
    run = start_run(airflow, approve=True, allowed_lateness="5 minutes")
    airflow.waiting(BACKFILL, run)
    assert airflow.answered(BACKFILL, run, "Reject") == httpx.codes.OK
    assert airflow.ended(BACKFILL, run) == "success"
    ended = airflow.tasks(BACKFILL, run)
    assert (ended["approve"], ended["publish"], ended["report"]) == ("success", "skipped", "skipped")
    assert published(spark, lake) == before
    staged = ledger.find(spark, lake, airflow.xcom(BACKFILL, run, "plan")["run_id"])
    assert staged is not None
    assert staged.finished_step("audit") is not None


def test_a_cancelled_run_leaves_no_spark_and_is_finished_after_clearing(
    airflow: Whole, spark: SparkSession, lake: Lake
) -> None:
    run = start_run(airflow, allowed_lateness="30 minutes")
    until(lambda: airflow.tasks(BACKFILL, run)["replay"] == "running" and bool(airflow.spark()), 300, every_s=0.5)
    with airflow.client() as client:
        path = f"/api/v2/dags/{BACKFILL}/dagRuns/{run}"
        assert client.patch(path, json={"state": "failed"}).status_code == httpx.codes.OK
        until(lambda: not airflow.spark())
        assert airflow.tasks(BACKFILL, run)["publish"] != "success"
        assert client.post(f"{path}/clear", json={"dry_run": False, "only_failed": False}).status_code == httpx.codes.OK
    until(lambda: airflow.state(BACKFILL, run) != "failed")
    assert airflow.ended(BACKFILL, run) == "success"
    assert published(spark, lake)[-1] == airflow.xcom(BACKFILL, run, "plan")["run_id"]


def kill_task(airflow: Whole, run: str, task: str) -> None:
    """Kill the process of a task while its job has a Java, and wait until the job has ended with all it started."""
    until(lambda: "running" in states(airflow, run, task) and bool(airflow.spark()), 300, every_s=0.1)
    job = {group_of(java) for java in airflow.spark()}
    tasks = {process for java in airflow.spark() for process in java.parents() if group_of(process) not in job}
    started = [process for process in psutil.process_iter() if group_of(process) in job]
    # The nearest ancestor outside of the job's group runs the task.
    for process in tasks:
        if any(group_of(child) in job for child in process.children()):
            process.kill()
    until(lambda: not any(process.is_running() for process in started))


def states(airflow: Whole, run: str, task: str) -> list[str]:
    """Return the states of a task, of each slice for the task of slices."""
    instances = airflow.get(f"dags/{BACKFILL}/dagRuns/{run}/taskInstances", limit=100)["task_instances"]
    return [instance["state"] for instance in instances if instance["task_id"] == task]


def group_of(process: psutil.Process) -> int | None:
    """Return the process group of a process; None if the process has ended."""
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None


def test_a_killed_task_ends_its_job_and_its_next_attempt_finishes_the_run(
    airflow: Whole, spark: SparkSession, lake: Lake
) -> None:
    run = start_run(airflow, allowed_lateness="40 minutes", approve=True, slices=2, apart=True)
    for task in ("watermarks", "slice", "replay"):
        kill_task(airflow, run, task)
    airflow.waiting(BACKFILL, run)
    assert airflow.answered(BACKFILL, run, "Approve") == httpx.codes.OK
    kill_task(airflow, run, "publish")
    assert airflow.ended(BACKFILL, run) == "success"
    assert not airflow.spark()
    instances = airflow.get(f"dags/{BACKFILL}/dagRuns/{run}/taskInstances", limit=100)["task_instances"]
    again = {instance["task_id"] for instance in instances if instance["try_number"] > 1}
    assert again >= {"watermarks", "slice", "replay", "publish"}
    assert published(spark, lake)[-1] == airflow.xcom(BACKFILL, run, "plan")["run_id"]
