"""The runs in the ledger of a local lake, read without Spark, so that a command answers or refuses at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.outcome import Clock, Outcome
from spark_jobs.pipeline import settings
from spark_jobs.tables.run import ROLLBACK

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Pipeline
    from spark_jobs.tables.lake import Lake
    from spark_jobs.tables.run import Run

_MOST = 10


def of(lake: Lake) -> list[Run] | None:
    """Return the runs, ordered by when they were published or else last worked on.

    Returns None for a remote lake: only Spark has its credentials.
    """
    if lake.folder is None:
        return None
    if not lake.folder.is_dir():
        return []
    from spark_jobs.tables import run_history

    return run_history.every(lake)


def settings_changes(published: Run | None, pipeline: Pipeline) -> list[str]:
    """Return the settings of results that differ from those of the run published last, as `name: old -> new`."""
    if published is None or published.fingerprint in pipeline.same_results:
        return []
    return settings.changes(published.settings, settings.of_results(pipeline)) if published.settings else []


def written_report(lake: Lake, run_id: str) -> StepResult | None:
    """Return the step report of a published run, by default the run published last, if its report exists.

    Returns None for a report from before the run was published, and for a remote lake.
    """
    published = [run for run in of(lake) or () if run.versions]
    if run_id:
        published = [run for run in published if run.run_id == run_id]
    if not published or published[-1].kind == ROLLBACK:
        return None
    run = published[-1]
    publish, page = run.finished_step(StepName.PUBLISH), lake.report_file(run.run_id)
    if publish is None or not page.is_file() or page.stat().st_mtime < publish.finished_at.timestamp():
        return None
    outcome = Outcome(f"report: {page}", StepState.UNCHANGED, report=str(page))
    return Clock().result(StepName.REPORT, run, outcome)


def require(lake: Lake, option: str, run_id: str) -> None:
    """Raise InputError for a run that the ledger does not have; no id, and a remote lake, are left to the command."""
    runs = of(lake) if run_id else None
    if runs is None or any(run.run_id == run_id for run in runs):
        return
    newest = [f"{run.run_id} ({run.state})" for run in reversed(runs[-_MOST:])]
    raise InputError(
        f"{option}: run {run_id} is not in {lake.home}/runs. Newest runs: {', '.join(newest) or 'none'}",
        code=ErrorCode.RUN_UNKNOWN,
    )
