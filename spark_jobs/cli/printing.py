"""The text of the command `tidemark` for people, in 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from spark_jobs.job_protocol import StepName, StepResult, add_counts
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.description import describe
from spark_jobs.pipeline.environment import hide_values

if TYPE_CHECKING:
    from datetime import datetime

    from spark_jobs.jobs.operate.compare import Change, Comparison
    from spark_jobs.tables.lake import Lake
    from spark_jobs.tables.ledger import Run

OUT, ERR = Console(), Console(stderr=True)

_SPANS: dict[str, str] = {"full": "all", StepName.ROLLBACK: "rolled back"}


def print_line(text: object) -> None:
    """Print one line, which the terminal may wrap and rich leaves as it is."""
    OUT.print(hide_values(text) if isinstance(text, str) else text, soft_wrap=True)


def summary(results: list[StepResult]) -> dict[str, Any]:
    """Merge the results of several steps of a run; what a later step has wins."""
    last = results[-1]
    merged: dict[str, Any] = {"run_id": last.run_id, "pipeline": last.pipeline, "state": last.state}
    for part in ("counts", "checks", "versions"):
        merged[part] = {name: value for result in results for name, value in getattr(result, part).items()}
    merged["report"] = last.report
    merged["steps"] = [{"step": r.step, "state": r.state, "seconds": r.seconds} for r in results]
    merged["seconds"] = round(sum(result.seconds for result in results), 3)
    return merged


def print_steps(results: list[StepResult]) -> None:
    """Print how the steps of a run ended."""
    last = results[-1]
    table = Table(title=f"{last.pipeline}  run {last.run_id}", title_justify="left")
    table.add_column("count")
    table.add_column("rows", justify="right")
    for name, count in add_counts(results).items():
        table.add_row(name.replace("_", " "), f"{count:,}")
    table.add_row("seconds", f"{sum(result.seconds for result in results):,.1f}")
    OUT.print(table)
    OUT.print(f"report: {last.report}", markup=False, highlight=False, soft_wrap=True)


def print_pairs(title: str, pairs: dict[str, Any]) -> None:
    """Print names and values."""
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in pairs.items():
        text = (
            f"{value:,}" if isinstance(value, int) and name != "source_version" else "" if value is None else str(value)
        )
        table.add_row(name.replace("_", " "), text)
    OUT.print(table)


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
    }


def print_runs(pipeline: Pipeline, lake: Lake, runs: list[Run], published: str | None) -> None:
    """Print the runs of a pipeline, and its settings."""
    for line in (f"{pipeline.name} in {lake.home}", describe(pipeline)):
        OUT.print(line, markup=False, highlight=False, soft_wrap=True)
    if not runs:
        OUT.print("no run yet")
        return
    # Ids are copied from here, so each is whole, and the table fits into 80 columns.
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("run", "state"):
        table.add_column(column, no_wrap=True)
    table.add_column("windows (UTC)", min_width=10)
    for column in ("table\nversion", "rows", "late", "too\nlate"):
        table.add_column(column, no_wrap=True, justify="right")
    table.add_column("finished (UTC)", min_width=10)
    for run in runs:
        span = _SPANS.get(run.kind) or f"{_minute(run.interval_start)} to {_minute(run.interval_end)}"
        if run.kind == "arrivals":
            span = f"arrived by {_minute(run.arrived_to)}"
        counts = [f"{run.counts[n]:,}" if n in run.counts else "" for n in ("rows_read", "late", "too_late")]
        mark = " *" if run.run_id == published else ""
        state = "discarded" if run.discarded else run.state
        table.add_row(run.run_id + mark, state, span, str(run.source_version), *counts, _minute(run.finished_at))
    OUT.print(table)
    if published:
        OUT.print("* published last")


def print_comparison(comparison: Comparison) -> None:
    """Print how the results of two runs differ."""
    OUT.print(f"results of run {comparison.before} and, after it, of run {comparison.after}", highlight=False)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("same", "changed", "added", "gone"):
        table.add_column(column, justify="right")
    table.add_row(*(f"{n:,}" for n in (comparison.same, comparison.changed, comparison.added, comparison.gone)))
    OUT.print(table)
    for name, n in comparison.values.items():
        if n:
            OUT.print(f"{name}: differs in {n:,}", markup=False, highlight=False)
    for label, names in (("only before", comparison.dropped), ("only after", comparison.new)):
        if names:
            OUT.print(f"{label}: {', '.join(names)}", markup=False, highlight=False)
    if comparison.first_window:
        span = f"{_minute(comparison.first_window)} to {_minute(comparison.last_window)} UTC"
        OUT.print(f"in windows that begin {span}; the largest changes:", highlight=False)
    for change in comparison.largest:
        OUT.print(f"  {_minute(change.window_start)} {_change(change)}", markup=False, highlight=False, soft_wrap=True)


def _change(change: Change) -> str:
    key = ", ".join(f"{name} {value}" for name, value in change.key.items())
    return f"{key}: {_difference(change.before, change.after)}"


def _difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        values = before or after or {}
        return f"{'gone' if after is None else 'added'}, {', '.join(f'{n} {v}' for n, v in values.items())}"
    return ", ".join(f"{name} {value} -> {after[name]}" for name, value in before.items() if value != after[name])


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
