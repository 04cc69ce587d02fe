"""The Runner takes steps of runs: it holds the run's windows, enters how each step ended into the ledger, dispatches.

What a step does is in `steps`. The same steps serve Airflow, where each is a task, and `tidemark replay`, which takes
all of them in one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import AFTER_PLAN, Option, RunState, StepName, StepResult, StepState
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.plan import delta_rs_tables
from spark_jobs.jobs.plan.check import fits
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.plan import covers, plan
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.jobs.publish import publish, registration
from spark_jobs.jobs.publish.holding import holding
from spark_jobs.jobs.runs import failures, plan_step
from spark_jobs.jobs.runs.either_engine import by_either_engine, engine_of
from spark_jobs.jobs.runs.meter import Meter
from spark_jobs.jobs.runs.outcome import Clock, Outcome
from spark_jobs.jobs.runs.run_ledger import RunLedger
from spark_jobs.jobs.runs.steps import STEPS, RunStep, SliceStep, StepContext, import_beside
from spark_jobs.jobs.stage import slices as run_slices
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.settings import differences
from spark_jobs.tables import ledger
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import LeaseLostError, Tenure
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.run_pipeline import pipeline_for_run

_Result = TypeVar("_Result")


class Runner:
    """Takes steps of runs of one pipeline into one lake.

    Steps that write hold the run's windows; `wait_s` is how many seconds they wait for another process that does.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        lake: Lake,
        *,
        progress: Progress = silent,
        slices: int = 1,
        wait_s: float = 0,
    ) -> None:
        self.spark, self._pipeline, self._lake = spark, pipeline, lake
        self._progress, self._slices, self._wait_s = progress, slices, wait_s
        self._ledger = RunLedger(spark, lake)
        self._meter = Meter(spark, partial(progress, "figures"))
        self._tenure: Tenure | None = None

    def plan(
        self, interval: Interval, arrived_to: datetime | None = None, *, restate: bool = False, changed: bool = False
    ) -> tuple[Plan, StepResult]:
        """Plan a run, as `plan.plan`, and enter it into the ledger. Raises InputError."""
        return self._plan(interval, arrived_to, restate=restate, changed=changed)

    def begin(
        self,
        interval: Interval,
        arrived_to: datetime | None = None,
        *,
        restate: bool = False,
        changed: bool = False,
        repair: Mapping[str, int] | None = None,
    ) -> tuple[Plan, StepResult]:
        """Plan a run whose steps follow at once; the ledger's entry is written beside the first of them.

        That step waits for the entry before it ends, and fails if the entry failed. Raises InputError.
        """
        return self._plan(interval, arrived_to, restate=restate, changed=changed, repair=repair, beside=True)

    def _plan(
        self,
        interval: Interval,
        arrived_to: datetime | None,
        *,
        restate: bool,
        changed: bool = False,
        repair: Mapping[str, int] | None = None,
        beside: bool = False,
    ) -> tuple[Plan, StepResult]:
        clock = Clock(self._meter)
        planned = self._with_either_engine(
            StepName.PLAN,
            lambda: self._planned(interval, arrived_to, restate=restate, repair=repair is not None, changed=changed),
        )
        run = planned.run
        is_known = run.finished_step(StepName.PLAN) is not None
        if not is_known:
            entry = plan_step.entry(run, clock, counts=repair or planned.counts)
            run = self._ledger.record(run, entry, beside=beside)
            planned = replace(planned, run=run)
        outcome = plan_step.outcome(planned, self._lake, is_known=is_known)
        self._progress(StepName.PLAN, outcome.message)
        return planned, clock.result(StepName.PLAN, run, outcome)

    def _planned(
        self, interval: Interval, arrived_to: datetime | None, *, restate: bool, repair: bool, changed: bool
    ) -> Plan:
        """Plan by delta-rs where it can: Spark opens a table much more slowly."""
        spark, pipeline, lake = self.spark, self._pipeline, self._lake
        registration.require_names(spark, pipeline, lake)
        with suppress(NeedsSparkError):
            tables = delta_rs_tables.DeltaRsTables(pipeline, lake, partial(fits, spark, pipeline))
            return plan(tables, interval, arrived_to, restate=restate, repair=repair, changed=changed)
        tables_of_spark = SparkTables(spark, pipeline, lake, remembers=True)
        return plan(tables_of_spark, interval, arrived_to, restate=restate, repair=repair, changed=changed)

    def find(self, run_id: str) -> Run:
        """Return a planned run. Raises InputError if the ledger does not have it, or another pipeline made it."""
        return self._checked(run_id, self._ledger.find(run_id))

    def latest(self) -> Run:
        """Return the run that was published last. Raises InputError if there is none."""
        published = self._ledger.published()
        if not published:
            raise InputError(
                f"run: published runs of {self._lake.home}: found none. Replay first",
                code=ErrorCode.NOT_ENOUGH_PUBLISHED,
            )
        if published[-1].kind == ledger.ROLLBACK:
            raise InputError(
                f"run: the run published last, {published[-1].run_id}, is a rollback: give --run",
                code=ErrorCode.RUN_NOT_PUBLISHED,
            )
        return published[-1]

    def rollback(self, run_id: str) -> StepResult:
        """Make the published tables what they were when `run_id` was published.

        Raises InputError for a run that was never published, LockedError while another process works on any windows.
        Raises RegistrationError if the catalog of `publish_to` fails after the rollback.
        """
        clock = Clock()
        with holding(self.spark, self._lake, run_id, Interval(), wait_s=self._wait_s) as tenure:
            run = publish.rollback(self.spark, self._lake, run_id, tenure, self._pipeline.results)
            registration.register(self.spark, self._pipeline, self._lake, run)
        is_new = run.run_id != run_id
        message = f"published again as of run {run_id}" if is_new else f"run {run_id} is what is published"
        self._progress(StepName.ROLLBACK, message)
        state = StepState.DONE if is_new else StepState.UNCHANGED
        return clock.result(StepName.ROLLBACK, run, Outcome(message, state, versions=run.versions))

    def accept(self, run: Run, because: str) -> Run:
        """Accept a run that its checks have blocked, for a person's reason; returns the run, which may be published.

        Raises InputError for a run that is not blocked, and without a reason.
        """
        reason = because.strip()
        if not reason:
            raise InputError(
                f"{Option.BECAUSE}: found no reason, expected who accepts the failed checks, and why",
                code=ErrorCode.OPTION_WRONG,
            )
        with self._holding(run) as (current, _):
            if current.accepted is not None or current.versions:
                return current
            if current.state != RunState.BLOCKED:
                rule = "only a blocked run can be accepted"
                raise InputError(
                    f"{StepName.ACCEPT}: run {run.run_id} is {current.state}; {rule}", code=ErrorCode.RUN_STATE_WRONG
                )
            self._progress(StepName.ACCEPT, f"run {run.run_id}: {reason}")
            return self._ledger.record(current, Clock().entry(StepName.ACCEPT, StepState.DONE, note=reason))

    def step(self, name: str, run: Run) -> StepResult:
        """Take a step of a planned run, unless another run has published the same arrivals since its plan.

        Raises BlockedError if checks block the run, InputError for the user's mistakes; the ledger has both. Raises
        LockedError while another process works on the run's windows, LeaseLostError if another has taken them over.
        Raises RegistrationError for a published run that has no names in the catalog; the ledger has no entry of it.
        """
        step = STEPS[name]
        if self._tenure is not None and self._tenure.lease.run_id == run.run_id:
            return self._take(step, run)
        if not step.locked:
            return self._overtaken(name, run) or self._take(step, run)
        with self._holding(run) as (current, _):
            return self._overtaken(name, current) or self._take(step, current)

    def stage_slice(self, run: Run, name: str) -> StepResult:
        """Stage one of the slices that the step watermarks returned; other processes may stage others.

        Raises InputError for a slice that does not exist, and otherwise as `step` does.
        """
        parts = {part.name: part for part in run_slices.stored_slices(self._lake, run.run_id)}
        if name not in parts:
            names = ", ".join(parts) or f"none: take the step {StepName.WATERMARKS} before"
            raise InputError(
                f"{StepName.SLICE}: requested {name} of run {run.run_id}, found {names}", code=ErrorCode.RUN_STATE_WRONG
            )
        step = SliceStep(parts[name])
        if run.finished_step(StepName.REPLAY) is not None:
            outcome = Outcome(f"run {run.run_id} is staged as a whole", StepState.UNCHANGED)
            return Clock().result(step.name, run, outcome)
        interval = run_slices.interval_of(step.part)
        with holding(self.spark, self._lake, f"{run.run_id}.{name}", interval, wait_s=self._wait_s):
            return self._take(step, run)

    def run(
        self,
        interval: Interval,
        arrived_to: datetime | None = None,
        *,
        restate: bool = False,
        changed: bool = False,
        repair: Mapping[str, int] | None = None,
    ) -> list[StepResult]:
        """Take all steps of a run, which is planned as by `plan.plan`, one after the other.

        For a repair, `repair` counts the windows and rows that the run takes in (`repair.Stretch`). If the run had to
        wait for another that has read later arrivals, or has replaced the results that it changes, it is planned again.
        """
        while True:
            planned, result = self.begin(interval, arrived_to, restate=restate, changed=changed, repair=repair)
            with self._holding(planned.run) as (current, waited):
                follows = current.arrived_to is not None or current.kind == ledger.CHANGED
                if not waited or not follows or current.versions:
                    return [result, *self._after_plan(planned.run.run_id)]

    def _after_plan(self, run_id: str) -> list[StepResult]:
        """Take the steps behind the plan. Raises BlockedError with the report of the run."""
        import_beside(AFTER_PLAN)
        try:
            return [self.step(name, self.find(run_id)) for name in AFTER_PLAN]
        except BlockedError as problem:
            raise problem.with_report(self._report_of_blocked(run_id)) from problem

    def _report_of_blocked(self, run_id: str) -> str | None:
        """Return the report of a blocked run; None if it cannot be written, which is no reason to fail again."""
        try:
            return self.step(StepName.REPORT, self.find(run_id)).report
        except Exception as problem:  # noqa: BLE001  the checks that failed are what the user has to see
            self._progress(StepName.REPORT, f"the report is missing: {failures.describe(problem, self._lake)}")
            return None

    def _take(self, step: RunStep, run: Run) -> StepResult:
        """Take the step unless it was done; the ledger has how it ended."""
        clock = Clock(self._meter)
        earlier = step.ended(run)
        if earlier is not None:
            message = run.done_before(step.name, earlier)
            self._progress(step.name, message)
            self._complete(step, run, clock)
            outcome = Outcome(message, StepState.UNCHANGED, counts=earlier.counts, versions=earlier.versions)
            return clock.result(step.name, run, outcome)
        outcome = self._try(step, run, clock)
        for line in outcome.lines:
            self._progress(step.name, line)
        self._complete(step, self.find(run.run_id) if step.recorded else run, clock)
        return clock.result(step.name, run, outcome)

    def _complete(self, step: RunStep, run: Run, clock: Clock) -> None:
        """Do what follows the ledger's entry. A failure of it is not entered: the entry that the step is done holds."""
        for line in step.complete(self._context(run, clock)):
            self._progress(step.name, line)

    def _try(self, step: RunStep, run: Run, clock: Clock) -> Outcome:
        """Take the step; the ledger has its failure."""
        try:
            return self._recorded(step, run, clock)
        except (BlockedError, LeaseLostError):
            # After a lost lease the run is another process's.
            raise
        except Exception as problem:
            entry = clock.entry(step.entry, StepState.FAILED, error=hide_values(failures.describe(problem, self._lake)))
            self._ledger.record_failure(run, entry, partial(self._progress, step.entry))
            raise

    def _recorded(self, step: RunStep, run: Run, clock: Clock) -> Outcome:
        """Take the step, and enter into the ledger that it is done or blocked."""
        context = self._context(run, clock)
        step.require(context)
        if context.tenure is not None:
            context.tenure.require()
        try:
            outcome = self._take_with_either_engine(step, context)
        except BlockedError as problem:
            self._ledger.record(
                run, clock.entry(step.entry, StepState.BLOCKED, problem.counts, error=hide_values(str(problem)))
            )
            raise problem.with_figures(clock.figures) from problem
        if step.recorded:
            self._ledger.record(run, clock.entry(step.entry, StepState.DONE, outcome.counts, outcome.versions))
        return outcome

    def _take_with_either_engine(self, step: RunStep, context: StepContext) -> Outcome:
        """Take the step; if the native engine fails in it, take it again by Spark alone.

        What the first attempt has staged stays, as after a crash.
        """
        return self._with_either_engine(step.name, lambda: step.take(context))

    def _with_either_engine(self, name: str, work: Callable[[], _Result]) -> _Result:
        report = partial(self._progress, name)
        with engine_of(self.spark, self._pipeline, report):
            return by_either_engine(work, self.spark, report)

    def _context(self, run: Run, clock: Clock) -> StepContext:
        pipeline = pipeline_for_run(self._pipeline, run)
        return StepContext(
            self.spark, pipeline, self._lake, run, self._show_within, clock.at, slices=self._slices, tenure=self._tenure
        )

    def _show_within(self, step: str, text: str) -> None:
        """Show a line of progress of a step that goes on; it stands between parts of the step, which are measured."""
        self._meter.keep_up()
        self._progress(step, text)

    def _overtaken(self, name: str, run: Run) -> StepResult | None:
        """The result of the run that has published what this run was to add; None where no other run has."""
        if run.kind not in (ledger.ARRIVALS, ledger.CHANGED) or run.arrived_to is None or run.versions:
            return None
        published = self._ledger.published()
        latest = effective_runs(published).latest
        if latest is None or published[-1].run_id == run.changes_run:
            return None
        if not covers(latest, self._pipeline, run.arrived_to) or not _reads_as_much(latest, run):
            return None
        until = f"arrivals until {run.arrived_to:%Y-%m-%d %H:%M:%S} UTC"
        message = f"run {run.run_id}: {until} are published already, by run {latest.run_id}"
        self._progress(name, message)
        report = plan_step.report_of(self._lake, latest) if name == StepName.REPORT else None
        outcome = Outcome(message, StepState.UNCHANGED, latest.counts, latest.versions, report)
        return Clock().result(name, latest, outcome)

    @contextmanager
    def _holding(self, run: Run) -> Iterator[tuple[Run, bool]]:
        """Hold the run's windows; yields the run as it is then, and whether it waited."""
        # A run that goes on adds to windows that were closed before those that it replaces. A run over changes leaves
        # windows alone as long as nobody else replaces them.
        is_of_all = run.arrived_from is not None or run.kind == ledger.CHANGED
        interval = Interval() if is_of_all else run.interval
        with holding(self.spark, self._lake, run.run_id, interval, wait_s=self._wait_s) as tenure:
            self._tenure = tenure
            try:
                # While it waited, another process may have taken steps of the run.
                current = self._checked(run.run_id, self._ledger.reread(run.run_id)) if tenure.waited else run
                yield current, tenure.waited
            finally:
                self._tenure = None

    def _checked(self, run_id: str, run: Run | None) -> Run:
        if run is None:
            raise InputError(
                f"run: {run_id} is not in {self._lake.home}/runs: plan it first", code=ErrorCode.RUN_UNKNOWN
            )
        if run.fingerprint != self._pipeline.fingerprint:
            differing = differences(run.settings, run.fingerprint, self._pipeline)
            raise InputError(
                f"run: {run_id} was planned with other settings ({differing}): plan again, or give the same overrides",
                code=ErrorCode.RUN_OF_OTHER_SETTINGS,
            )
        return run


def _reads_as_much(latest: Run, run: Run) -> bool:
    """Return whether the results after `latest` are those of a source at least as new as the one that `run` reads."""
    if run.changes_run is None:
        return True
    return latest.kind in ledger.BASES and all(latest.pinned[name] >= version for name, version in run.pinned.items())
