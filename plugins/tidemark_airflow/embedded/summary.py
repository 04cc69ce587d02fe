"""The summary of a DAG run on a terminal: rows that came in, what became of them, checks, seconds.

All of it is in the results of the tasks' jobs; a count that no job has is shown as a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spark_jobs.job_protocol import ExitCode, StepResult, add_counts
from tidemark_airflow.embedded.run_end import TaskEnd

_ROWS = (
    ("rows in", "rows_read"),
    ("on time", "on_time"),
    ("late", "late"),
    ("too late", "too_late"),
    ("invalid", "invalid"),
    ("filtered", "filtered"),
    ("quarantined", "quarantined"),
    ("duplicates", "duplicates"),
)
# Counts that a run may not have.
_SOMETIMES = frozenset(("filtered", "quarantined", "duplicates"))
_OF_WINDOWS = (("windows", "windows"), ("panes", "panes"))
_OF_A_JOIN = (("pairs", "pairs"),)
# Airflow's words for how a task ended.
_SUCCESS, _SKIPPED, _FAILED, _UPSTREAM_FAILED = "success", "skipped", "failed", "upstream_failed"
_NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class Summary:
    """A DAG run's tasks, in order, and the seconds from its start to its end."""

    tasks: Sequence[TaskEnd]
    seconds: float

    @property
    def failed(self) -> list[TaskEnd]:
        """The tasks that failed; the tasks behind them never began."""
        return [task for task in self.tasks if task.state == _FAILED]

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the first job that failed; `FAILED` for a job with any other code."""
        if all(task.state in (_SUCCESS, _SKIPPED) for task in self.tasks):
            return ExitCode.DONE
        codes = ((task.failure or {}).get("exit_code", ExitCode.FAILED) for task in self.failed)
        first = next(codes, ExitCode.FAILED)
        return ExitCode(first) if first in list(ExitCode) and first != ExitCode.DONE else ExitCode.FAILED

    @property
    def counts(self) -> dict[str, int]:
        """All counts of the run itself; landing its source is not part of it."""
        return add_counts([result for result in self._results if result.run_id])

    @property
    def report(self) -> str | None:
        """The path or URL of the report."""
        return next((result.report for result in reversed(self._results) if result.report), None)

    def render(self) -> RenderableType:
        """Return the summary for a rich console."""
        return Group(self._run(), Text(), self._steps())

    @property
    def _results(self) -> list[StepResult]:
        return [task.result for task in self.tasks if task.result is not None]

    def _run(self) -> Table:
        table = Table(title="The run", title_justify="left", show_header=False)
        table.add_column()
        table.add_column(justify="right")
        counts = self.counts
        for label, name in (*_ROWS, *(_OF_A_JOIN if "pairs" in counts else _OF_WINDOWS)):
            if name not in _SOMETIMES or counts.get(name):
                table.add_row(label, _number(counts.get(name)))
        if counts.get("early_panes"):
            table.add_row("early panes", _number(counts["early_panes"]))
        if counts.get("late_panes") is not None:
            table.add_row("late panes", _number(counts["late_panes"]))
        passed, failed = self._checks()
        table.add_row("checks passed", _number(passed))
        table.add_row("checks failed", _number(failed))
        table.add_row("seconds", f"{self.seconds:.0f}")
        return table

    def _checks(self) -> tuple[int | None, int | None]:
        checks: Mapping[str, Any] = next((result.checks for result in reversed(self._results) if result.checks), {})
        counts = self.counts
        return checks.get("passed", counts.get("checks_passed")), checks.get("failed", counts.get("checks_failed"))

    def _steps(self) -> Table:
        table = Table(title="Its steps", title_justify="left")
        for name in ("step", "state"):
            table.add_column(name)
        table.add_column("seconds", justify="right")
        table.add_column("message")
        for task in self.tasks:
            if task.state != _SKIPPED:
                table.add_row(task.task, Text(_state(task)), _seconds(task), Text(_message(task)))
        return table


def _state(task: TaskEnd) -> str:
    if task.result is not None:
        return str(task.result.state)
    return _NOT_BEGUN if task.state in (None, _UPSTREAM_FAILED) else str(task.state)


def _seconds(task: TaskEnd) -> str:
    """Return the seconds of the step, which the job of an earlier task may have taken; without a step, of the task."""
    seconds = task.seconds if task.result is None else task.result.seconds or task.seconds
    return "" if seconds is None else f"{seconds:.1f}"


def _message(task: TaskEnd) -> str:
    if task.result is not None and task.result.message:
        return task.result.message
    return next(iter((task.failure or {}).get("reason", "").splitlines()), "")


def _number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def location(report: str) -> str:
    """Return a report's path as an absolute one; a URL stays."""
    return report if "://" in report else str(Path(report).resolve())
