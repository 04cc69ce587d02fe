"""The tasks of a range that is cut into intervals, each of which is a run.

    cut -> choose -> interval, interval, ... -> approve -> publish, publish, ... -> summary

An interval is one task and one Spark application, which takes all steps of its run. If a person has to approve, it
stops behind the checks. One question is about all intervals, and `publish` takes the rest of the steps after a yes.

An interval that fails stops no other one. The summary fails if some interval did, which fails the DAG run. All tasks
are skipped for a range in one piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict

from airflow.providers.standard.operators.branch import BaseBranchOperator
from airflow.sdk import BaseOperator, Context, TriggerRule
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from spark_jobs.job_protocol import ExitCode, RunState, StepName, StepResult, StepState, add_counts, progress_line
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from tidemark_airflow.jobs.assets import PUBLISHED
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.request import (
    Request,
    intervals_arguments,
    is_in_intervals,
    plan_arguments,
    step_arguments,
    whole_run_arguments,
)
from tidemark_airflow.jobs.task_ids import APPROVE, AT_A_TIME, CHOOSE, CUT, PUBLISH, SUMMARY, in_intervals
from tidemark_airflow.tasks.approval import AskingOperator, Question, question_body
from tidemark_airflow.tasks.asset_events import add_event
from tidemark_airflow.tasks.spark_job import STEP_SCRIPT, SparkJobOperator

_IN_ONE_PIECE = "the range is not cut: see the task plan"
#: The steps behind the plan that come before a question to a person, and those that come after it.
_BEFORE, _AFTER = (StepName.REPLAY.value, StepName.AUDIT.value), (StepName.REPORT.value,)
_MOST_LISTED = 20
#: The state of an interval that is staged, and that nobody has approved.
_WAITING = "waiting"


class IntervalRun(TypedDict):
    """An interval [start, end) of window starts, in ISO 8601, under a name for people."""

    name: str
    start: str
    end: str


def interval_of(text: str) -> IntervalRun:
    """Return the interval of a text `START/END`."""
    start, end = text.split("/")
    return {"name": f"{_minute(start)} to {_minute(end)}", "start": start, "end": end}


class CutOperator(SparkJobOperator):
    """Cuts the range into intervals, without those that are published if so requested; returns them in their order."""

    template_fields: Sequence[str] = ("application", "request")

    def __init__(self, *, request: Any, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark cut", **{"task_id": CUT, **kwargs})
        self.request = request

    def execute(self, context: Context) -> Any:
        """Return the intervals; skipped for a range in one piece, and after a dry run."""
        if not is_in_intervals(self.request):
            raise AirflowSkipException(_IN_ONE_PIECE)
        result = self.end(context, lambda: self.run_without_spark(intervals_arguments(self.request)))
        intervals = [interval_of(text) for text in result["slices"]]
        for interval in intervals:
            self.log.info(progress_line(self.task_id, interval["name"]))
        if self.request.get("dry_run"):
            raise AirflowSkipException(f"a dry run: {result['message']}")
        return intervals


class ChooseOperator(BaseBranchOperator):
    """Chooses the task of intervals by how many are computed at once: Airflow reads this limit from the DAG alone."""

    template_fields: Sequence[str] = ("request",)

    def __init__(self, *, request: Any, **kwargs: Any) -> None:
        super().__init__(**{"task_id": CHOOSE, **kwargs})
        self.request = request

    def choose_branch(self, context: Context) -> str:
        """Return the id of the task."""
        return in_intervals(AT_A_TIME[self.request["side_by_side"]])


class IntervalOperator(SparkJobOperator):
    """Takes all steps of an interval's run, in one Spark application; without Spark if the run is published.

    The run of an earlier attempt goes on from what is staged. With `approve`, and for failed checks that a person
    decides about, it stops behind the checks.
    """

    template_fields: Sequence[str] = ("application", "request")

    def __init__(self, *, request: Any, interval: IntervalRun, application: str = "", **kwargs: Any) -> None:
        own = {"outlets": [PUBLISHED], **kwargs}
        super().__init__(application=application or STEP_SCRIPT, name="tidemark interval", **own)
        self.request, self.interval = request, interval

    def execute(self, context: Context) -> Any:
        """Take the steps; returns the result with the interval, and adds the event of new results."""
        request = _request_of(self.request, self.interval)
        content = self.end(context, lambda: self._outcome(request))
        result = StepResult.from_json(content)
        if _has_published(result) or _has_published_before(context, result):
            add_event(context, result, request)
        return {**content, "interval": self.interval}

    def _outcome(self, request: Request) -> Outcome:
        planned = self.run_without_spark(plan_arguments(request))
        if planned.result is not None and planned.succeeded and planned.result.versions:
            return planned
        if not (planned.succeeded or planned.needs_spark):
            return planned
        outcome = self._staged(request) if request.get("approve") else self.run_job(whole_run_arguments(request))
        if outcome.needs_approval:
            self.log.warning(progress_line(self.task_id, outcome.failure()))
            return replace(outcome, exit_code=ExitCode.DONE)
        return outcome

    def _staged(self, request: Request) -> Outcome:
        """Plan the run and take the steps before the question."""
        planned = self.run_job(plan_arguments(request, then=_BEFORE))
        if planned.result is None or not planned.succeeded or planned.result.versions:
            return planned
        results = {result.step: result for result in planned.result.following}
        for place, step in enumerate(_BEFORE):
            if step not in results:
                # A step that failed in the job of the plan has no result in it. Its separate job has the reason.
                arguments = step_arguments(step, request, planned.result.run_id, then=_BEFORE[place + 1 :])
                outcome = self.run_job(arguments)
                if outcome.result is None or not outcome.succeeded:
                    return outcome
                results |= {result.step: result for result in (outcome.result, *outcome.result.following)}
        return self._checked([results[step] for step in _BEFORE if step in results])

    def _checked(self, results: Sequence[StepResult]) -> Outcome:
        """Return the outcome of the last step, with the counts of all."""
        last = replace(results[-1], counts=add_counts(results), following=())
        is_blocked = last.state in (StepState.BLOCKED, StepState.NEEDS_APPROVAL)
        return Outcome(self.task_id, ExitCode.BLOCKED if is_blocked else ExitCode.DONE, last)


class ApproveIntervalsOperator(AskingOperator):
    """Asks a person once whether to publish all intervals that wait for it; returns them after a yes.

    An interval waits if the request wants the question, or if its checks failed and the pipeline leaves the decision to
    a person. Passes at once if none waits.
    """

    template_fields: Sequence[str] = ("request",)

    def __init__(self, *, request: Any, **kwargs: Any) -> None:
        super().__init__(**{"task_id": APPROVE, "trigger_rule": TriggerRule.ALL_DONE, **kwargs})
        self.request = request

    def execute(self, context: Context) -> Any:
        """Ask about the intervals that wait; returns none if none does."""
        if not self.request or not is_in_intervals(self.request):
            raise AirflowSkipException(_IN_ONE_PIECE)
        super().execute(context)
        return []

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Return the intervals to publish, none after a no."""
        answer = super().execute_complete(context, event)
        if answer["chosen_options"] != [self.APPROVE]:
            return []
        user = _user_of(answer)
        return [
            {**content["interval"], "run_id": content["run_id"], "because": _because(content, user)}
            for content in _waiting(context)
        ]

    def question(self, context: Context) -> Question | None:
        """Return what would be published; None if no interval waits."""
        contents = _waiting(context)
        if not contents:
            return None
        results = [StepResult.from_json(content) for content in contents]
        failures = [(c, r) for c, r in zip(contents, results, strict=True) if r.state is StepState.NEEDS_APPROVAL]
        although = f", {len(failures)} of them although checks have failed" if failures else ""
        subject = f"Publish {_amount(len(results))} of {results[0].pipeline}{although}?"
        counts: dict[str, int] = {}
        for result in results:
            for name, count in result.counts.items():
                counts[name] = counts.get(name, 0) + count
        lines = "\n".join(f"{c['interval']['name']}: {r.error or r.message}" for c, r in failures[:_MOST_LISTED])
        return Question(subject, question_body(self.request, counts, lines))


class PublishIntervalOperator(SparkJobOperator):
    """Publishes the run of an interval that a person has approved, and writes its report."""

    template_fields: Sequence[str] = ("application", "request")

    def __init__(self, *, request: Any, interval: Mapping[str, str], application: str = "", **kwargs: Any) -> None:
        own = {"task_id": PUBLISH, "outlets": [PUBLISHED], **kwargs}
        super().__init__(application=application or STEP_SCRIPT, name="tidemark publish", **own)
        self.request, self.interval = request, interval

    def execute(self, context: Context) -> Any:
        """Publish; returns the result with the interval, and adds the event of new results."""
        request = _request_of(self.request, self.interval)
        run_id, because = self.interval["run_id"], self.interval["because"]
        arguments = step_arguments(PUBLISH, request, run_id, because=because, then=_AFTER)
        content = self.end(context, lambda: self.run_job(arguments))
        result = StepResult.from_json(content)
        if result.state is StepState.DONE or _has_published_before(context, result):
            add_event(context, result, request)
        return {**content, "interval": {name: self.interval[name] for name in ("name", "start", "end")}}


class SummaryOperator(BaseOperator):
    """Lists how each interval has ended; fails if one has failed, with what to do."""

    template_fields: Sequence[str] = ("request",)

    def __init__(self, *, request: Any, **kwargs: Any) -> None:
        super().__init__(**{"task_id": SUMMARY, "trigger_rule": TriggerRule.ALL_DONE, "retries": 0, **kwargs})
        self.request = request

    def execute(self, context: Context) -> dict[str, int]:
        """Return how many intervals are published, wait and failed. Raises AirflowFailException."""
        intervals = context["ti"].xcom_pull(task_ids=in_intervals(CUT))
        if not self.request or not is_in_intervals(self.request) or intervals is None:
            raise AirflowSkipException(_IN_ONE_PIECE)
        ended = {content["interval"]["start"]: content for content in _ended(context)}
        approved = context["ti"].xcom_pull(task_ids=in_intervals(APPROVE))
        # A question that failed is no answer.
        to_publish = {interval["start"] for interval in (intervals if approved is None else approved)}
        counts, failed = dict.fromkeys((RunState.PUBLISHED.value, _WAITING, RunState.FAILED.value), 0), []
        for interval in intervals:
            content = ended.get(interval["start"])
            state = _state(content, is_approved=interval["start"] in to_publish)
            counts[state] += 1
            failed += [interval["name"]] if state == RunState.FAILED else []
            run = f", run {content['run_id']}" if content else ""
            self.log.info(progress_line(self.task_id, f"{interval['name']}: {state}{run}"))
        if failed:
            raise AirflowFailException(_failure(failed, len(intervals)))
        return counts


def _request_of(request: Request, interval: Mapping[str, Any]) -> Request:
    """Return the request of the interval's run."""
    return {**request, "start": interval["start"], "end": interval["end"]}


def _state(content: Mapping[str, Any] | None, *, is_approved: bool) -> str:
    if content is not None and content["versions"]:
        return RunState.PUBLISHED.value
    return RunState.FAILED.value if content is None or is_approved else _WAITING


def _failure(names: Sequence[str], count: int) -> str:
    lines = [f"  {name}" for name in names[:_MOST_LISTED]]
    more = [f"  and {len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    advice = (
        "The log of the task of an interval has the reason. Then trigger the same form with 'Only what is missing or "
        "failed': it takes the rest."
    )
    return "\n".join([f"{len(names)} of {_amount(count)} failed:", *lines, *more, advice])


def _ended(context: Context) -> list[dict[str, Any]]:
    """Return the results of all intervals, those of publishing last."""
    tasks = [in_intervals(task) for task in (*AT_A_TIME.values(), PUBLISH)]
    pulled = context["ti"].xcom_pull(task_ids=tasks) or []
    return [content for content in pulled if isinstance(content, dict) and "interval" in content]


def _waiting(context: Context) -> list[dict[str, Any]]:
    """Return the results of the intervals that are staged and not published."""
    return [content for content in _ended(context) if not content["versions"]]


def _has_published(result: StepResult) -> bool:
    """Return whether the job of a result has published a run."""
    return any(step.step == StepName.PUBLISH and step.state is StepState.DONE for step in result.following)


def _has_published_before(context: Context, result: StepResult) -> bool:
    """Return whether an attempt of this task before has published the run, and ended before its event."""
    began = getattr(context.get("dag_run"), "start_date", None)
    if context["ti"].try_number == 1 or not result.versions or began is None:
        return False
    with suppress(LakeError):
        run = run_history.find(Lake.of(result.pipeline), result.run_id)
        published = None if run is None else run.finished_step(StepName.PUBLISH)
        return published is not None and published.finished_at >= began
    return False


def _because(content: Mapping[str, Any], user: str) -> str:
    return f"approved in Airflow by {user}" if content["state"] == StepState.NEEDS_APPROVAL else ""


def _user_of(answer: Mapping[str, Any]) -> str:
    user = answer.get("responded_by_user") or {}
    return str(user.get("name") or user.get("id") or "somebody")


def _amount(count: int) -> str:
    return f"{count:,} interval" if count == 1 else f"{count:,} intervals"


def _minute(text: str) -> str:
    return datetime.fromisoformat(text).replace(tzinfo=None).isoformat(sep=" ").removesuffix(":00")
