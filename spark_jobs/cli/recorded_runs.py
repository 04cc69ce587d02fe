"""The runs in the ledger, read without Spark, so that a command answers or refuses at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.outcome import Clock, Outcome
from spark_jobs.pipeline import settings
from spark_jobs.tables.lake import report_name
from spark_jobs.tables.run import ROLLBACK

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Pipeline
    from spark_jobs.tables.lake import Lake
    from spark_jobs.tables.run import Run

_MOST = 10


def of(lake: Lake) -> list[Run]:
    """Return the runs, ordered by when they were published or else last worked on. Raises LakeError."""
    from spark_jobs.tables import run_history

    return run_history.every(lake) if run_history.has_begun(lake) else []


def settings_changes(published: Run | None, pipeline: Pipeline) -> list[str]:
    """Return the settings of results that differ from those of the run published last, as `name: old -> new`."""
    if published is None or published.fingerprint in pipeline.same_results:
        return []
    return settings.changes(published.settings, settings.of_results(pipeline)) if published.settings else []


def written_report(lake: Lake, run_id: str) -> StepResult | None:
    """Return the step report of a published run, by default the run published last, if its report exists.

    Returns None for a report from before the run was published.
    """
    published = [run for run in of(lake) if run.versions]
    if run_id:
        published = [run for run in published if run.run_id == run_id]
    if not published or published[-1].kind == ROLLBACK:
        return None
    run = published[-1]
    publish, page = run.finished_step(StepName.PUBLISH), lake.objects.find(report_name(run.run_id))
    if publish is None or page is None or page.modified < publish.finished_at:
        return None
    path = lake.report_path(run.run_id)
    outcome = Outcome(f"report: {path}", StepState.UNCHANGED, report=path)
    return Clock().result(StepName.REPORT, run, outcome)


def require(lake: Lake, option: str, run_id: str) -> None:
    """Raise InputError for a run that the ledger does not have; no id is left to the command."""
    runs = of(lake) if run_id else []
    if not run_id or any(run.run_id == run_id for run in runs):
        return
    newest = [f"{run.run_id} ({run.state})" for run in reversed(runs[-_MOST:])]
    raise InputError(
        f"{option}: run {run_id} is not in {lake.home}/runs. Newest runs: {', '.join(newest) or 'none'}",
        code=ErrorCode.RUN_UNKNOWN,
    )
