"""The tasks of a run, each a step of it: land, plan, watermarks, slice, replay, audit, publish, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk import Context, TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from spark_jobs.job_protocol import ExitCode, StepName, StepResult, StepState, add_counts, progress_line
from spark_jobs.pipeline import lake_folder
from spark_jobs.tables.lake import Lake, report_name
from tidemark_airflow.jobs.assets import PUBLISHED
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.planned_run import PlannedRun, plan_xcom
from tidemark_airflow.jobs.request import (
    is_in_intervals,
    land_arguments,
    plan_arguments,
    stages_slices_apart,
    step_arguments,
    whole_run_arguments,
)
from tidemark_airflow.jobs.task_ids import APPROVE, AUDIT, FAILURE, LAND, PLAN, REPLAY, REPORT_IF_BLOCKED
from tidemark_airflow.tasks.approval import user_of
from tidemark_airflow.tasks.asset_events import add_event
from tidemark_airflow.tasks.returned import planned_run, result_of, results_of
from tidemark_airflow.tasks.spark_job import JOBS, STEP_SCRIPT, SparkJobOperator
from tidemark_airflow.tasks.steps_behind import recorded, steps_behind, taken_before

_BEFORE_THE_QUESTION = (StepName.WATERMARKS, StepName.SLICE, StepName.REPLAY, StepName.AUDIT)
_IN_INTERVALS = "the range is cut into intervals: see the group intervals"


class LandOperator(SparkJobOperator):
    """Runs a script of `spark_jobs/jobs` that brings a pipeline's source table into the lake."""

    def __init__(self, *, script: str, **kwargs: Any) -> None:
        super().__init__(application=str(JOBS / script), name="tidemark land", **{"task_id": LAND, **kwargs})

    def execute(self, context: Context) -> Any:
        """Land the table."""
        return self.end(context, lambda: self.run_job(land_arguments(lake_folder())))


class PlanOperator(SparkJobOperator):
    """Plans the run of `request`; returns the result with the request, for the tasks behind it."""

    template_fields: Sequence[str] = ("application", "request")

    def __init__(self, *, request: Any, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark plan", **{"task_id": PLAN, **kwargs})
        self.request = request

    def execute(self, context: Context) -> Any:
        """Plan the run, or for a dry run show what it would be; skipped for a range in intervals."""
        if is_in_intervals(self.request):
            raise AirflowSkipException(_IN_INTERVALS)
        result = self.end(context, self._outcome)
        return plan_xcom(result, self.request)

    def _outcome(self) -> Outcome:
        """Plan without Spark; where only Spark can plan, its job goes on with the steps of the tasks behind."""
        outcome = self.run_without_spark(plan_arguments(self.request))
        if not outcome.needs_spark:
            return outcome
        self.log.info(progress_line(self.task_id, outcome.message))
        then = [] if self.request.get("dry_run") else steps_behind(self, self.request)
        return self.run_job(plan_arguments(self.request, then=then))


class StepOperator(SparkJobOperator):
    """Takes a later step of the run that the task `plan` has planned: replay, audit, publish or report.

    - Its job goes on with the steps of the tasks that follow directly (`steps_behind`). These tasks start no job: each
      returns the result of its step, or fails with it.
    - For a run that is published already the result comes from its plan, without Spark.
    - For a dry run the task is skipped.
    - If checks fail and the pipeline leaves the decision to a person, audit succeeds with the state `NEEDS_APPROVAL`,
      for an `ApproveOperator` behind it.
    - If another run was published since the plan, a run over arrivals or changes cannot go on. The task then takes all
      steps of a new run at once, and the tasks behind it find them done. A run that a person has to approve fails.
    """

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, step: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name=f"tidemark {step}", **{"task_id": step, **kwargs})
        self.step = step

    def execute(self, context: Context) -> Any:
        """Take the step of the planned run."""
        if context["ti"].xcom_pull(task_ids=PLAN) is None:
            raise AirflowSkipException(_IN_INTERVALS)
        planned = planned_run(context)
        if planned.request.get("dry_run"):
            raise AirflowSkipException(f"a dry run: {planned.result.message}")
        return self.take(context, planned)

    def take(self, context: Context, planned: PlannedRun) -> Any:
        """Take the step; returns its result."""
        then = steps_behind(self, planned.request)
        arguments = step_arguments(self.step, planned.request, planned.run_id, then=then)
        return self.end(context, lambda: self.ended_before(context, planned) or self.outcome_of(planned, arguments))

    def ended_before(self, context: Context, planned: PlannedRun) -> Outcome | None:
        """Return the outcome of a step that needs no job here; None if a job has to take it."""
        outcome = self.without_job(planned)
        if outcome is None:
            outcome = taken_before(context, self.task_id, self.step)
        return recorded(planned, self.task_id, self.step) if outcome is None else self._accepted(outcome)

    def without_job(self, planned: PlannedRun) -> Outcome | None:
        """Return the outcome if the plan has it: the run is published, and its report exists; else None."""
        if not planned.is_published or (self.step == StepName.REPORT and not _has_report(planned)):
            return None
        message = f"run {planned.run_id} is published already, nothing to do"
        return self.unchanged(replace(planned.result, message=message, error=None, slices=()))

    def unchanged(self, result: StepResult) -> Outcome:
        """Return the outcome of a step that needs no job."""
        result = replace(result, step=self.step, state=StepState.UNCHANGED, seconds=0.0)
        return Outcome(self.task_id, ExitCode.DONE, result)

    def outcome_of(self, planned: PlannedRun, arguments: Sequence[str]) -> Outcome:
        """Run the job, or if the plan is out of date a job that takes all steps of a new run."""
        outcome = self.run_job(arguments)
        request = planned.request
        follows = request.get("arrived_to") or request.get("changed")
        if outcome.is_stale and follows and not request.get("approve"):
            self.log.info(progress_line(self.task_id, "the plan is out of date: planning again"))
            outcome = self.run_job(whole_run_arguments(request))
        return self._accepted(outcome)

    def _accepted(self, outcome: Outcome) -> Outcome:
        """Return the outcome, as a success if its checks failed and a person decides before the run is published."""
        if not outcome.needs_approval or self.step not in _BEFORE_THE_QUESTION:
            return outcome
        self.log.warning(progress_line(self.task_id, outcome.failure()))
        return replace(outcome, exit_code=ExitCode.DONE)


class WatermarksOperator(StepOperator):
    """Computes what slices need, for a run whose slices are tasks; returns their names, one task each.

    A run in one piece has none: the task `replay` computes all of it.
    """

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        super().__init__(step=StepName.WATERMARKS.value, application=application, **kwargs)

    def without_job(self, planned: PlannedRun) -> Outcome | None:
        """Return the outcome without a job if slices are not staged apart, or the run is published."""
        if stages_slices_apart(planned.request):
            return super().without_job(planned)
        message = "in one piece, which the task replay computes"
        return self.unchanged(StepResult(self.step, planned.run_id, "", StepState.UNCHANGED, message))

    def execute(self, context: Context) -> Any:
        """Take the step; returns the list of names that tasks are mapped over."""
        return list(super().execute(context)["slices"])


class SliceOperator(StepOperator):
    """Stages one slice of the planned run, beside other tasks that stage other slices of it."""

    def __init__(self, *, part: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(step=StepName.SLICE.value, application=application, **kwargs)
        self.part = part

    def take(self, context: Context, planned: PlannedRun) -> Any:
        """Stage the slice; returns the result."""
        arguments = step_arguments(self.step, planned.request, planned.run_id, part=self.part)
        return self.end(context, lambda: self.without_job(planned) or self.outcome_of(planned, arguments))


class BlockedReportOperator(StepOperator):
    """Reports a run that its checks have blocked, behind the task `audit`; skipped for any other run.

    The DAG run still fails, because its last task was not reached.
    """

    #: No job takes this step in advance of a good run.
    only_if_blocked = True

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        own = {"task_id": REPORT_IF_BLOCKED, "trigger_rule": TriggerRule.ONE_FAILED, **kwargs}
        super().__init__(step=StepName.REPORT.value, application=application, **own)

    def execute(self, context: Context) -> Any:
        """Write the report if checks have blocked the run."""
        failure = context["ti"].xcom_pull(task_ids=AUDIT, key=FAILURE) or {}
        if failure.get("exit_code") != ExitCode.BLOCKED:
            raise AirflowSkipException("no check has blocked the run")
        return super().execute(context)


class PublishOperator(StepOperator):
    """Takes the step publish; adds an event to the pipeline's asset if results are new.

    Results that were published before this DAG run, or by another, are no event. An attempt after one that died behind
    its publishing adds the event. A run whose checks failed is accepted first, if a person has approved it.
    """

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        own = {"outlets": [PUBLISHED], **kwargs}
        super().__init__(step=StepName.PUBLISH.value, application=application, **own)

    def take(self, context: Context, planned: PlannedRun) -> Any:
        """Publish; returns the result."""
        because = _approval(context) or planned.request.get("because") or ""
        then = steps_behind(self, planned.request)
        arguments = step_arguments(self.step, planned.request, planned.run_id, because=because, then=then)
        content = self.end(context, lambda: self.ended_before(context, planned) or self.outcome_of(planned, arguments))
        self._add_event(context, planned, StepResult.from_json(content))
        return content

    def _add_event(self, context: Context, planned: PlannedRun, published: StepResult) -> None:
        results = [*results_of(context, REPLAY, AUDIT), published]
        made_here = [result.run_id for result in results if result.state is StepState.DONE]
        if not planned.is_published and published.run_id in (planned.run_id, *made_here):
            add_event(context, published, planned.request, add_counts(results))


def _has_report(planned: PlannedRun) -> bool:
    lake = Lake.of(planned.pipeline)
    return lake.objects.find(report_name(planned.run_id)) is not None


def _approval(context: Context) -> str:
    """Return who has approved failed checks, for the ledger; empty if nothing failed or nobody has answered."""
    audit, answer = result_of(context, AUDIT), context["ti"].xcom_pull(task_ids=APPROVE)
    if audit is None or audit.state is not StepState.NEEDS_APPROVAL or not answer:
        return ""
    return f"approved in Airflow by {user_of(answer)}"
