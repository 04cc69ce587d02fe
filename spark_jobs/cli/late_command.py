"""The command late: how many rows were late or invalid, which, and what would have saved them; without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cases.value_text import value_text
from spark_jobs.cli import printing, recorded_runs
from spark_jobs.cli.command import Answer, Request, pipeline_command
from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.inspection.run_settings import RunSettings
    from spark_jobs.jobs.late.missed_rows import MissedRows
    from spark_jobs.pipeline import Pipeline
    from spark_jobs.tables.run import Run


@pipeline_command
def late(
    request: Request,
    by: Annotated[
        list[str],
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Group by partition, key, window, lateness, hour, day, or a column; may be repeated.",
        ),
    ] = [],  # noqa: B006  typer reads the default
    invalid: Annotated[bool, typer.Option("--invalid", help="Show invalid rows in place of late rows.")] = False,
    condition: Annotated[
        str, typer.Option("--where", metavar="SQL", help="Only rows that this condition holds for.")
    ] = "",
    run: Annotated[str, typer.Option(metavar="RUN", help="A published run; by default the one published last.")] = "",
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many groups to show, the largest first.")] = 20,
) -> Answer:
    """Show how many rows were too late or invalid, and what would have saved them. Needs no Spark."""
    recorded_runs.require(request.lake, "--run", run)
    published = _published(request, run)
    from spark_jobs.inspection.run_settings import RunSettings
    from spark_jobs.jobs.late.missed_rows import missed_rows

    groups = by or (["reason"] if invalid else ["partition"] if _has_partitions(request.pipeline) else [])
    rows = missed_rows(
        request.pipeline, request.lake, published, groups, invalid=invalid, condition=condition, most=limit
    )
    settings, changed = RunSettings.of(published), recorded_runs.settings_changes(published, request.pipeline)
    content = {**rows.as_json(), "changed_settings": changed}
    return Answer(content, lambda: _show(settings, rows, changed))


def _has_partitions(pipeline: Pipeline) -> bool:
    return bool(pipeline.sources or pipeline.source.source_partition.columns)


def _published(request: Request, run_id: str) -> Run:
    """Return a published run. Raises InputError."""
    runs = [run for run in request.runs() if run.versions and run_id in ("", run.run_id)]
    if not runs:
        raise InputError(
            f"{request.lake.home}: {f'run {run_id} is not published' if run_id else 'nothing is published'}. "
            "Replay the pipeline first",
            code=ErrorCode.RUN_NOT_PUBLISHED,
        )
    return runs[-1]


def _show(settings: RunSettings, rows: MissedRows, changed: Sequence[str]) -> None:
    """Print the groups; `settings` are those of the run, and `changed` those that the file has changed since."""
    kind = "invalid" if rows.table == "invalid_events" else "too late"
    printing.print_line(
        f"{rows.pipeline}, run {rows.run_id}: {rows.rows:,} {'row' if rows.rows == 1 else 'rows'} {kind}"
    )
    if changed:
        printing.print_line("the file has other settings than the published results:")
        for change in changed:
            printing.print_line(f"  {change}")
    if not rows.groups:
        if kind == "too late" and settings.drops_late:
            printing.print_line("windows.late_data is drop: late rows are counted in status, and not kept")
        return
    printing.OUT.print(fitting(_columns(rows), printing.OUT.width))
    if rows.groups_in_all > len(rows.groups):
        printing.print_line(f"the {len(rows.groups):,} largest of {rows.groups_in_all:,} groups; --limit shows more")
    for line in _remedies(settings, rows):
        printing.print_line(line)


def _columns(rows: MissedRows) -> list[Column]:
    groups = rows.groups
    labels = list(groups[0].values)
    columns = [Column(label, [value_text(group.values[label]) for group in groups], right=False) for label in labels]
    columns.append(Column("rows", [f"{group.rows:,}" for group in groups]))
    columns.append(Column("share", [f"{group.rows / rows.rows:.1%}" for group in groups], rank=4))
    if groups[0].windows is not None:
        columns.append(Column("windows", [f"{group.windows:,}" for group in groups], rank=3))
    if groups[0].late_by_max_ms is not None:
        columns.append(Column("late by\n(median)", [_duration(group.late_by_median_ms) for group in groups], rank=2))
        columns.append(Column("late by\n(most)", [_duration(group.late_by_max_ms) for group in groups], rank=1))
    if groups[0].lateness_for_all_ms is not None:
        columns.append(Column("lateness\nfor half", [_duration(group.lateness_for_half_ms) for group in groups]))
        columns.append(Column("lateness\nfor all", [_duration(group.lateness_for_all_ms) for group in groups]))
    return columns


def _remedies(settings: RunSettings, rows: MissedRows) -> list[str]:
    """Return what would have saved all listed rows, with the settings of the run as far as they are known."""
    most = max((group.lateness_for_all_ms or 0 for group in rows.groups), default=0)
    if not most:
        return []
    at_most = " at most" if settings.is_session else ""
    lines = [f"all of these rows would have counted with windows.allowed_lateness{at_most} {format_duration(most)}"]
    bound, lateness_ms = settings.bound, settings.lateness_ms
    if bound is not None and lateness_ms is not None and most > lateness_ms:
        lines.append(f"or with {bound.setting}{at_most} {format_duration(bound.ms + most - lateness_ms)}")
    return lines


def _duration(ms: int | None) -> str:
    """Return a duration as a pipeline file may have it, in few characters: `4h 17m 1ms`."""
    if ms is None:
        return ""
    words = format_duration(max(ms, 0)).split(" ")
    parts = zip(words[::2], words[1::2], strict=False)
    return " ".join(f"{count}{unit if unit == 'ms' else unit[0]}" for count, unit in parts) or "0s"
