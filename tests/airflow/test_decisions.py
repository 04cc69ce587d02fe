"""What a person decides, through a real API server, scheduler and PostgreSQL: failed checks, and windows to repair."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import LateData, load
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.engine import in_order
from tests.support.whole_run import assert_published, published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

READINGS, ACCEPT, REPAIR = "tidemark_readings", "tidemark_accept", "tidemark_readings.repair"
ROWS = history.events(900)
# What is too late of the first rows is known; a repair is due for the window of the late file alone.
REPAIRS = "repair: {max_too_late_rows: 25, ask: true}\n"
LATE = history.START + timedelta(minutes=20)


def limited(table: str, on_failure: str) -> str:
    """The pipeline file, with a check that fails."""
    quality = f"quality: {{max_too_late_ratio: 0.0001, on_failure: {on_failure}}}"
    return drivers.PIPELINE.format(table=table).replace("quality: {max_too_late_ratio: 0.5}", quality)


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, clone: Clone) -> str:
    return history.land(spark, ROWS, clone.lake / "events")


@pytest.fixture(name="clone", scope="module")
def _clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone.make(tmp_path_factory.mktemp("decisions") / "clone")


@pytest.fixture(name="airflow", scope="module")
def _airflow(clone: Clone, table: str) -> Iterator[Whole]:
    text = limited(table, "ask") + REPAIRS
    clone.write("readings.yaml", text)
    clone.write("blocked.yaml", limited(table, "block").replace("name: readings", "name: blocked"))
    with whole(clone) as airflow:
        until(lambda: all(airflow.knows(dag) for dag in (READINGS, ACCEPT, REPAIR, "tidemark_blocked")))
        with airflow.client() as client:
            client.patch(f"/api/v2/dags/{REPAIR}", json={"is_paused": False}).raise_for_status()
        yield airflow


def started(airflow: Whole, dag: str, conf: dict[str, Any] | None = None) -> str:
    """The id of a run of a DAG."""
    answer = airflow.trigger(dag, conf)
    assert answer.status_code == httpx.codes.OK, answer.text
    return str(answer.json()["dag_run_id"])


def repairs(airflow: Whole) -> list[str]:
    """Return the ids of the runs of the DAG of repairs, oldest first."""
    runs = airflow.get(f"dags/{REPAIR}/dagRuns", limit=100)["dag_runs"]
    return [run["dag_run_id"] for run in sorted(runs, key=lambda run: str(run["run_after"]))]


def test_failed_checks_are_a_persons_to_accept(airflow: Whole, spark: SparkSession, clone: Clone) -> None:
    run = started(airflow, READINGS)
    question = airflow.waiting(READINGS, run)
    assert "although checks have failed?" in question
    assert "not_too_many_rows_are_too_late" in question
    assert "found:" in question
    assert airflow.answered(READINGS, run, "Approve") == httpx.codes.OK
    assert airflow.ended(READINGS, run) == "success"
    lake = Lake(str(clone.lake), "readings")
    assert_published(spark, lake, reference.replay(ROWS, load(clone.root / "dags/pipelines/readings.yaml")))
    (published_run,) = ledger.published(spark, lake)
    assert published_run.accepted == "approved in Airflow by admin"
    # No window has missed so many rows that it is to be repaired.
    until(lambda: bool(repairs(airflow)))
    (looked,) = repairs(airflow)
    assert airflow.ended(REPAIR, looked) == "success"
    assert airflow.tasks(REPAIR, looked) == {"look": "success", "approve": "skipped", "repair": "skipped"}


def test_what_was_blocked_is_published_by_a_form_without_computing_it_again(
    airflow: Whole, spark: SparkSession, clone: Clone
) -> None:
    run = started(airflow, "tidemark_blocked")
    assert airflow.ended("tidemark_blocked", run) == "failed"
    assert "not_too_many_rows_are_too_late" in airflow.log("tidemark_blocked", run, "audit")
    lake = Lake(str(clone.lake), "blocked")
    (blocked,) = ledger.runs(spark, lake)
    assert airflow.tasks("tidemark_blocked", run)["report_if_blocked"] == "success"
    with airflow.client("viewer") as viewer:
        page = viewer.get(f"/tidemark/reports/tidemark_blocked/{blocked.run_id}").text
        quality = viewer.get(f"/tidemark/quality/tidemark_blocked/dag_runs/{quote(run)}").text
        pipelines = viewer.get("/tidemark/quality/").text
    assert "checks failed, and nothing was published" in page
    assert blocked.run_id in quality
    assert "not_too_many_rows_are_too_late" in quality
    assert "/tidemark/quality/tidemark_blocked" in pipelines
    for task in ("plan", "audit"):
        links = airflow.get(f"dags/tidemark_blocked/dagRuns/{run}/taskInstances/{task}/links")["extra_links"]
        assert links["Data quality"] == "/tidemark/quality/tidemark_blocked"
    (plugin,) = (candidate for candidate in airflow.get("plugins")["plugins"] if candidate["name"] == "tidemark")
    assert [view["destination"] for view in plugin["external_views"]] == ["nav", "dag", "dag", "dag_run"]
    form = {"pipeline": "blocked", "run": blocked.run_id, "because": "the outage of May"}
    assert airflow.trigger(ACCEPT, {**form, "because": " "}).status_code == httpx.codes.BAD_REQUEST
    assert airflow.trigger(ACCEPT, form, user="viewer").status_code == httpx.codes.FORBIDDEN
    acceptance = started(airflow, ACCEPT, form)
    assert airflow.ended(ACCEPT, acceptance) == "success"
    assert airflow.tasks(ACCEPT, acceptance) == dict.fromkeys(("plan", "publish", "report"), "success")
    with airflow.client("viewer") as viewer:
        assert blocked.run_id in viewer.get(f"/tidemark/quality/{ACCEPT}/dag_runs/{quote(acceptance)}").text
    (published_run,) = ledger.published(spark, lake)
    assert (published_run.run_id, published_run.accepted) == (blocked.run_id, "admin: the outage of May")
    assert [step.step for step in published_run.steps].count("replay") == 1
    rows = f"/tidemark/rows/tidemark_blocked/runs/{published_run.run_id}"
    with airflow.client("viewer") as viewer:
        late = viewer.get(rows).text
        explained = viewer.get(unescape(re.findall(r'href="([^"]+/row\?[^"]+)"', late)[0])).text
        report = viewer.get(f"/tidemark/reports/tidemark_blocked/{published_run.run_id}").text
    assert "too late" in late
    assert "It would have counted with" in explained
    assert f'href="{rows}"' in report
    with airflow.client(None) as nobody:
        assert nobody.get(rows).status_code == httpx.codes.UNAUTHORIZED


def test_a_late_file_leads_to_a_repair_of_its_window_alone(
    airflow: Whole, spark: SparkSession, clone: Clone, table: str
) -> None:
    lake, pipeline = Lake(str(clone.lake), "readings"), load(clone.root / "dags/pipelines/readings.yaml")
    end = max(row["stored_at"] for row in ROWS if row["stored_at"])
    seconds = [timedelta(seconds=i + 1) for i in range(30)]
    late = [
        {**ROWS[0], "id": 10_000 + i, "reading": 1.0, "happened_at": LATE + after, "stored_at": end + after}
        for i, after in enumerate(seconds)
    ]
    history.land(spark, late, table)
    before = repairs(airflow)
    run = started(airflow, READINGS)
    airflow.waiting(READINGS, run)
    assert airflow.answered(READINGS, run, "Approve") == httpx.codes.OK
    assert airflow.ended(READINGS, run) == "success"
    faithful = reference.replay([*ROWS, *late], pipeline)
    assert_published(spark, lake, faithful)

    until(lambda: len(repairs(airflow)) > len(before))
    repair = repairs(airflow)[-1]
    question = airflow.waiting(REPAIR, repair)
    too_late_by_window = Counter(row["window_start"] for row in faithful.late_events)
    (due,) = [start for start, n in too_late_by_window.items() if n > 25]
    assert question.startswith(f"Repair 1 window with {too_late_by_window[due]} rows in readings?")
    assert airflow.answered(REPAIR, repair, "Approve") == httpx.codes.OK
    assert airflow.ended(REPAIR, repair) == "success"
    lenient = replace(pipeline, windows=replace(pipeline.windows, late_data=LateData.UPDATE))
    full, tables = reference.replay([*ROWS, *late], lenient), published(spark, lake)
    for name in ("panes", "window_results", "late_events"):
        rows = [row for row in getattr(faithful, name) if row["window_start"] != due]
        rows += [row for row in getattr(full, name) if row["window_start"] == due]
        assert tables[name] == in_order(rows), name
    # The published repair starts the DAG once more, and that run skips its tasks without Spark.
    until(lambda: len(repairs(airflow)) > len(before) + 1)
    last = repairs(airflow)[-1]
    assert airflow.ended(REPAIR, last) == "success"
    assert set(airflow.tasks(REPAIR, last).values()) == {"skipped"}
    report = Path(lake.report_path(ledger.published(spark, lake)[-1].run_id)).read_text(encoding="utf-8")
    assert f"A repair: 1 closed window had missed {too_late_by_window[due]} rows" in report
