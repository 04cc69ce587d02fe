"""Commands that plan runs or take their steps: plan, replay, report, rollback, repair, accept."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs.cli import printing
from spark_jobs.cli.command import Answer, Request, pipeline_command
from spark_jobs.job_protocol import Option, StepName, StepResult

From = Annotated[
    str, typer.Option(Option.FROM, help="Start of the first window, ISO 8601, UTC unless it has an offset.")
]
To = Annotated[str, typer.Option(Option.TO, help="End of the last window, ISO 8601, UTC unless it has an offset.")]
ArrivedTo = Annotated[
    str,
    typer.Option(Option.ARRIVED_TO, help="Read what arrived before this; open windows then stay open. As --from."),
]
Restate = Annotated[
    bool, typer.Option(Option.RESTATE, help="Replace results of other settings, and leave those around them as is.")
]
Slices = Annotated[int, typer.Option(min=1, help="How many stretches of windows to write one after the other.")]
Wait = Annotated[str, typer.Option(help="How long to wait for another process that works on these windows.")]


@pipeline_command
def plan(
    request: Request, start: From = "", end: To = "", arrived_to: ArrivedTo = "", restate: Restate = False
) -> Answer:
    """Show what a replay would read and replace; nothing is written."""
    from spark_jobs.jobs.options import optional_moment, parse_interval
    from spark_jobs.jobs.plan.dry_run import foreseen

    interval, until = parse_interval(start, end), optional_moment(arrived_to)
    spark = request.open_session()
    planned = foreseen(spark, request.pipeline, request.lake, interval, until, restate=restate)
    return Answer(planned, lambda: printing.print_pairs(f"Plan for {request.pipeline.name}", planned))


@pipeline_command
def replay(
    request: Request,
    start: From = "",
    end: To = "",
    arrived_to: ArrivedTo = "",
    restate: Restate = False,
    slices: Slices = 1,
    wait: Wait = "0s",
) -> Answer:
    """Replay, check, publish and report."""
    from spark_jobs.jobs.options import optional_moment, parse_interval

    interval, until = parse_interval(start, end), optional_moment(arrived_to)
    return _steps(request.open_runner(slices, _wait_s(wait)).run(interval, until, restate=restate))


@pipeline_command
def report(
    request: Request,
    run: Annotated[str, typer.Option(help="The run; by default the one published last.")] = "",
) -> Answer:
    """Write the HTML report of a run."""
    runner = request.open_runner()
    result = runner.step(StepName.REPORT, runner.find(run) if run else runner.latest())
    return Answer.line(printing.summary([result]), result.report)


@pipeline_command
def rollback(
    request: Request,
    run: Annotated[str, typer.Option(help="The run to go back to, as `status` names it.")],
    wait: Wait = "0s",
) -> Answer:
    """Restore the published tables to the state after an earlier run."""
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
    run: Annotated[str, typer.Option(help="The blocked run, as `status` names it.")],
    because: Annotated[str, typer.Option(help="Who accepts the failed checks, and why; the ledger keeps it.")],
    wait: Wait = "0s",
) -> Answer:
    """Publish a run although its checks have blocked it, without computing it again."""
    runner = request.open_runner(wait_s=_wait_s(wait))
    accepted = runner.accept(runner.find(run), because)
    return _steps([runner.step(name, runner.find(accepted.run_id)) for name in (StepName.PUBLISH, StepName.REPORT)])


def _steps(results: list[StepResult]) -> Answer:
    return Answer(printing.summary(results), lambda: printing.print_steps(results))


def _wait_s(wait: str) -> float:
    from spark_jobs.jobs.options import parse_seconds

    return parse_seconds(Option.WAIT, wait)
