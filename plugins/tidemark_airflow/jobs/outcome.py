"""How a job ended: its exit code, its answer, the end of its output, and these as text for people.

A job that left no result was killed or never began; then the end of its output is all there is to show.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.job_protocol import ExitCode, StepResult, StepState, in_reading_order

TAIL_LINES = 20
#: Columns of a line that Airflow's page of a log shows as a whole, on a screen of 1280 points.
WIDE = 84
MOST_FAILURES = 10


@dataclass(frozen=True)
class Outcome:
    """How a job ended; `result` is None if it left no result that can be read."""

    job: str
    exit_code: int
    result: StepResult | None = None
    tail: tuple[str, ...] = ()

    @classmethod
    def of(cls, job: str, exit_code: int, answer: StepResult | None, tail: Sequence[str]) -> Outcome:
        """Return the outcome of a job with this answer and output, of which the last lines are kept."""
        return cls(job, exit_code, answer, tuple(tail)[-TAIL_LINES:])

    @property
    def succeeded(self) -> bool:
        """True if the job ended with 0 and left a result."""
        return self.exit_code == ExitCode.DONE and self.result is not None

    @property
    def is_final(self) -> bool:
        """True if another attempt would end the same way."""
        return self.exit_code in list(ExitCode) and ExitCode(self.exit_code).is_final

    @property
    def is_stale(self) -> bool:
        """True if the run has to be planned again."""
        return self.result is not None and self.result.state is StepState.STALE

    @property
    def needs_spark(self) -> bool:
        """True if the job did without Spark, and only Spark can take its step."""
        return self.result is not None and self.result.state is StepState.NEEDS_SPARK

    @property
    def message(self) -> str:
        """The message of the result, empty without one."""
        return "" if self.result is None else self.result.message

    @property
    def needs_approval(self) -> bool:
        """True if checks failed and a person decides."""
        is_blocked = self.exit_code == ExitCode.BLOCKED
        return is_blocked and self.result is not None and self.result.state is StepState.NEEDS_APPROVAL

    def lines(self, report: str = "") -> list[str]:
        """Return the result as a block of aligned lines, empty without a result; `report` is the report's address."""
        if self.result is None:
            return []
        text = f"{self.job}: {self.result.state}. {self.result.message}"
        lines = textwrap.wrap(text, WIDE, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        facts = _facts(self.result)
        # The name of a count of one input of a join contains the input's name.
        width = max(14, *(len(name) + 1 for name, _ in facts))
        values = max(14, *(len(value) for _, value in facts))
        lines += [f"  {name:<{width}}{value:>{values}}" for name, value in facts]
        address = report or self.result.report
        return [*lines, *([f"  {'report':<{width}}{address}"] if address else [])]

    def failure(self) -> str:
        """Return why the job failed: the reason in the first line, the code of the error in the last one."""
        code = None if self.result is None else self.result.code
        return "\n".join([self._reason(), *([f"code {code}: tidemark explain {code}"] if code else [])])

    def _reason(self) -> str:
        result = self.result
        if result is None and self.exit_code != ExitCode.BLOCKED:
            ended = "ended" if self.exit_code == ExitCode.DONE else self._ended()
            return "\n".join([f"{self.job} {ended} without a result. The end of its output:", *self.tail])
        reason = "" if result is None else result.error or result.message
        if self.exit_code == ExitCode.BLOCKED:
            failures = [] if result is None else _failures(result)
            return "\n".join([f"{self.job} is blocked by quality: {reason or 'checks failed'}", *failures])
        if self.exit_code == ExitCode.WRONG_INPUT:
            return f"{self.job} failed on wrong input: {reason}"
        return f"{self.job} failed (exit code {self.exit_code}): {reason or self._ended()}"

    def _ended(self) -> str:
        if self.exit_code < 0 or self.exit_code > 128:
            number = -self.exit_code if self.exit_code < 0 else self.exit_code - 128
            return f"was killed by signal {number}"
        return f"ended with exit code {self.exit_code}"


def _facts(result: StepResult) -> list[tuple[str, str]]:
    counts = result.counts
    facts = [(name.replace("_", " "), f"{counts[name]:,}") for name in in_reading_order(counts)]
    if result.checks:
        checks = result.checks
        facts.append(("checks", f"{checks.get('passed', 0)} passed, {checks.get('failed', 0)} failed"))
    facts += [(table, f"version {version}") for table, version in result.versions.items()]
    return [*facts, ("seconds", f"{result.seconds:.1f}")]


def _failures(result: StepResult) -> list[str]:
    failures = result.checks.get("failures") or []
    lines = [_failure(check) for check in failures[:MOST_FAILURES]]
    more = len(failures) - MOST_FAILURES
    return lines + ([f"  and {more} more"] if more > 0 else [])


def _failure(check: Mapping[str, Any]) -> str:
    count = check.get("unexpected_count")
    rows = f", {count:,} unexpected" if isinstance(count, int) and count else ""
    return f"  {check.get('suite')}: {check.get('expectation')}: observed {check.get('observed')}{rows}"
