"""The task that maintains a pipeline returns the figures of its job. A script plays Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException

from tests.airflow.clone import Clone
from tests.airflow.scripted import PLAN, RESULT, Task
from tidemark_airflow.dags.maintenance import maintenance_dag
from tidemark_airflow.jobs.links import pipeline_of
from tidemark_airflow.jobs.pipeline_files import read_folder
from tidemark_airflow.tasks.maintenance import MaintainOperator

pytestmark = pytest.mark.airflow

COUNTS = {"tables_compacted": 3, "files_removed": 12, "bytes_removed": 4096}


def test_a_pipeline_is_maintained_by_its_file_and_waits_for_its_runs(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    script = job(0, {**RESULT, "step": "maintain", "run_id": "", "counts": COUNTS})
    task = Task(PLAN)
    operator = MaintainOperator(task_id="sales", pipeline_file="/p/sales.yaml", application=script)
    returned = operator.execute({"ti": task})  # type: ignore[typeddict-item]
    assert arguments() == ["maintain", "/p/sales.yaml", "--wait", "1 hour"]
    assert returned["counts"] == task.pushed["counts"] == COUNTS


def test_maintenance_that_finds_a_run_at_work_for_too_long_may_be_tried_again(job: Callable[..., str]) -> None:
    locked = {**RESULT, "state": "failed", "error": "found run r1 at work on the windows of all time"}
    operator = MaintainOperator(task_id="sales", pipeline_file="/p/sales.yaml", application=job(1, locked))
    with pytest.raises(AirflowException, match="found run r1 at work"):
        operator.execute({"ti": Task(PLAN)})  # type: ignore[typeddict-item]


def test_without_a_file_that_has_the_key_no_dag_is_made(clone: Clone) -> None:
    folder = clone.add("sales").parent
    assert maintenance_dag(folder) is None
    clone.add("visits", more="maintenance: {retain: 7 days}\n")
    dag = maintenance_dag(folder)
    assert dag is not None
    assert dag.task_ids == ["visits"]


def test_the_name_of_the_dag_is_no_pipelines(clone: Clone) -> None:
    path: Path = clone.add("maintenance")
    files = read_folder(path.parent)
    assert "'maintenance' is the DAG of maintenance; take another name" in files.broken[path]
    assert pipeline_of("tidemark_maintenance") is None
