"""A run for each interval: what is cut, what an interval takes, one question for all, and the summary.

A script plays Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.tables import run_history
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import BACKFILL, Run, Step
from tests.airflow.scripted import PLAN, REQUEST, RESULT, RUN, Events, Task
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.tasks.interval_results import ApproveIntervalsOperator, SummaryOperator
from tidemark_airflow.tasks.intervals import (
    ChooseOperator,
    CutOperator,
    IntervalOperator,
    PublishIntervalOperator,
    interval_of,
)
from tidemark_airflow.tasks.run_steps import PlanOperator, StepOperator

pytestmark = pytest.mark.airflow

TEXTS = [f"2013-07-01T{hour:02}:00:00+00:00/2013-07-01T{hour + 6:02}:00:00+00:00" for hour in (0, 6, 12)]
INTERVALS = [interval_of(text) for text in TEXTS]
CUTTING: dict[str, Any] = {
    **REQUEST,
    "start": "2013-07-01T00:00:00+00:00",
    "end": "2013-07-01T18:00:00+00:00",
    "every": "6 hours",
    "side_by_side": 2,
    "newest_first": False,
    "only_missing": False,
}
PUBLISHED = {**RESULT, "step": "report", "versions": {"panes": 4}, "following": [{**RESULT, "step": "publish"}]}
STAGED = {**RESULT, "step": "audit"}
# Answers each step with the result of its name, and appends the arguments to a file.
_ANSWERS = """
results = json.loads({results!r})
with open({calls!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
code, answer = results[sys.argv[1]]
pathlib.Path(sys.argv[sys.argv.index("--result") + 1]).write_text(json.dumps(answer))
sys.exit(code)
"""


class Jobs:
    """A script that answers each step, and the steps that it was started for."""

    def __init__(self, job: Callable[..., str], folder: Path, **results: tuple[int, Mapping[str, Any]]) -> None:
        self._calls = folder / "calls"
        self.script = job(0, None, then=_ANSWERS.format(results=json.dumps(results), calls=str(self._calls)))

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of each job, without the address of its result."""
        return [json.loads(line)[:-2] for line in self._calls.read_text(encoding="utf-8").splitlines()]


def context_of(events: Events | None = None, attempt: int = 1, began: datetime | None = None, **returned: Any) -> Any:
    """Return the context of a task behind tasks of the group that have returned these values."""
    task = Task(PLAN, **{f"intervals.{name}": value for name, value in returned.items()})
    task.try_number = attempt

    def pull(*, task_ids: str | Sequence[str], key: str = "return_value") -> Any:
        if isinstance(task_ids, str):
            return task._returned.get(task_ids)
        return [value for name in task_ids for value in task._returned.get(name) or [None]]

    task.xcom_pull = pull  # type: ignore[method-assign]

    class DagRun:
        start_date = began

    return {"ti": task, "outlet_events": Events() if events is None else events, "dag_run": DagRun()}


def interval(script: str, events: Events | None = None, attempt: int = 1, **request: Any) -> dict[str, Any]:
    """Return what the task of the second interval returns."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    operator = IntervalOperator(
        task_id="one_at_a_time", request={**CUTTING, **request}, interval=INTERVALS[1], application=script
    )
    returned: dict[str, Any] = operator.execute(context_of(events, attempt, began))
    return returned


def test_a_range_is_cut_by_a_job_without_spark(job: Callable[..., str], tmp_path: Path, logged: list[str]) -> None:
    jobs = Jobs(job, tmp_path, intervals=(0, {**RESULT, "step": "intervals", "slices": TEXTS}))
    request = {**CUTTING, "newest_first": True, "only_missing": True}
    assert CutOperator(request=request, application=jobs.script).execute(context_of()) == INTERVALS
    (call,) = jobs.calls
    bounds = ["--from", CUTTING["start"], "--to", CUTTING["end"]]
    flags = ["--every", "6 hours", "--newest-first", "--only-missing"]
    overrides = ["--set", "windows.size=2 hours"]
    assert call == ["intervals", "/p/sales.yaml", *bounds, *flags, *overrides, "--without-spark"]
    assert INTERVALS[0]["name"] == "2013-07-01 00:00 to 2013-07-01 06:00"
    assert "[tidemark] cut: 2013-07-01 00:00 to 2013-07-01 06:00" in logged


def test_a_dry_run_lists_the_intervals_and_ends(job: Callable[..., str], tmp_path: Path, logged: list[str]) -> None:
    answer = {**RESULT, "step": "intervals", "slices": TEXTS, "message": "3 intervals"}
    jobs = Jobs(job, tmp_path, intervals=(0, answer))
    with pytest.raises(AirflowSkipException, match="a dry run: 3 intervals"):
        CutOperator(request={**CUTTING, "dry_run": True}, application=jobs.script).execute(context_of())
    assert sum(line.startswith("[tidemark] cut: 2013") for line in logged) == 3


def test_a_range_in_one_piece_skips_the_group_and_one_in_intervals_the_other_tasks() -> None:
    for operator in (
        CutOperator(request=REQUEST),
        ApproveIntervalsOperator(request=REQUEST),
        SummaryOperator(request=REQUEST),
        # The request of a form that the task check has refused.
        ApproveIntervalsOperator(request=None),
        SummaryOperator(request=None),
    ):
        with pytest.raises(AirflowSkipException, match="the range is not cut"):
            operator.execute(context_of())
    with pytest.raises(AirflowSkipException, match="see the group intervals"):
        PlanOperator(request=CUTTING).execute(context_of())
    nothing_planned: Any = {"ti": Task({})}
    nothing_planned["ti"]._returned = {}
    with pytest.raises(AirflowSkipException, match="see the group intervals"):
        StepOperator(step="replay").execute(nothing_planned)


@pytest.mark.parametrize(("count", "task"), [(1, "one"), (2, "two"), (4, "four"), (8, "eight")])
def test_as_many_intervals_are_computed_at_once_as_the_form_has(count: int, task: str) -> None:
    operator = ChooseOperator(request={**CUTTING, "side_by_side": count})
    assert operator.choose_branch({}) == f"intervals.{task}_at_a_time"


def test_an_interval_is_a_run_in_one_spark_and_adds_an_event(job: Callable[..., str], tmp_path: Path) -> None:
    jobs, events = Jobs(job, tmp_path, plan=(0, {**RESULT, "step": "plan"}), run=(0, PUBLISHED)), Events()
    returned = interval(jobs.script, events, slices=3)
    plan, whole = jobs.calls
    bounds = ["--from", "2013-07-01T06:00:00+00:00", "--to", "2013-07-01T12:00:00+00:00"]
    assert plan == ["plan", "/p/sales.yaml", *bounds, "--set", "windows.size=2 hours", "--without-spark"]
    wait = ["--wait", "1 hour", "--slices", "3"]
    assert whole == ["run", "/p/sales.yaml", *bounds, *wait, "--set", "windows.size=2 hours"]
    assert (returned["run_id"], returned["interval"]) == (RUN, INTERVALS[1])
    ((asset, extra),) = events.added
    assert (asset, extra["from"], extra["to"]) == ("tidemark://sales/results", bounds[1], bounds[3])


def test_an_interval_that_is_published_starts_no_spark_and_adds_no_event(
    job: Callable[..., str], tmp_path: Path
) -> None:
    planned = {**RESULT, "step": "plan", "state": "unchanged", "versions": {"panes": 4}}
    jobs, events = Jobs(job, tmp_path, plan=(0, planned)), Events()
    assert interval(jobs.script, events)["versions"] == {"panes": 4}
    assert len(jobs.calls) == 1
    assert events.added == []


@pytest.mark.parametrize(("published_at", "count"), [(2025, 0), (2026, 1)])
def test_the_attempt_after_one_that_died_behind_its_publishing_adds_the_event(
    job: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published_at: int, count: int
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    at = datetime(published_at, 1, 2, tzinfo=UTC)
    step = Step(StepName.PUBLISH, StepState.DONE, at, at, versions={"late_events": 4})
    run_history.record(Lake(str(tmp_path / "lake"), "sales"), Run(RUN, "sales", "f", BACKFILL, 0, at, None), step)
    planned = {**RESULT, "step": "plan", "state": "unchanged", "versions": {"late_events": 4}}
    jobs, events = Jobs(job, tmp_path, plan=(0, planned)), Events()
    interval(jobs.script, events, attempt=2)
    assert len(events.added) == count


def test_an_interval_on_wrong_input_starts_no_spark(job: Callable[..., str], tmp_path: Path) -> None:
    refused = {**RESULT, "step": "plan", "state": "failed", "error": "give --restate"}
    jobs = Jobs(job, tmp_path, plan=(2, refused))
    with pytest.raises(AirflowFailException, match="failed on wrong input: give --restate"):
        interval(jobs.script)
    assert len(jobs.calls) == 1


def test_an_interval_that_fails_may_be_tried_again(job: Callable[..., str], tmp_path: Path) -> None:
    needs_spark = {**RESULT, "step": "plan", "state": "needs_spark"}
    failed = {**RESULT, "step": "run", "state": "failed", "error": "the disk is full"}
    jobs = Jobs(job, tmp_path, plan=(0, needs_spark), run=(1, failed))
    with pytest.raises(AirflowException, match="the disk is full") as raised:
        interval(jobs.script)
    assert not isinstance(raised.value, AirflowFailException)


def test_an_interval_that_a_person_approves_stops_behind_the_checks(job: Callable[..., str], tmp_path: Path) -> None:
    replayed = {**RESULT, "step": "replay", "counts": {"rows_read": 9}}
    planned = {
        **RESULT,
        "step": "plan",
        "counts": {},
        "following": [replayed, {**STAGED, "counts": {"checks_passed": 7}}],
    }
    jobs, events = Jobs(job, tmp_path, plan=(0, planned)), Events()
    returned = interval(jobs.script, events, approve=True)
    assert jobs.calls[-1][-2:] == ["--then", "replay,audit"]
    assert (returned["step"], returned["versions"]) == ("audit", {})
    assert returned["counts"] == {"rows_read": 9, "checks_passed": 7}
    assert events.added == []


def test_a_step_that_failed_behind_the_plan_is_taken_by_a_job_with_its_reason(
    job: Callable[..., str], tmp_path: Path
) -> None:
    planned = {**RESULT, "step": "plan", "counts": {}}
    failed = {**RESULT, "state": "failed", "error": "the disk is full"}
    jobs = Jobs(job, tmp_path, plan=(0, planned), replay=(1, failed))
    with pytest.raises(AirflowException, match="the disk is full"):
        interval(jobs.script, approve=True)
    assert jobs.calls[-1][:4] == ["replay", "/p/sales.yaml", "--run-id", RUN]
    assert jobs.calls[-1][-2:] == ["--then", "audit"]


def test_failed_checks_that_a_person_decides_about_wait_for_the_question(
    job: Callable[..., str], tmp_path: Path
) -> None:
    question = {**RESULT, "step": "run", "state": "asks", "error": "1 check failed"}
    jobs = Jobs(job, tmp_path, plan=(0, {**RESULT, "step": "plan"}), run=(3, question))
    assert interval(jobs.script)["state"] == "asks"
    blocked = Jobs(job, tmp_path, plan=(0, {**RESULT, "step": "plan"}), run=(3, {**question, "state": "blocked"}))
    with pytest.raises(AirflowFailException, match="blocked by quality: 1 check failed"):
        interval(blocked.script)


def ended(place: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the task of an interval has returned."""
    return {**content, "interval": INTERVALS[place]}


def test_one_question_is_about_all_intervals_that_wait() -> None:
    counts = {"rows_read": 9, "windows": 3}
    waiting = [ended(0, {**STAGED, "counts": counts}), ended(1, {**STAGED, "counts": counts}), ended(2, PUBLISHED)]
    operator = ApproveIntervalsOperator(request=CUTTING)
    question = operator.question(context_of(two_at_a_time=waiting))
    assert question is not None
    assert question.subject == "Publish 2 intervals of sales?"
    assert "from 2013-07-01 00:00 to 2013-07-01 18:00 UTC" in question.body
    assert "| rows read | 18 |" in question.body
    failed = ended(1, {**STAGED, "state": "asks", "error": "1 check failed"})
    question = operator.question(context_of(two_at_a_time=[waiting[0], failed]))
    assert question is not None
    assert question.subject == "Publish 2 intervals of sales, 1 of them although checks have failed?"
    assert "2013-07-01 06:00 to 2013-07-01 12:00: 1 check failed" in question.body


def test_without_an_interval_that_waits_nothing_is_for_a_person(job: Callable[..., str]) -> None:
    operator = ApproveIntervalsOperator(request=CUTTING)
    assert operator.execute(context_of(two_at_a_time=[ended(0, PUBLISHED)])) == []
    assert operator.execute(context_of()) == []


def answer(option: str) -> dict[str, Any]:
    """Return the event of an answer."""
    responded = {"responded_at": datetime(2026, 1, 1, tzinfo=UTC), "responded_by_user": {"id": "1", "name": "ada"}}
    return {"chosen_options": [option], "params_input": {}, **responded}


def test_after_a_yes_the_intervals_that_wait_are_published() -> None:
    failed = ended(1, {**STAGED, "state": "asks", "error": "1 check failed"})
    context = context_of(two_at_a_time=[ended(0, STAGED), failed, ended(2, PUBLISHED)])
    operator = ApproveIntervalsOperator(request=CUTTING)
    assert operator.execute_complete(context, answer("Approve")) == [
        {**INTERVALS[0], "run_id": RUN, "because": ""},
        {**INTERVALS[1], "run_id": RUN, "because": "approved in Airflow by ada"},
    ]
    assert operator.execute_complete(context, answer("Reject")) == []


def test_an_approved_interval_is_published_with_its_report(job: Callable[..., str], tmp_path: Path) -> None:
    result = {**RESULT, "step": "publish", "versions": {"panes": 4}}
    jobs, events = Jobs(job, tmp_path, publish=(0, result)), Events()
    approved: Any = {**INTERVALS[0], "run_id": RUN, "because": "approved in Airflow by ada"}
    operator = PublishIntervalOperator(request=CUTTING, interval=approved, application=jobs.script)
    assert operator.execute(context_of(events))["interval"] == INTERVALS[0]
    (call,) = jobs.calls
    assert call[:4] == ["publish", "/p/sales.yaml", "--run-id", RUN]
    assert call[-4:] == ["--because", "approved in Airflow by ada", "--then", "report"]
    assert len(events.added) == 1


def summary(**returned: Any) -> Any:
    """Return what the summary of three intervals returns."""
    return SummaryOperator(request=CUTTING).execute(context_of(cut=INTERVALS, **returned))


def test_the_summary_counts_how_the_intervals_ended() -> None:
    published = [ended(place, PUBLISHED) for place in range(3)]
    assert summary(two_at_a_time=published) == {"published": 3, "waiting": 0, "failed": 0}
    waiting = [ended(place, STAGED) for place in range(3)]
    # After a no.
    assert summary(two_at_a_time=waiting, approve=[]) == {"published": 0, "waiting": 3, "failed": 0}
    approved = [{**piece, "run_id": RUN, "because": ""} for piece in INTERVALS]
    assert summary(two_at_a_time=waiting, approve=approved, publish=published)["published"] == 3


def test_the_summary_fails_if_an_interval_has_failed_and_names_what_to_do() -> None:
    with pytest.raises(AirflowFailException) as raised:
        summary(two_at_a_time=[ended(0, PUBLISHED), ended(2, PUBLISHED)])
    lines = str(raised.value).splitlines()
    assert lines[:2] == ["1 of 3 intervals failed:", "  2013-07-01 06:00 to 2013-07-01 12:00"]
    assert "'Only what is missing or failed'" in lines[2]
    approved = [{**INTERVALS[0], "run_id": RUN, "because": ""}]
    with pytest.raises(AirflowFailException, match="3 of 3 intervals failed"):
        summary(two_at_a_time=[ended(0, STAGED)], approve=approved)
    # The question itself has failed.
    with pytest.raises(AirflowFailException, match="3 of 3 intervals failed"):
        summary(two_at_a_time=[ended(place, STAGED) for place in range(3)])


def test_a_request_that_was_changed_behind_the_form_cuts_nothing() -> None:
    request: Request = {**CUTTING, "overrides": {"source.table": "/other/table"}}  # type: ignore[typeddict-item]
    with pytest.raises(ValueError, match=r"may not replace source\.table"):
        CutOperator(request=request).execute(context_of())
