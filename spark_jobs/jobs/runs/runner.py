"""The steps of a run, each recorded in the ledger when it ends: done, blocked or failed.

    plan -> replay -> audit -> publish -> report
    plan -> watermarks -> slice, slice, ... -> replay -> ...       slices staged apart, by processes of their own

A step that the ledger knows as done is not done again. The same functions serve Airflow, where each step is a
spark-submit of its own, and `tidemark replay`, which takes all of them in one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic

from pyspark.sql import SparkSession

from spark_jobs.jobs.audit import openlineage
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.plan.arrival_slices import taken
from spark_jobs.jobs.plan.plan import Plan, covers, plan
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.report.alternatives import alternatives
from spark_jobs.jobs.runs import failures
from spark_jobs.jobs.runs.outcome import Clock, Outcome
from spark_jobs.jobs.stage import slices as slicing
from spark_jobs.jobs.stage import stage as replaying
from spark_jobs.pipeline.model import OnFailure, Pipeline
from spark_jobs.session import interpreting
from spark_jobs.tables import files, ledger, locks
from spark_jobs.tables.effective_runs import standing_of
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step

STEPS = ("plan", "replay", "audit", "publish", "report")
#: The step that computes what slices stand on, and that which stages one of them.
WATERMARKS, SLICE = "watermarks", "slice"


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
        self._spark, self._pipeline, self._lake = spark, pipeline, lake
        self._progress, self._slices, self._wait_s = progress, slices, wait_s
        self._held: str | None = None
        self._latest: dict[str, Run] = {}
        self._clerk = ThreadPoolExecutor(max_workers=1)
        self._entry: Future[Run] | None = None

    @property
    def spark(self) -> SparkSession:
        """The session that it works in."""
        return self._spark

    def plan(
        self, interval: Interval, arrived_to: datetime | None = None, *, restate: bool = False
    ) -> tuple[Plan, Outcome]:
        """Plan a run, as `plan.plan`, and enter it into the ledger. Raises InputError."""
        return self._planned(interval, arrived_to, restate=restate, beside=False)

    def begin(
        self,
        interval: Interval,
        arrived_to: datetime | None = None,
        *,
        restate: bool = False,
        repair: Mapping[str, int] | None = None,
    ) -> tuple[Plan, Outcome]:
        """Plan a run whose steps follow at once: it is entered into the ledger beside the first of them.

        A first entry takes seconds, most of them on one core. The step waits for it before it enters its own end, and
        fails if it failed. Raises InputError.
        """
        return self._planned(interval, arrived_to, restate=restate, repair=repair, beside=True)

    def _planned(
        self,
        interval: Interval,
        arrived_to: datetime | None,
        *,
        restate: bool,
        beside: bool,
        repair: Mapping[str, int] | None = None,
    ) -> tuple[Plan, Outcome]:
        began = Clock()
        asked = (interval, arrived_to)
        planned = plan(self._spark, self._pipeline, self._lake, *asked, restate=restate, repair=repair is not None)
        run = planned.run
        known = run.done("plan") is not None
        if not known:
            done = began.step("plan", "done", counts=repair, versions=run.source_versions)
            run = self._record(run, done, beside=beside)
            planned = replace(planned, run=run)
        message = f"run {run.run_id}: {planned.reads}"
        if run.arrived_from is not None:
            message += f", going on from {run.arrived_from:%Y-%m-%d %H:%M:%S} UTC"
        if planned.note and not known:
            message += f"; {planned.note}"
        self._progress("plan", message)
        outcome = self._outcome(run, "plan", "unchanged" if known else "done", message, began)
        report = self._lake.report_file(run.run_id)
        written = str(report) if run.versions and report.is_file() else None
        return planned, replace(outcome, counts=run.counts, versions=run.versions, report=written)

    def find(self, run_id: str) -> Run:
        """A planned run. Raises InputError if the ledger does not know it, or another pipeline made it."""
        run = self._latest.get(run_id) or ledger.find(self._spark, self._lake, run_id)
        if run is None:
            raise InputError(f"run: asked for {run_id}, which {self._lake.home}/runs does not know: plan it first")
        if run.fingerprint != self._pipeline.fingerprint:
            raise InputError(
                f"run: {run_id} was planned with another state of the pipeline (fingerprint {run.fingerprint}, now "
                f"{self._pipeline.fingerprint}): plan again, or give the same overrides"
            )
        return run

    def latest(self) -> Run:
        """The run that was published last. Raises InputError if there is none."""
        published = ledger.published(self._spark, self._lake)
        if not published:
            raise InputError(f"run: asked for the one published last, found none in {self._lake.home}/runs")
        if published[-1].kind == ledger.ROLLBACK:
            raise InputError("run: asked for the one published last, which is a rollback: give --run")
        return published[-1]

    def rollback(self, run_id: str) -> Outcome:
        """Make the published tables what they were when `run_id` was published.

        Raises InputError for a run that never was, HeldError while another process works on any windows.
        """
        began = Clock()
        with locks.hold(self._lake, run_id, Interval(), wait_s=self._wait_s):
            done = publishing.rollback(self._spark, self._lake, run_id)
        changed = done.run_id != run_id
        message = f"published again as of run {run_id}" if changed else f"run {run_id} is what is published"
        self._progress("rollback", message)
        state = "done" if changed else "unchanged"
        return self._outcome(done, "rollback", state, message, began, versions=done.versions)

    def accept(self, run: Run, because: str) -> Run:
        """Take a run that its checks have blocked all the same, for the reason given by a person; returns it.

        Its step publish may follow. Raises InputError for a run that is not blocked, and without a reason.
        """
        if not because.strip():
            raise InputError("--because: found no reason, expected who accepts what has failed, and why")
        with self._holding(run) as (known, _):
            if known.accepted is not None or known.versions:
                return known
            if known.state != "blocked":
                raise InputError(
                    f"accept: asked for run {run.run_id}, found it {known.state}: only a blocked one can be accepted"
                )
            self._progress("accept", f"run {run.run_id}: {because.strip()}")
            return self._record(known, Clock().step(ledger.ACCEPT, "done", note=because.strip()))

    def step(self, name: str, run: Run) -> Outcome:
        """Take one step of a planned run; nothing of one over arrivals that another has published since its plan.

        Raises BlockedError when a gate does not open, InputError for the user's mistakes; both are in the ledger then.
        Raises HeldError when another process works on the run's windows.
        """
        if self._held == run.run_id:
            return self._taken(name, run)
        if name == "report":
            return self._overtaken(name, run) or self._taken(name, run)
        with self._holding(run) as (known, _):
            return self._overtaken(name, known) or self._taken(name, known)

    def stage_slice(self, run: Run, name: str) -> Outcome:
        """Stage one of the slices that the step watermarks of a planned run has given; others may be staged beside it.

        Raises InputError for a slice that there is not, and otherwise as `step` does.
        """
        parts = {part.name: part for part in slicing.found(self._spark, self._lake, run.run_id)}
        if name not in parts:
            known = ", ".join(parts) or "none: take the step watermarks before"
            raise InputError(f"slice: asked for {name} of run {run.run_id}, found {known}")
        if run.done("replay") is not None:
            return self._outcome(run, SLICE, "unchanged", f"run {run.run_id} is staged as a whole", Clock())
        began, part = Clock(), parts[name]
        with locks.hold(self._lake, f"{run.run_id}.{name}", part.interval, wait_s=self._wait_s):
            try:
                pipeline = taken(self._pipeline, run)
                replaying.stage_slice(self._spark, pipeline, self._lake, run, part, progress=self._progress)
            except Exception as problem:
                self._record_failure(run, began.step("replay", "failed", error=failures.told(problem, self._lake)))
                raise
        return self._outcome(run, SLICE, "done", f"{name} of run {run.run_id} is staged", began)

    def _overtaken(self, name: str, run: Run) -> Outcome | None:
        """The outcome of the run that has published what this one was to add, where one has: nothing is left to do."""
        if run.kind != ledger.ARRIVALS or run.arrived_to is None or run.versions:
            return None
        shown = standing_of(ledger.published(self._spark, self._lake)).shown
        if shown is None or not covers(shown, self._pipeline, run.arrived_to):
            return None
        until = f"arrivals until {run.arrived_to:%Y-%m-%d %H:%M:%S} UTC"
        message = f"run {run.run_id}: {until} are published already, by run {shown.run_id}"
        self._progress(name, message)
        report = self._lake.report_file(shown.run_id)
        outcome = self._outcome(shown, name, "unchanged", message, Clock(), shown.counts, shown.versions)
        return replace(outcome, report=str(report) if name == "report" and report.is_file() else None)

    @contextmanager
    def _holding(self, run: Run) -> Iterator[tuple[Run, bool]]:
        """Hold the run's windows; gives the run as it is then, and whether it waited."""
        # A run that goes on adds to windows that were closed before those that it replaces.
        goes_on = run.arrived_from is not None
        interval = Interval() if goes_on else Interval(run.interval_start, run.interval_end)
        with locks.hold(self._lake, run.run_id, interval, wait_s=self._wait_s) as waited:
            self._held = run.run_id
            try:
                yield (self._found_again(run), True) if waited else (run, False)
            finally:
                self._held = None

    def _found_again(self, run: Run) -> Run:
        """The run as the ledger tells it now: another process may have taken steps of it."""
        if self._entry is not None:
            self._entry.result()
        self._latest.pop(run.run_id, None)
        return self.find(run.run_id)

    def _taken(self, name: str, run: Run) -> Outcome:
        done = run.done(name)
        if done is not None and name not in {WATERMARKS, "report"}:
            state = f"{name} was done before, at {done.finished_at:%Y-%m-%d %H:%M:%S} UTC"
            self._progress(name, state)
            return self._outcome(run, name, "unchanged", state, Clock(), counts=done.counts, versions=done.versions)
        began = Clock()
        take: dict[str, Callable[[Run, Clock], Outcome]] = {
            WATERMARKS: self._watermarks,
            "replay": self._replay,
            "audit": self._audit,
            "publish": self._publish,
            "report": self._report,
        }
        try:
            return take[name](run, began)
        except BlockedError:
            raise
        except Exception as problem:
            self._record_failure(run, began.step(name, "failed", error=failures.told(problem, self._lake)))
            raise

    def run(
        self,
        interval: Interval,
        arrived_to: datetime | None = None,
        *,
        restate: bool = False,
        repair: Mapping[str, int] | None = None,
    ) -> list[Outcome]:
        """All steps of a run that is asked for as in `plan.plan`, one after the other.

        Of a repair `repair` counts what the run is to take in (`repair.Stretch`). Where a run had to wait for another
        that has taken up what arrived since, it is planned again.
        """
        while True:
            planned, outcome = self.begin(interval, arrived_to, restate=restate, repair=repair)
            with self._holding(planned.run) as (known, waited):
                if not waited or known.arrived_to is None or known.versions:
                    return [outcome, *(self.step(name, self.find(planned.run.run_id)) for name in STEPS[1:])]

    def _watermarks(self, run: Run, began: Clock) -> Outcome:
        if run.done("replay") is not None:
            return self._outcome(run, WATERMARKS, "unchanged", f"run {run.run_id} is staged", began)
        pipeline = taken(self._pipeline, run)
        parts = replaying.cut(self._spark, pipeline, self._lake, run, slices=self._slices, progress=self._progress)
        message = f"{len(parts)} slices" if parts else "in one piece"
        self._progress(WATERMARKS, message)
        outcome = self._outcome(run, WATERMARKS, "done", message, began)
        return replace(outcome, slices=[part.name for part in parts])

    def _replay(self, run: Run, began: Clock) -> Outcome:
        counts = replaying.stage(
            self._spark, taken(self._pipeline, run), self._lake, run, slices=self._slices, progress=self._progress
        )
        self._record(run, began.step("replay", "done", counts=counts))
        there = [name for name in ("pairs", "windows", "panes") if name in counts]
        told = ", ".join(f"{counts[name]:,} {name}" for name in there)
        message = f"{told}, {counts['too_late']:,} rows too late"
        if "missed_rows" in counts:
            message += f"; {counts['windows_missing_rows']:,} windows lack {counts['missed_rows']:,} rows"
        return self._outcome(run, "replay", "done", message, began, counts=counts)

    def _audit(self, run: Run, began: Clock) -> Outcome:
        if run.done("replay") is None:
            raise InputError(f"audit: run {run.run_id} is {run.state}; take its step replay before it is checked")
        from spark_jobs.jobs.audit import (
            audit as auditing,  # brings Great Expectations, which other steps do not wait for
        )

        self._progress("audit", "checking what is staged")
        pipeline = taken(self._pipeline, run)
        interval = Interval(run.interval_start, run.interval_end)
        checks = auditing.audit(self._spark, pipeline, self._lake, run.run_id, run.counts, interval)
        auditing.record(self._spark, self._lake, run.run_id, checks)
        blocked = auditing.blocks(checks, pipeline)
        openlineage.emit_audit(
            pipeline,
            self._lake,
            run,
            checks,
            blocked=blocked,
            began=began.at,
            problem=partial(self._progress, "audit"),
        )
        failed = [c for c in checks if not c.success]
        counts = {"checks_passed": len(checks) - len(failed), "checks_failed": len(failed)}
        message = f"{len(checks) - len(failed)} checks passed, {len(failed)} failed"
        self._progress("audit", message)
        if blocked:
            reason = auditing.failure_message(checks)
            self._record(run, began.step("audit", "blocked", counts=counts, error=reason))
            raise BlockedError(reason, asks=pipeline.quality.on_failure is OnFailure.ASK)
        if failed:
            self._progress("audit", auditing.failure_message(checks))
        self._record(run, began.step("audit", "done", counts=counts))
        return self._outcome(run, "audit", "done", message, began, counts=counts)

    def _publish(self, run: Run, began: Clock) -> Outcome:
        if run.done("audit") is None and run.accepted is None:
            rule = "only what has passed its checks, or was accepted, is published"
            raise InputError(f"publish: run {run.run_id} is {run.state}; {rule}")
        versions = publishing.publish(self._spark, self._lake, run)
        self._record(run, began.step("publish", "done", versions=versions))
        message = f"published to {self._lake.home}"
        self._progress("publish", message)
        return self._outcome(run, "publish", "done", message, began, versions=versions)

    def _report(self, run: Run, began: Clock) -> Outcome:
        from spark_jobs.jobs.report import report as reporting  # brings the plotting library

        pipeline = taken(self._pipeline, run)
        written = self._lake.report_file(run.run_id)
        if written.is_file() and not reporting.can_be_made(self._spark, pipeline, self._lake, run):
            message = f"report: {written}, written before maintenance has removed what it was made of"
            return replace(self._outcome(run, "report", "unchanged", message, began), report=str(written))
        # The census of a run that goes on does not know the rows before it.
        counted = run.done("replay") is not None and run.arrived_from is None
        counted = counted and files.exists(self._spark, self._lake.work(run.run_id, "census"))
        others = alternatives(self._spark, pipeline, self._lake, run) if counted else []
        path = reporting.report(self._spark, pipeline, self._lake, run, others)
        self._progress("report", str(path))
        if pipeline.quality.data_docs:
            from spark_jobs.jobs.report import data_docs

            if data_docs.can_be_made(run):
                self._progress("report", str(data_docs.data_docs(self._spark, pipeline, self._lake, run)))
        return replace(self._outcome(run, "report", "done", f"report: {path}", began), report=str(path))

    def _record(self, run: Run, step: Step, *, beside: bool = False) -> Run:
        """Enter a step into the ledger behind what is there, and remember the run as it is then."""
        if self._entry is not None:
            self._entry.result()
        self._entry = self._clerk.submit(ledger.record, interpreting(self._spark), self._lake, run, step)
        if not beside:
            self._entry.result()
        self._latest[run.run_id] = run.after(step)
        return self._latest[run.run_id]

    def _record_failure(self, run: Run, step: Step) -> None:
        """Enter that a step has failed, if that can be entered: what it failed of may stand in the way of this too."""
        try:
            self._record(run, step)
        except Exception as problem:  # noqa: BLE001  what is raised is what the step failed of
            self._entry = None
            self._progress(step.step, f"the failure is not in the ledger: {failures.told(problem, self._lake)}")

    def _outcome(
        self,
        run: Run,
        step: str,
        state: str,
        message: str,
        began: Clock,
        counts: Mapping[str, int] | None = None,
        versions: Mapping[str, int] | None = None,
    ) -> Outcome:
        seconds = round(monotonic() - began.monotonic, 3)
        return Outcome(
            step, run.run_id, run.pipeline, state, message, counts or {}, {}, versions or {}, seconds=seconds
        )
