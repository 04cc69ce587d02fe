"""What other tasks of the same DAG run have returned, read from XCom."""

from __future__ import annotations

from airflow.sdk import Context

from spark_jobs.job_protocol import StepResult
from tidemark_airflow.jobs.planned_run import PlannedRun
from tidemark_airflow.jobs.task_ids import PLAN


def planned_run(context: Context) -> PlannedRun:
    """Return the run that the task `plan` has planned. Raises ProtocolError."""
    return PlannedRun.from_xcom(context["ti"].xcom_pull(task_ids=PLAN))


def result_of(context: Context, task_id: str) -> StepResult | None:
    """Return the result of a task's job; None if the task was skipped, failed or does not exist."""
    content = context["ti"].xcom_pull(task_ids=task_id)
    return None if content is None else StepResult.from_json(content)


def results_of(context: Context, *task_ids: str) -> list[StepResult]:
    """Return the results of those of the tasks that have one."""
    results = (result_of(context, task_id) for task_id in task_ids)
    return [result for result in results if result is not None]
