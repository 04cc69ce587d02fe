"""What a job says of itself when it ends: the content of its RESULT.json, and in words.

    exit code 0 done, 1 failed, 2 wrong input, 3 blocked by quality

A job that left no result was killed or never began; then the end of its output is all there is to show.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

#: In the order in which a reader follows the rows; a count that is not named here comes after these.
COUNTS = (
    "rows_read",
    "invalid",
    "filtered",
    "on_time",
    "late",
    "too_late",
    "pairs",
    "windows",
    "panes",
    "early_panes",
    "late_panes",
)

TAIL_LINES = 20
#: Columns of a line that Airflow's page of a log shows as a whole, on a screen of 1280 points.
WIDE = 84
MOST_FAILURES = 10


class ExitCode(IntEnum):
    """How a job's process ends."""

    DONE = 0
    FAILED = 1
    WRONG_INPUT = 2
    BLOCKED = 3

    @property
    def is_final(self) -> bool:
        """Whether another attempt would end the same way."""
        return self in (ExitCode.WRONG_INPUT, ExitCode.BLOCKED)


@dataclass(frozen=True)
class Outcome:
    """How a job ended. `said` is its result as written; empty if it wrote none."""

    job: str
    exit_code: int
    said: Mapping[str, Any] = field(default_factory=dict)
    tail: tuple[str, ...] = ()

    @classmethod
    def read(cls, job: str, exit_code: int, result: Path, tail: Sequence[str]) -> Outcome:
        """Read what a job of this name left in its result file, if anything."""
        try:
            said = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = {}
        return cls(job, exit_code, said if isinstance(said, dict) else {}, tuple(tail)[-TAIL_LINES:])

    @property
    def succeeded(self) -> bool:
        """Whether it did what was asked, and says so."""
        return self.exit_code == ExitCode.DONE and bool(self.said)

    @property
    def is_final(self) -> bool:
        """Whether another attempt would end the same way."""
        return self.exit_code in list(ExitCode) and ExitCode(self.exit_code).is_final

    @property
    def is_stale(self) -> bool:
        """Whether what was planned can be done only after it has been planned again."""
        return self.said.get("state") == "stale"

    def lines(self) -> list[str]:
        """The outcome as a block of lines for people."""
        said = self.said
        told = f"{self.job}: {said.get('state', 'no state')}. {said.get('message') or ''}"
        lines = textwrap.wrap(told, WIDE, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        facts = self._facts()
        # A count of one input of a join is called by both.
        wide = max((len(name) + 1 for name, _ in facts), default=0)
        lines += [f"  {name:<{max(wide, 14)}}{value:>14}" for name, value in facts]
        lines += [f"  report        {said['report']}"] if said.get("report") else []
        return lines

    def failure(self) -> str:
        """Why it failed: one message, the reason in its first line."""
        reason = self.said.get("error") or self.said.get("message")
        if self.exit_code == ExitCode.BLOCKED:
            return "\n".join([f"{self.job} is blocked by quality: {reason or 'checks failed'}", *self._failures()])
        if not self.said:
            missing = "ended without saying how" if self.exit_code == ExitCode.DONE else self._ended()
            return "\n".join([f"{self.job} {missing}; it left no result. The end of its output:", *self.tail])
        if self.exit_code == ExitCode.WRONG_INPUT:
            return f"{self.job} was given wrong input: {reason}"
        return f"{self.job} failed (exit code {self.exit_code}): {reason or self._ended()}"

    def _ended(self) -> str:
        if self.exit_code < 0 or self.exit_code > 128:
            number = -self.exit_code if self.exit_code < 0 else self.exit_code - 128
            return f"was killed by signal {number}"
        return f"ended with exit code {self.exit_code}"

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.said.get("counts") or {}
        known = [name for name in COUNTS if name in counts]
        facts = [(name, f"{counts[name]:,}") for name in (*known, *(n for n in counts if n not in COUNTS))]
        checks = self.said.get("checks") or {}
        if checks:
            facts.append(("checks", f"{checks.get('passed', 0)} passed, {checks.get('failed', 0)} failed"))
        facts += [(f"{table}", f"version {version}") for table, version in (self.said.get("versions") or {}).items()]
        if self.said.get("seconds") is not None:
            facts.append(("seconds", f"{self.said['seconds']:.1f}"))
        return facts

    def _failures(self) -> list[str]:
        failures = (self.said.get("checks") or {}).get("failures") or []
        lines = [_failed(check) for check in failures[:MOST_FAILURES]]
        more = len(failures) - MOST_FAILURES
        return lines + ([f"  and {more} more"] if more > 0 else [])


def _failed(check: Mapping[str, Any]) -> str:
    count = check.get("unexpected_count")
    rows = f", {count:,} unexpected" if isinstance(count, int) and count else ""
    return f"  {check.get('suite')}: {check.get('expectation')}: observed {check.get('observed')}{rows}"
