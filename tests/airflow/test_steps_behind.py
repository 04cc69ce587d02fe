"""One job takes the steps of several tasks: up to a question, and never beyond a task of somebody else's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, chain
from airflow.sdk.exceptions import AirflowFailException

from tests.airflow.scripted import PLAN, REQUEST, RESULT, Task
from tests.support.fake_lake import COUNTS, add_rows, run_id, steps
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.tasks.approval import ApproveOperator
from tidemark_airflow.tasks.run_steps import BlockedReportOperator, PublishOperator, StepOperator
from tidemark_airflow.tasks.steps_behind import steps_behind

pytestmark = pytest.mark.airflow

ALL = {"replay": ["audit", "publish", "report"], "audit": ["publish", "report"], "publish": ["report"], "report": []}
UNTIL_APPROVE = {**ALL, "replay": ["audit"], "audit": []}


def following(request: Request, between: Sequence[Any] = (), behind: Sequence[Any] = ()) -> dict[str, list[str]]:
    """Return the steps that the job of each task goes on with, with tasks between audit and publish, and behind."""
    with DAG("tidemark_sales", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
        replay, audit, report = (StepOperator(step=step) for step in ("replay", "audit", "report"))
        publish = PublishOperator()
        chain(replay, audit, *(make() for make in between), publish, report, *(make() for make in behind))
        audit >> BlockedReportOperator()
    return {task.step: steps_behind(task, request) for task in (replay, audit, publish, report)}


def checked_elsewhere() -> EmptyOperator:
    return EmptyOperator(task_id="checked_elsewhere")


@pytest.mark.parametrize(
    ("approve", "between", "behind", "steps_of"),
    [
        (False, (), (), ALL),
        (False, (ApproveOperator,), (), ALL),
        (True, (ApproveOperator,), (), UNTIL_APPROVE),
        (False, (checked_elsewhere,), (), UNTIL_APPROVE),
        (False, (), (checked_elsewhere,), ALL),
    ],
    ids=["no question", "a question for failed checks alone", "a question", "another task between", "a task behind"],
)
def test_a_job_goes_on_to_the_first_task_that_may_stop_it(
    approve: bool, between: Sequence[Any], behind: Sequence[Any], steps_of: dict[str, list[str]]
) -> None:
    assert following({**REQUEST, "approve": approve}, between, behind) == steps_of  # type: ignore[typeddict-item]


def test_a_job_has_the_steps_behind_as_option(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    with DAG("tidemark_sales", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
        replay = StepOperator(step="replay", application=job(0, RESULT))
        replay >> StepOperator(step="audit")
    replay.execute({"ti": Task(PLAN)})  # type: ignore[typeddict-item]
    assert arguments()[-2:] == ["--then", "audit"]


def step_result(step: str, **content: Any) -> dict[str, Any]:
    return {**RESULT, "step": step, "counts": {}, **content}


AUDITED = step_result("audit", counts={"checks_passed": 7})
PUBLISHED = step_result("publish", versions={"panes": 4})
REPORTED = step_result("report", report="/lake/report.html")
BLOCKED = step_result("audit", state="blocked", error="1 of 8 checks failed", code="TM301")
NOWHERE = "/nowhere/step.py"


def behind(*results: dict[str, Any]) -> Task:
    """Return the task instance of a task behind a replay whose job took the steps of `results`."""
    return Task(PLAN, replay={**RESULT, "following": list(results)})


def test_tasks_behind_return_their_results_without_a_job() -> None:
    task = behind(AUDITED, PUBLISHED, REPORTED)
    for result in (AUDITED, PUBLISHED, REPORTED):
        operator = StepOperator(step=result["step"], application=NOWHERE)
        returned = operator.execute({"ti": task})  # type: ignore[typeddict-item]
        assert returned | result == returned
        assert operator.outcome is not None
        assert operator.outcome.result is not None


def test_blocking_checks_fail_the_task_of_the_audit_and_have_a_report() -> None:
    task = behind(BLOCKED, REPORTED)
    with pytest.raises(AirflowFailException, match=r"audit is blocked by quality: 1 of 8 checks failed\ncode TM301"):
        StepOperator(step="audit", application=NOWHERE).execute({"ti": task})  # type: ignore[typeddict-item]
    failure = {"audit_failure": task.pushed["failure"]}
    behind_audit = Task(PLAN, replay={**RESULT, "following": [BLOCKED, REPORTED]}, **failure)
    returned = BlockedReportOperator(application=NOWHERE).execute({"ti": behind_audit})  # type: ignore[typeddict-item]
    assert returned["report"] == "/lake/report.html"


def test_checks_that_a_person_decides_about_leave_the_question_to_the_task_behind(logged: list[str]) -> None:
    task = behind({**BLOCKED, "state": "asks"})
    returned = StepOperator(step="audit", application=NOWHERE).execute({"ti": task})  # type: ignore[typeddict-item]
    assert returned["state"] == "asks"
    assert "1 of 8 checks failed" in "\n".join(logged)


def test_a_cleared_task_has_its_step_taken_again(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    task = behind(BLOCKED, REPORTED)
    task.try_number = 2
    returned = StepOperator(step="audit", application=job(0, AUDITED)).execute({"ti": task})  # type: ignore[typeddict-item]
    assert arguments()[0] == "audit"
    assert returned["counts"] == {"checks_passed": 7}


def test_a_step_that_the_job_did_not_reach_has_a_job(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    StepOperator(step="publish", application=job(0, PUBLISHED)).execute({"ti": behind(AUDITED)})  # type: ignore[typeddict-item]
    assert arguments()[0] == "publish"


def test_a_step_that_the_ledger_has_as_done_has_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path))
    add_rows(tmp_path, "sales", steps(3, until="replay"))
    task = Task({**PLAN, "run_id": run_id(3)})
    task.try_number = 2
    returned = StepOperator(step="replay", application=NOWHERE).execute({"ti": task})  # type: ignore[typeddict-item]
    assert (returned["state"], returned["run_id"]) == ("unchanged", run_id(3))
    assert returned["message"] == "replay was done before, at 2026-01-05 10:01:30 UTC"
    assert returned["counts"] == COUNTS
