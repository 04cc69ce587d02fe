"""Commands that plan runs or take their steps: plan, replay, report, rollback, repair, accept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spark_jobs.cli import downstream_command, printing, recorded_runs
from spark_jobs.cli.command import Answer, Request, pipeline_command
from spark_jobs.job_protocol import AFTER_PLAN, Option, StepName, StepResult
from spark_jobs.tables.run import in_order

if TYPE_CHECKING:
    from datetime import datetime

    from spark_jobs.tables.interval import Interval

From = Annotated[
    str,
    typer.Option(Option.FROM, metavar="TIME", help="Start of the first window, ISO 8601, UTC unless it has an offset."),
]
To = Annotated[
    str, typer.Option(Option.TO, metavar="TIME", help="End of the last window, ISO 8601, UTC unless it has an offset.")
]
ArrivedTo = Annotated[
    str,
    typer.Option(
        Option.ARRIVED_TO,
        metavar="TIME",
        help="Read what arrived before this time, ISO 8601; open windows then stay open.",
    ),
]
Restate = Annotated[
    bool,
    typer.Option(Option.RESTATE, help="Replace results of other settings, and leave those around them as is."),
]
Changed = Annotated[
    bool,
    typer.Option(Option.CHANGED, help="Compute only the windows that changes of the source affect."),
]
Downstream = Annotated[
    bool,
    typer.Option(Option.DOWNSTREAM, help="Also the pipelines of the same folder that read these results, in order."),
]
Slices = Annotated[
    int, typer.Option(min=1, metavar="N", help="How many stretches of windows to write one after the other.")
]
Wait = Annotated[
    str, typer.Option(metavar="DURATION", help="How long to wait for another process that works on these windows.")
]


@pipeline_command
def plan(
    request: Request,
    start: From = "",
    end: To = "",
    arrived_to: ArrivedTo = "",
    restate: Restate = False,
    changed: Changed = False,
    downstream: Downstream = False,
) -> Answer:
    """Show what a replay would read and replace; nothing is written."""
    interval, until = _windows(request, start, end), _moment(arrived_to)
    from spark_jobs.cli import print_downstream, print_plan

    graph = downstream_command.graph_of(request) if downstream else None
    planned = _foreseen(request, interval, until, restate=restate, changed=changed)
    published = next((run for run in reversed(request.runs()) if run.versions), None)
    has_windows = not request.pipeline.windows.are_missing
    settings = recorded_runs.settings_changes(published, request.pipeline)
    content = {**planned, "published_run": published and published.run_id, "changed_settings": settings}
    readers = None
    if graph is not None:
        readers = downstream_command.foreseen_readers(request.session(), request, graph, planned)
    if readers is not None:
        content["downstream"] = [reader.as_json() for reader in readers]

    def show() -> None:
        print_plan.show(planned, published, settings, has_windows=has_windows)
        print_downstream.show_foreseen(readers or ())

    return Answer(content, show)


def _foreseen(
    request: Request, interval: Interval, until: datetime | None, *, restate: bool, changed: bool
) -> dict[str, Any]:
    """Return the dry run, without Spark if it can be had so."""
    from spark_jobs.jobs.plan import dry_run
    from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError

    of_run = partial(dry_run.foreseen_without_spark, request.pipeline, request.lake, interval, until)
    try:
        return of_run(restate=restate, changed=changed)
    except NeedsSparkError as reason:
        request.progress(request.command, f"Spark plans: {reason}")
    of_run = partial(dry_run.foreseen, request.session(), request.pipeline, request.lake, interval, until)
    return of_run(restate=restate, changed=changed)


@pipeline_command
def replay(
    request: Request,
    start: From = "",
    end: To = "",
    arrived_to: ArrivedTo = "",
    restate: Restate = False,
    changed: Changed = False,
    downstream: Downstream = False,
    slices: Slices = 1,
    wait: Wait = "0s",
) -> Answer:
    """Replay, check, publish and report."""
    interval, until = _windows(request, start, end), _moment(arrived_to)
    graph = downstream_command.graph_of(request) if downstream else None
    request.name_new_lake()
    runner = request.open_runner(slices, _wait_s(wait), then=AFTER_PLAN)
    results = runner.run(interval, until, restate=restate, changed=changed)
    if graph is None:
        return _steps(results)
    return downstream_command.take(request, runner.spark, graph, results, _wait_s(wait))


@pipeline_command
def report(
    request: Request,
    run: Annotated[str, typer.Option(metavar="RUN", help="The run; by default the one published last.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Write a report again that exists.")] = False,
) -> Answer:
    """Write the HTML report of a run, unless it exists."""
    recorded_runs.require(request.lake, "--run", run)
    if not again and (earlier := recorded_runs.written_report(request.lake, run)) is not None:
        return Answer.line(printing.summary([earlier]), earlier.report)
    runner = request.open_runner()
    result = runner.step(StepName.REPORT, runner.find(run) if run else runner.latest())
    return Answer.line(printing.summary([result]), result.report)


@pipeline_command
def rollback(
    request: Request,
    run: Annotated[str, typer.Option(metavar="RUN", help="The run to go back to, as `status` names it.")],
    dry_run: Annotated[
        bool, typer.Option(Option.DRY_RUN, help="Show what would be restored, and change nothing.")
    ] = False,
    wait: Wait = "0s",
) -> Answer:
    """Restore the published tables to the state after an earlier run."""
    recorded_runs.require(request.lake, "--run", run)
    if dry_run:
        from spark_jobs.jobs.publish.rollback import preview

        foreseen = preview(request.lake, in_order(request.runs()), run)
        return Answer.line(foreseen.as_json(), foreseen.message)
    result = request.open_runner(wait_s=_wait_s(wait)).rollback(run)
    return Answer.line(printing.summary([result]), result.message)


@pipeline_command
def repair(
    request: Request,
    dry_run: Annotated[
        bool, typer.Option(Option.DRY_RUN, help="Show which windows are due, and change nothing.")
    ] = False,
    wait: Wait = "0s",
) -> Answer:
    """Recompute closed windows that missed more rows than the pipeline allows, with these rows."""
    from spark_jobs.jobs.operate import repair

    runner = request.open_runner(wait_s=_wait_s(wait))
    due = repair.find(runner.spark, request.pipeline, request.lake)
    result = repair.preview(due, request.pipeline) if dry_run else repair.repair(runner, due, request.pipeline)
    return Answer.line({**printing.summary([result]), "due": due.as_json()}, result.message)


@pipeline_command
def accept(
    request: Request,
    run: Annotated[str, typer.Option(metavar="RUN", help="The blocked run, as `status` names it.")],
    because: Annotated[
        str, typer.Option(metavar="REASON", help="Who accepts the failed checks, and why; the ledger keeps it.")
    ],
    wait: Wait = "0s",
) -> Answer:
    """Publish a run although its checks have blocked it, without computing it again."""
    recorded_runs.require(request.lake, "--run", run)
    request.progress.run_id = run
    runner = request.open_runner(wait_s=_wait_s(wait))
    accepted = runner.accept(runner.find(run), because)
    return _steps([runner.step(name, runner.find(accepted.run_id)) for name in (StepName.PUBLISH, StepName.REPORT)])


def _steps(results: list[StepResult]) -> Answer:
    return Answer(printing.summary(results), lambda: printing.print_steps(results))


def _windows(request: Request, start: str, end: str) -> Interval:
    """Read the requested windows; refuse those of no run, and a source that does not exist, before Spark is opened."""
    from spark_jobs.jobs.options import parse_interval
    from spark_jobs.jobs.plan.requested_windows import require_windows

    interval = parse_interval(start, end)
    require_windows(interval, request.pipeline)
    request.require_sources()
    return interval


def _moment(moment: str) -> datetime | None:
    from spark_jobs.jobs.options import optional_moment

    return optional_moment(moment)


def _wait_s(wait: str) -> float:
    from spark_jobs.jobs.options import parse_seconds

    return parse_seconds(Option.WAIT, wait)
