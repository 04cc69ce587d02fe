"""The question to a person before results are published, and the report of failed checks. A script plays Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from tests.airflow.scripted import PLAN, REQUEST, RESULT, RUN, Task, published, run
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.tasks.approval import ApproveOperator, question_body
from tidemark_airflow.tasks.run_steps import BlockedReportOperator, StepOperator

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize("plan", [PLAN, {**PLAN, "request": {**REQUEST, "approve": True}, "versions": {"panes": 3}}])
def test_no_question_where_no_person_has_to_decide(plan: Mapping[str, Any]) -> None:
    ApproveOperator().execute({"ti": Task(plan)})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("bounds", "windows"),
    [
        ({}, "all"),
        ({"start": None, "end": "2013-07-02T00:00:10+00:00"}, "to 2013-07-02 00:00:10 UTC"),
        (
            {"start": "2013-07-01T00:00:00+00:00", "end": "2013-07-02T02:30:00+02:00"},
            "from 2013-07-01 00:00 to 2013-07-02 00:30 UTC",
        ),
    ],
)
def test_a_question_has_what_would_be_published(bounds: dict[str, str | None], windows: str) -> None:
    request: Any = {"pipeline_file": "/p/sales.yaml", **bounds}
    text = question_body(request, {"rows_read": 12_000, "too_late": 1, "checks_failed": 0})
    assert text.splitlines() == [
        f"Windows: {windows}. All of its checks have passed.",
        "",
        "| | |",
        "|---|---:|",
        "| rows read | 12,000 |",
        "| too late | 1 |",
    ]


def test_a_question_lists_counts_as_people_read_them() -> None:
    request: Any = {"pipeline_file": "/p/sales.yaml"}
    names = ["rows_read", "on_time", "late", "too_late", "invalid", "pairs", "windows", "panes", "checks_passed"]
    text = question_body(request, dict.fromkeys(["filtered", *reversed(names), "late_panes"], 1))
    assert text.splitlines()[-len(names) :] == [f"| {name.replace('_', ' ')} | 1 |" for name in names]
    assert len(text.splitlines()) == len(names) + 4


def test_a_question_has_the_settings_that_differ_from_the_file_as_they_are() -> None:
    overrides = {"windows.size": "2 hours", "source.where": "a = '|'\n# b"}
    lines = question_body(Request(pipeline_file="/p/sales.yaml", overrides=overrides), {}).splitlines()
    assert lines[2:7] == [
        "Settings that differ from the file:",
        "",
        "    windows.size = 2 hours",
        "    source.where = a = '|'",
        "    # b",
    ]


FAILED = "1 of 34 checks failed\n  run: too late ratio\n    such as:  <b>4</b> | 5"
NEEDS_APPROVAL = {**RESULT, "step": "audit", "state": "asks", "message": "1 of 34 checks failed", "error": FAILED}
YES = {"chosen_options": ["Approve"], "params_input": {}, "responded_by_user": {"id": "7", "name": "ada"}}


def test_where_a_person_decides_failed_checks_are_a_question(
    job: Callable[..., str], arguments: Callable[[], list[str]], logged: list[str]
) -> None:
    returned, _ = run(StepOperator(step="audit", application=job(3, NEEDS_APPROVAL)))
    assert returned["state"] == "asks"
    assert FAILED in "\n".join(logged)
    question = ApproveOperator().question({"ti": Task({**PLAN, "pipeline": "sales"}, audit=returned)})  # type: ignore[typeddict-item]
    assert question is not None
    assert question.subject == f"Publish run {RUN} of sales although checks have failed?"
    assert "      such as:  <b>4</b> | 5" in question.body, "as it is, and no Markdown"
    plan = {**PLAN, "pipeline": "sales"}
    accepted = ["--because", "approved in Airflow by ada"]
    published(plan, job(0, RESULT), audit=returned, approve=YES)
    assert arguments()[-2:] == accepted
    # No person has approved, or nothing has failed.
    for results in ({"audit": returned}, {"audit": RESULT, "approve": YES}):
        published(plan, job(0, RESULT), **results)
        assert "--because" not in arguments()


def explained(application: str, **failure: Any) -> Any:
    """Return the result of the task behind an audit that has failed so."""
    task = Task(PLAN, audit_failure=failure) if failure else Task(PLAN)
    return BlockedReportOperator(application=application).execute({"ti": task})  # type: ignore[typeddict-item]


def test_what_checks_have_blocked_is_reported(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    report = {**RESULT, "step": "report", "report": "/lake/report.html"}
    assert explained(job(0, report), exit_code=3, reason=FAILED)["report"] == "/lake/report.html"
    assert arguments()[:4] == ["report", "/p/sales.yaml", "--run-id", RUN]
    for failure in ({}, {"exit_code": 1, "reason": "no memory"}):
        with pytest.raises(AirflowSkipException, match="no check has blocked"):
            explained("/nowhere/step.py", **failure)


def test_a_reason_in_a_form_is_the_publishings(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    published({**PLAN, "pipeline": "sales", "request": {**REQUEST, "because": "ada: known"}}, job(0, RESULT))
    assert arguments()[-2:] == ["--because", "ada: known"]
