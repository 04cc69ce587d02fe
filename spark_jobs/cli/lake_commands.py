"""Commands about what is published in the lake: compare, maintain, handover, status."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from spark_jobs.cli import printing, recorded_runs
from spark_jobs.cli.command import Answer, Request, pipeline_command
from spark_jobs.cli.run_commands import Wait
from spark_jobs.job_protocol import Option
from spark_jobs.tables.run import in_order

_OF_FILE = "By default `maintenance` of the file, without it"
_RETAIN = (
    f"Keep all that readers saw within this time, and what blocked and unfinished runs staged. {_OF_FILE} `30 days`."
)
_KEEP_RUNS = f"Keep at least so many of the last published runs. {_OF_FILE} 1."


@pipeline_command
def compare(
    request: Request,
    before: Annotated[
        str, typer.Option(metavar="RUN", help="A published run; by default the one before the other.")
    ] = "",
    after: Annotated[str, typer.Option(metavar="RUN", help="A published run; by default the one published last.")] = "",
    limit: Annotated[int, typer.Option(min=0, metavar="N", help="How many of the largest changes to show.")] = 20,
) -> Answer:
    """Show which windows have other results after a run than after an earlier one."""
    for option, run in (("--before", before), ("--after", after)):
        recorded_runs.require(request.lake, option, run)
    from spark_jobs.cli import print_comparison
    from spark_jobs.jobs.operate import compare

    comparison = compare.compare(request.open_session(), request.pipeline, request.lake, before, after, largest=limit)
    return Answer(asdict(comparison), lambda: print_comparison.show(comparison))


@pipeline_command
def maintain(
    request: Request,
    retain: Annotated[str, typer.Option(metavar="DURATION", help=_RETAIN)] = "",
    keep_runs: Annotated[int | None, typer.Option(min=1, metavar="N", help=_KEEP_RUNS)] = None,
    dry_run: Annotated[bool, typer.Option(Option.DRY_RUN, help="Show what would be done, and change nothing.")] = False,
    wait: Wait = "0s",
) -> Answer:
    """Compact small files of the published tables, and remove files that nothing needs any more."""
    from datetime import UTC, datetime, timedelta

    from spark_jobs.cli import print_maintenance
    from spark_jobs.jobs.operate import maintain
    from spark_jobs.jobs.options import parse_seconds
    from spark_jobs.pipeline import Upkeep
    from spark_jobs.tables.retention import Retention

    upkeep = request.pipeline.maintenance or Upkeep()
    retain_s = parse_seconds("--retain", retain) if retain else upkeep.retain_ms / 1000
    retention = Retention(datetime.now(UTC), timedelta(seconds=retain_s), keep_runs or upkeep.keep_runs)
    wait_s = parse_seconds(Option.WAIT, wait)
    maintenance = maintain.maintain(
        request.open_session(), request.lake, retention, dry_run=dry_run, wait_s=wait_s, progress=request.progress
    )
    return Answer(print_maintenance.as_json(maintenance), lambda: print_maintenance.show(printing.OUT, maintenance))


@pipeline_command
def handover(
    request: Request,
    again: Annotated[bool, typer.Option("--again", help="Compute a handover again that is in the lake.")] = False,
) -> Answer:
    """Show where a live job takes over from what is published, and write it to handover.json in the lake."""
    from spark_jobs.cli import print_handover
    from spark_jobs.jobs.operate import handover_file

    lake = request.lake
    start = None if again else handover_file.read(lake, request.pipeline, in_order(request.runs()))
    if start is None:
        from spark_jobs.jobs.operate.handover import handover

        start = handover(request.open_session(), request.pipeline, lake)
        handover_file.write(lake, start)
    file = lake.handover_path
    return Answer({**start.as_json(), "file": file}, lambda: print_handover.show(printing.OUT, start, file))


@pipeline_command
def status(
    request: Request,
    run: Annotated[
        str, typer.Option(metavar="RUN", help="Show this run alone, with Spark's figures of its steps.")
    ] = "",
) -> Answer:
    """Show the pipeline's runs, the newest last, what is published, and which processes work."""
    from spark_jobs.tables import leases

    recorded_runs.require(request.lake, "--run", run)
    pipeline, lake = request.pipeline, request.lake
    runs = request.runs()
    published = next((run for run in reversed(runs) if run.versions), None)
    changed = recorded_runs.settings_changes(published, pipeline)
    listed = [entry for entry in runs if run in ("", entry.run_id)]
    rows = [printing.run_row(entry) for entry in listed]
    of_lake = {"pipeline": pipeline.name, "lake": lake.home, "published_run": published and published.run_id}
    at_work = leases.current(lake)
    content = {**of_lake, "at_work": [lease.as_json() for lease in at_work], "changed_settings": changed, "runs": rows}

    def show() -> None:
        printing.print_runs(pipeline, lake, listed, published, changed, at_work=at_work, figures=bool(run))

    return Answer(content, show)
