"""The text of the command `tidemark` for people, in 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.figures import SECONDS, figures_table
from spark_jobs.job_protocol import StepName, StepResult, add_counts, in_reading_order
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.description import describe
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.pipeline.printable import printable
from spark_jobs.tables.interval import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from spark_jobs.tables.lake import Lake
    from spark_jobs.tables.leases import Lease
    from spark_jobs.tables.run import Run, Step


class SafeConsole(Console):
    """A console that shows text of others as it is: without markup, control characters and values of variables."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text; line ends stay."""
        return super().render_str(
            printable(hide_values(text)), **{**options, "markup": False, "emoji": False, "highlight": False}
        )


OUT, ERR = SafeConsole(), SafeConsole(stderr=True)

_SPANS: dict[str, str] = {"full": "all", "changed": "what changed", StepName.ROLLBACK: "rolled back"}


def print_line(text: object) -> None:
    """Print one line, which the terminal may wrap and rich leaves as it is."""
    OUT.print(str(text), soft_wrap=True)


def summary(results: list[StepResult]) -> dict[str, Any]:
    """Merge the results of several steps of a run; what a later step has wins."""
    last = results[-1]
    merged: dict[str, Any] = {"run_id": last.run_id, "pipeline": last.pipeline, "state": last.state}
    for part in ("counts", "checks", "versions"):
        merged[part] = {name: value for result in results for name, value in getattr(result, part).items()}
    merged["report"] = last.report
    merged["steps"] = [
        {"step": r.step, "state": r.state, "seconds": r.seconds, "figures": dict(r.figures)} for r in results
    ]
    merged["seconds"] = round(sum(result.seconds for result in results), 3)
    return merged


def print_steps(results: list[StepResult]) -> None:
    """Print how the steps of a run ended."""
    last, counts = results[-1], add_counts(results)
    OUT.print(f"{last.pipeline}  run {last.run_id}", soft_wrap=True)
    if counts:
        names = in_reading_order(counts)
        labels = [name.replace("_", " ") for name in names]
        columns = [Column("count", labels, right=False), Column("rows", [f"{counts[name]:,}" for name in names])]
        OUT.print(fitting(columns, OUT.width))
    OUT.print(f"took {sum(result.seconds for result in results):,.1f} s")
    OUT.print(f"report: {last.report}", soft_wrap=True)


def run_row(run: Run) -> dict[str, Any]:
    """Return a run as one object."""
    return {
        "run_id": run.run_id,
        "kind": run.kind,
        "state": run.state,
        "discarded": run.discarded,
        "source_version": run.source_version,
        "interval_start": run.interval_start,
        "interval_end": run.interval_end,
        "arrived_to": run.arrived_to,
        "counts": run.counts,
        "versions": run.versions,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "error": run.error,
        "accepted": run.accepted,
        "steps": [_step_row(step) for step in run.steps],
    }


def _step_row(step: Step) -> dict[str, Any]:
    return {
        "step": step.step,
        "state": step.state,
        "started_at": step.started_at,
        "finished_at": step.finished_at,
        "figures": dict(step.figures),
    }


def print_runs(
    pipeline: Pipeline,
    lake: Lake,
    runs: list[Run],
    published: Run | None,
    changed: Sequence[str] = (),
    *,
    at_work: Sequence[Lease] = (),
    figures: bool = False,
) -> None:
    """Print the runs of a pipeline, and its settings; `changed` are settings that the published run had not.

    `at_work` are the leases of processes. With `figures`, print Spark's figures of the steps too.
    """
    for line in (f"{pipeline.name} in {lake.home}", describe(pipeline)):
        OUT.print(line, soft_wrap=True)
    for lease in at_work:
        OUT.print(f"at work: {lease}, on the windows {in_words(lease.interval)}", soft_wrap=True)
    if not runs:
        OUT.print("no run yet")
        return
    OUT.print(fitting(_columns(runs, published.run_id if published else None), OUT.width))
    if published in runs:
        OUT.print("* published last")
    for run in runs if figures else ():
        _print_figures(run)
    if changed:
        OUT.print("the file has other settings than the published results:")
    for change in changed:
        OUT.print(f"  {change}", soft_wrap=True)


def _print_figures(run: Run) -> None:
    table = figures_table(run.steps)
    if table is None:
        OUT.print("Spark's figures: none. Its steps ran without Spark, or with a version before 0.2")
        return
    names = Column("Spark's figures", [line.label for line in table.lines], right=False)
    seconds = [step.figures.get(SECONDS.name, 0.0) for step in run.steps if step.figures]
    # A narrow terminal shows the longest steps.
    ranks = [sorted(seconds, reverse=True).index(took) for took in seconds]
    steps = zip(table.steps, ranks, zip(*(line.values for line in table.lines), strict=True), strict=True)
    columns = [Column(step, values, rank=rank) for step, rank, values in steps]
    OUT.print(fitting([names, *columns], OUT.width))


def _state(run: Run) -> str:
    """Return the state, with a mark for a run that a person has accepted."""
    state = "discarded" if run.discarded else run.state
    return state if run.accepted is None else f"{state}, accepted"


def _columns(runs: list[Run], published: str | None) -> list[Column]:
    """Return the table of runs; ids are copied from it, so each is whole."""

    def counts(name: str) -> list[str]:
        return [f"{run.counts[name]:,}" if name in run.counts else "" for run in runs]

    return [
        Column("run", [run.run_id + (" *" if run.run_id == published else "") for run in runs], right=False),
        Column("state", [_state(run) for run in runs], right=False),
        Column("windows (UTC)", [_span(run) for run in runs], right=False),
        Column("table\nversion", [str(run.source_version) for run in runs], rank=5),
        Column("rows", counts("rows_read"), rank=3),
        Column("late", counts("late"), rank=4),
        Column("too\nlate", counts("too_late"), rank=1),
        Column("finished (UTC)", [_minute(run.finished_at) for run in runs], rank=2, right=False),
    ]


def _span(run: Run) -> str:
    """Return the windows of a run in few words."""
    if run.kind in _SPANS:
        return _SPANS[run.kind]
    if run.kind == "arrivals":
        return f"arrived by {_minute(run.arrived_to)}"
    return f"{_minute(run.interval_start) or 'the first'} to {_minute(run.interval_end) or 'the last'}"


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
