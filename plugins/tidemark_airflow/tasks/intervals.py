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
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from spark_jobs.job_protocol import ExitCode, StepName, StepResult, StepState, add_counts, progress_line
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
from tidemark_airflow.jobs.task_ids import AT_A_TIME, CHOOSE, CUT, PUBLISH, in_intervals
from tidemark_airflow.tasks.asset_events import add_event
from tidemark_airflow.tasks.spark_job import STEP_SCRIPT, SparkJobOperator

#: Why the tasks of intervals are skipped.
IN_ONE_PIECE = "the range is not cut: see the task plan"
#: The steps behind the plan that come before a question to a person, and those that come after it.
_BEFORE, _AFTER = (StepName.REPLAY.value, StepName.AUDIT.value), (StepName.REPORT.value,)


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
            raise AirflowSkipException(IN_ONE_PIECE)
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


def _request_of(request: Request, interval: Mapping[str, Any]) -> Request:
    """Return the request of the interval's run."""
    return {**request, "start": interval["start"], "end": interval["end"]}


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


def _minute(text: str) -> str:
    return datetime.fromisoformat(text).replace(tzinfo=None).isoformat(sep=" ").removesuffix(":00")
