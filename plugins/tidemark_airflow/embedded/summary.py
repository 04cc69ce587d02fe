"""The summary of a run on a terminal: what came in, what became of it, what was checked, how long it took.

Everything in it is what the tasks' jobs said of themselves; a count that no job gave is shown as a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_ROWS = (
    ("rows in", "rows_read"),
    ("on time", "on_time"),
    ("late", "late"),
    ("too late", "too_late"),
    ("invalid", "invalid"),
    ("filtered", "filtered"),
)
_OF_WINDOWS = (("windows", "windows"), ("panes", "panes"))
_OF_A_JOIN = (("pairs", "pairs"),)


@dataclass(frozen=True)
class Summary:
    """A run's tasks as `TaskEnd` writes them, in order, and the seconds from its first moment to its last."""

    tasks: Sequence[Mapping[str, Any]]
    seconds: float

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """The tasks that failed; those behind them never began."""
        return [task for task in self.tasks if task["state"] == "failed"]

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed, 2 wrong input, 3 blocked by quality."""
        if all(task["state"] in ("success", "skipped") for task in self.tasks):
            return 0
        codes = [(task["failure"] or {}).get("exit_code", 1) for task in self.failed]
        return codes[0] if codes and codes[0] in (1, 2, 3) else 1

    @property
    def counts(self) -> dict[str, int]:
        """All counts of the run itself; landing its source is not part of it."""
        return {
            name: n for said in self._said() if said.get("run_id") for name, n in (said.get("counts") or {}).items()
        }

    @property
    def report(self) -> str | None:
        """Where the report is."""
        return next((said["report"] for said in reversed(self._said()) if said.get("report")), None)

    def render(self) -> RenderableType:
        """The summary for a rich console."""
        parts: list[RenderableType] = [self._run(), Text(), self._steps()]
        for said in self._said():
            if said.get("choices"):
                parts += [Text(), _choices(said["choices"])]
        return Group(*parts)

    def _said(self) -> list[Mapping[str, Any]]:
        return [task["said"] for task in self.tasks if task["said"]]

    def _run(self) -> Table:
        table = Table(title="The run", title_justify="left", show_header=False)
        table.add_column()
        table.add_column(justify="right")
        counts = self.counts
        for label, name in (*_ROWS, *(_OF_A_JOIN if "pairs" in counts else _OF_WINDOWS)):
            if name != "filtered" or counts.get(name):
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
        checks: Mapping[str, Any] = next((s["checks"] for s in reversed(self._said()) if s.get("checks")), {})
        counts = self.counts
        return checks.get("passed", counts.get("checks_passed")), checks.get("failed", counts.get("checks_failed"))

    def _steps(self) -> Table:
        table = Table(title="Its steps", title_justify="left")
        for name, options in (("step", {}), ("", {}), ("seconds", {"justify": "right"}), ("what it says", {})):
            table.add_column(name, **options)  # type: ignore[arg-type]
        for task in self.tasks:
            if task["state"] == "skipped":
                continue
            said = task["said"] or {}
            state = said.get("state") or (task["state"] or "not begun").replace("upstream_failed", "not begun")
            seconds = "" if task["seconds"] is None else f"{task['seconds']:.1f}"
            reason = (task["failure"] or {}).get("reason", "").splitlines()
            message = said.get("message") or (reason[0] if reason else "")
            table.add_row(task["task"], Text(state), seconds, Text(message))
        return table


def _choices(choices: Sequence[Mapping[str, Any]]) -> Table:
    """What other settings would have given; a choice is a row, its keys are the columns."""
    table = Table(title="Other choices", title_justify="left")
    names = list(dict.fromkeys(name for choice in choices for name in choice))
    for name in names:
        number = any(isinstance(choice.get(name), int | float) for choice in choices)
        table.add_column(name.replace("_", " "), justify="right" if number else "left")
    for choice in choices:
        table.add_row(*(_number(choice.get(name)) for name in names))
    return table


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def location(report: str) -> str:
    """A report's path as one that can be opened from anywhere."""
    return report if "://" in report else str(Path(report).resolve())
