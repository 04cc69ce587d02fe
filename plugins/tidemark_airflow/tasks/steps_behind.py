"""One Spark for several tasks: which steps a job takes behind its own, and steps that need no job any more.

Law: a step is taken in advance iff its task follows directly, with nothing between that could stop it. A question to a
person, and a task that is not Tidemark's, end the chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow.sdk import BaseOperator, Context

from spark_jobs.job_protocol import AFTER_PLAN, ExitCode, StepName, StepResult, StepState
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.planned_run import PlannedRun
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.jobs.task_ids import AUDIT, PLAN, PUBLISH, REPLAY
from tidemark_airflow.tasks.approval import ApproveOperator

_BLOCKED = (StepState.BLOCKED, StepState.NEEDS_APPROVAL)


def steps_behind(task: BaseOperator, request: Request) -> list[str]:
    """Return the steps that the job of a task takes behind its own, in their order."""
    return list(_walk(task, request)) if task.has_dag() else []


def _walk(task: Any, request: Request) -> Iterator[str]:
    while len(behind := [other for other in task.downstream_list if not getattr(other, "only_if_blocked", False)]) == 1:
        (task,) = behind
        if isinstance(task, ApproveOperator):
            if request.get("approve"):
                return
        elif getattr(task, "step", None) in AFTER_PLAN:
            yield str(task.step)
        else:
            return


def taken_before(context: Context, task_id: str, step: str) -> Outcome | None:
    """Return how a step ended that the job of an earlier task has taken; None if this task has to take it.

    Only the first attempt of a task has such an outcome. A task that is cleared or tried again takes its step anew,
    unless the ledger has the step as done.
    """
    if context["ti"].try_number != 1:
        return None
    for earlier in (PUBLISH, AUDIT, REPLAY, PLAN):
        content = context["ti"].xcom_pull(task_ids=earlier)
        following = () if content is None else StepResult.from_json(content).following
        result = next((result for result in following if result.step == step), None)
        if result is not None:
            return Outcome(task_id, ExitCode.BLOCKED if result.state in _BLOCKED else ExitCode.DONE, result)
    return None


def recorded(planned: PlannedRun, task_id: str, step: str) -> Outcome | None:
    """Return the outcome of a step that the ledger has as done; None if a job has to take it, or look.

    The ledger is read without Spark. A report is written each time.
    """
    if step not in (StepName.REPLAY, StepName.AUDIT, StepName.PUBLISH):
        return None
    try:
        run = run_history.find(Lake.of(planned.pipeline), planned.run_id)
    except LakeError:
        return None
    ending = None if run is None else run.ending(step)
    if run is None or ending is None:
        return None
    state, message = StepState.UNCHANGED, run.done_before(step, ending)
    result = StepResult(step, run.run_id, run.pipeline, state, message, ending.counts, versions=ending.versions)
    return Outcome(task_id, ExitCode.DONE, result)
