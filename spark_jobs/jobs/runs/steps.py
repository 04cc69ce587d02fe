"""The steps of a run: what each needs, what it does, and what it returns. The ledger and the lease are the Runner's.

    plan -> replay -> audit -> publish -> report
    plan -> watermarks -> slice, slice, ... -> replay -> ...       each slice in a separate process

A step that the ledger has as done is not taken again, unless it is `repeatable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from threading import Thread
from typing import ClassVar

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import STAGED_SIZES, StepName, StepState
from spark_jobs.jobs.audit import openlineage
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.progress import Progress
from spark_jobs.jobs.publish import registration
from spark_jobs.jobs.publish.publish import publish
from spark_jobs.jobs.runs.outcome import Outcome
from spark_jobs.jobs.stage import stage
from spark_jobs.pipeline.model import OnFailure, Pipeline
from spark_jobs.replay.windows.slice import Slice
from spark_jobs.tables.lake import Lake, report_name
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.ledger import CHANGED, Run, Step


@dataclass(frozen=True)
class StepContext:
    """The planned run that a step is taken of, and what it works with.

    `pipeline` is the pipeline as the run takes it (`tables.run_pipeline`). `slices` is how many stretches
    of windows are written one after the other. `began_at` is when the step began. `tenure` is the lease of the run's
    windows, None for a step that needs none.
    """

    spark: SparkSession
    pipeline: Pipeline
    lake: Lake
    run: Run
    progress: Progress
    began_at: datetime
    slices: int = 1
    tenure: Tenure | None = None

    @property
    def has_report(self) -> bool:
        """Whether the run has a report."""
        return self.lake.objects.find(report_name(self.run.run_id)) is not None

    def shows(self, step: StepName) -> Callable[[str], None]:
        """Return what shows a line of progress of the step."""
        return lambda text: self.progress(step, text)


class RunStep(ABC):
    """A step of a planned run.

    `needs` must be done before. `repeatable`: it is taken again although it was done. `recorded`: the ledger has it
    once it is done. `locked`: it holds the run's windows. `modules` are imported when the step is taken: they bring
    packages that other steps do not need. `entry` is the name by which the ledger has its failure.
    """

    name: ClassVar[StepName]
    needs: ClassVar[tuple[StepName, ...]] = ()
    repeatable: ClassVar[bool] = False
    recorded: ClassVar[bool] = True
    locked: ClassVar[bool] = True
    modules: ClassVar[tuple[str, ...]] = ()

    @property
    def entry(self) -> StepName:
        """The step of the ledger that this one belongs to."""
        return self.name

    def ended(self, run: Run) -> Step | None:
        """Return the entry of the ledger after which the step is not taken again; None without such an entry."""
        return None if self.repeatable else run.ending(self.name)

    def require(self, context: StepContext) -> None:
        """Raise InputError unless the steps that this one needs are done."""
        run = context.run
        for name in self.needs:
            if run.finished_step(name) is None:
                hint = f"take its step {name} before its {self.name}"
                raise InputError(
                    f"{self.name}: run {run.run_id} is {run.state}; {hint}", code=ErrorCode.RUN_STATE_WRONG
                )

    @abstractmethod
    def take(self, context: StepContext) -> Outcome:
        """Take the step. Raises InputError for the user's mistakes, BlockedError if nothing may be published."""

    def complete(self, context: StepContext) -> list[str]:
        """Do what follows the entry of the ledger, and return lines of progress about it.

        It is repeated for a step that was done before, so it costs little if it is done already.
        """
        return []


class WatermarksStep(RunStep):
    """Computes what all slices need, and names the slices that can be staged apart; none for a run in one piece."""

    name = StepName.WATERMARKS
    repeatable = True
    recorded = False

    def take(self, context: StepContext) -> Outcome:
        """Return the names of the slices."""
        run = context.run
        if run.finished_step(StepName.REPLAY) is not None:
            return Outcome(f"run {run.run_id} is staged", StepState.UNCHANGED)
        parts = stage.cut(
            context.spark, context.pipeline, context.lake, run, slices=context.slices, progress=context.progress
        )
        message = f"{len(parts)} slices" if parts else "in one piece"
        return Outcome(message, slices=[part.name for part in parts], lines=[message])


class SliceStep(RunStep):
    """Stages one slice; other processes may stage other slices of the run at the same time."""

    name = StepName.SLICE
    recorded = False

    def __init__(self, part: Slice) -> None:
        self.part = part

    @property
    def entry(self) -> StepName:
        """A slice is a part of the replay."""
        return StepName.REPLAY

    def take(self, context: StepContext) -> Outcome:
        """Write the slice to the staging area."""
        run = context.run
        stage.stage_slice(context.spark, context.pipeline, context.lake, run, self.part, progress=context.progress)
        return Outcome(f"{self.part.name} of run {run.run_id} is staged")


class ReplayStep(RunStep):
    """Stages all that the run would publish, without the slices that were staged apart."""

    name = StepName.REPLAY

    def take(self, context: StepContext) -> Outcome:
        """Return the counts of rows, windows and panes."""
        counts = stage.stage(
            context.spark,
            context.pipeline,
            context.lake,
            context.run,
            slices=context.slices,
            progress=context.progress,
            tenure=context.tenure,
        )
        return Outcome(_staged(counts), counts=counts)


class AuditStep(RunStep):
    """Checks what is staged, before anyone can read it."""

    name = StepName.AUDIT
    needs = (StepName.REPLAY,)
    modules = ("spark_jobs.jobs.audit.audit", "expectations.declared", "expectations.validation")

    def take(self, context: StepContext) -> Outcome:
        """Return how many checks passed and failed. Raises BlockedError for a run that may not be published."""
        # Brings Great Expectations, which other steps do not need.
        from spark_jobs.jobs.audit import audit

        run, show = context.run, context.shows(self.name)
        show("checking what is staged")
        is_change = run.kind == CHANGED
        checks = audit.audit(
            context.spark, context.pipeline, context.lake, run.run_id, run.counts, run.interval, is_change=is_change
        )
        audit.record(context.spark, context.lake, run.run_id, checks)
        blocked = audit.blocks(checks, context.pipeline)
        openlineage.emit_audit(
            context.pipeline, context.lake, run, checks, blocked=blocked, began=context.began_at, problem=show
        )
        failed = len(audit.failed(checks))
        counts = {"checks_passed": len(checks) - failed, "checks_failed": failed}
        message = f"{len(checks) - failed} checks passed, {failed} failed"
        show(message)
        if blocked:
            needs_approval = context.pipeline.quality.on_failure is OnFailure.ASK
            reason = audit.failure_message(checks)
            raise BlockedError(reason, run_id=run.run_id, needs_approval=needs_approval, counts=counts)
        return Outcome(message, counts=counts, lines=[audit.failure_message(checks)] if failed else [])


class PublishStep(RunStep):
    """Makes what is staged readable, for a run that passed its audit or was accepted."""

    name = StepName.PUBLISH
    needs = (StepName.AUDIT,)

    def require(self, context: StepContext) -> None:
        """Raise InputError unless the run passed its audit, or a person has accepted it."""
        run = context.run
        if run.accepted is None and run.finished_step(StepName.AUDIT) is None:
            rule = "only a run that passed its audit, or was accepted, is published"
            raise InputError(f"{self.name}: run {run.run_id} is {run.state}; {rule}", code=ErrorCode.RUN_STATE_WRONG)

    def take(self, context: StepContext) -> Outcome:
        """Return the Delta version of each published table."""
        versions = publish(context.spark, context.lake, context.run, context.tenure, context.pipeline.results)
        message = f"published to {context.lake.home}"
        return Outcome(message, versions=versions, lines=[message])

    def complete(self, context: StepContext) -> list[str]:
        """Make missing names in the catalog of `publish_to`. Raises RegistrationError."""
        names = registration.register(context.spark, context.pipeline, context.lake, context.run)
        return [f"registered {name}" for name in names]


class ReportStep(RunStep):
    """Writes the page about a run, published or not. It writes nothing that readers of tables see."""

    name = StepName.REPORT
    needs = (StepName.REPLAY,)
    modules = ("spark_jobs.jobs.report.report",)
    repeatable = True
    recorded = False
    locked = False

    def require(self, context: StepContext) -> None:
        """Raise InputError unless the run is staged, or has a report already."""
        if not context.has_report:
            super().require(context)

    def take(self, context: StepContext) -> Outcome:
        """Return the file of the report; one whose data maintenance has removed stays as it was written."""
        # Brings the plotting library, which other steps do not need.
        from spark_jobs.jobs.report import report

        if context.has_report and not report.can_be_made(context.pipeline, context.lake, context.run):
            earlier = context.lake.report_path(context.run.run_id)
            message = f"report: {earlier}, written before maintenance removed its data"
            return Outcome(message, StepState.UNCHANGED, report=earlier)
        page = report.report(context.spark, context.pipeline, context.lake, context.run)
        context.progress(self.name, page)
        self._write_data_docs(context)
        return Outcome(f"report: {page}", report=page)

    def _write_data_docs(self, context: StepContext) -> None:
        if not context.pipeline.quality.data_docs:
            return
        from spark_jobs.jobs.report import data_docs

        if data_docs.can_be_made(context.run):
            docs = data_docs.data_docs(context.spark, context.pipeline, context.lake, context.run)
            context.progress(self.name, docs)


def _staged(counts: Mapping[str, int]) -> str:
    sizes = ", ".join(f"{counts[name]:,} {name}" for name in STAGED_SIZES if name in counts)
    message = f"{sizes}, {counts['too_late']:,} rows too late"
    if "missed_rows" in counts:
        message += f"; {counts['windows_missing_rows']:,} windows lack {counts['missed_rows']:,} rows"
    return message


#: The steps that are taken by name. A slice is a `SliceStep`, made with the name of the slice.
STEPS: Mapping[str, RunStep] = {
    step.name: step for step in (WatermarksStep(), ReplayStep(), AuditStep(), PublishStep(), ReportStep())
}


def import_beside(steps: Iterable[str]) -> None:
    """Import the modules of these steps in a thread. They take seconds of Python, while the command waits for Spark."""
    modules = [module for name in steps for module in STEPS[name].modules]
    Thread(target=lambda: [*map(import_module, modules)], name="import of later steps", daemon=True).start()
