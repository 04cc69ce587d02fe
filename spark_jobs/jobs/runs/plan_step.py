"""The step plan: its entry in the ledger and its outcome, by Spark (`Runner`) or without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.jobs.runs.outcome import Clock, Outcome
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, report_name
from spark_jobs.tables.run import Run, Step


def without_spark(
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    changed: bool = False,
) -> StepResult:
    """Plan a run and enter it into the ledger, as `Runner.plan`, but without Spark.

    Raises NeedsSparkError where only Spark can plan, and InputError.
    """
    clock = Clock()
    tables = DeltaRsTables.without_spark(pipeline, lake)
    planned = plan(tables, interval, arrived_to, restate=restate, changed=changed)
    run = planned.run
    is_known = run.finished_step(StepName.PLAN) is not None
    if not is_known:
        try:
            run = run_history.record(lake, run, entry(run, clock))
        except LakeError as problem:
            raise NeedsSparkError(str(problem)) from problem
    return clock.result(StepName.PLAN, run, outcome(replace(planned, run=run), lake, is_known=is_known))


def entry(run: Run, clock: Clock, counts: Mapping[str, int] | None = None) -> Step:
    """Return the entry of a plan that ends now; `counts` are those of a repair, or of a run over changes."""
    return clock.entry(StepName.PLAN, StepState.DONE, counts=counts, versions=run.source_versions)


def outcome(planned: Plan, lake: Lake, *, is_known: bool) -> Outcome:
    """Return how a plan ended; `is_known` if the ledger had its run before."""
    run = planned.run
    state = StepState.UNCHANGED if is_known else StepState.DONE
    report = report_of(lake, run) if run.versions else None
    message = _message(planned, is_known=is_known)
    return Outcome(message, state, counts=run.counts, versions=run.versions, report=report)


def report_of(lake: Lake, run: Run) -> str | None:
    """Return the report of a run, None if it does not exist."""
    return lake.report_path(run.run_id) if lake.objects.find(report_name(run.run_id)) else None


def _message(planned: Plan, *, is_known: bool) -> str:
    run = planned.run
    message = f"run {run.run_id}: {planned.reads}"
    if run.arrived_from is not None:
        message += f", going on from {run.arrived_from:%Y-%m-%d %H:%M:%S} UTC"
    if planned.note and (run.versions or not is_known):
        message += f"; {planned.note}"
    return message
