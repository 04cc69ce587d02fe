"""The checks of a run as a page lists them: failed ones one by one, passed ones by suite.

A check counts rows of its suite. These are not always rows of one table: `NOTES` explains the suites that compare
tables with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from spark_jobs.report.text import counted

_COUNTED = re.compile(r"(?P<broken>[\d,]+) of (?P<all>[\d,]+) (?P<noun>rows|values)")

#: What the checks of a suite count as a row, where that is no row of the table of this name.
NOTES = {
    "window_results": "A row is a key and window of any table: with a result, with panes, or with rows that came too "
    "late for it. So there may be more rows than windows with a result.",
    "panes": "A row is a pane. every_window_has_one_pane_0 counts keys and windows, as the suite window_results.",
    "clock": "A row is the time between two emissions, if a window fired or a row came late in it.",
    "plausibility": "The run as a whole, beside its arrivals and the results that it replaces.",
    "run": "The counts of the run as a whole.",
    "pipeline": "The expectations of the pipeline file.",
}


class Checked(Protocol):
    """The part of a check that is listed."""

    @property
    def suite(self) -> str:
        """The name of the suite."""

    @property
    def success(self) -> bool:
        """True if the expectation holds."""


C = TypeVar("C", bound=Checked)


@dataclass(frozen=True)
class PassedSuite(Generic[C]):
    """The passed checks of one suite, and what a row of it is; empty for rows of the table of the suite's name."""

    name: str
    checks: tuple[C, ...]
    note: str = ""

    @property
    def title(self) -> str:
        """The name, and the number of checks."""
        return f"{self.name}: {counted(len(self.checks), 'check')}"


@dataclass(frozen=True)
class Listed(Generic[C]):
    """The checks of a run: failed ones, and passed ones by suite in the order of their names."""

    failed: tuple[C, ...]
    suites: tuple[PassedSuite[C], ...]
    passed: int

    @property
    def summary(self) -> str:
        """The number of passed checks: `49 checks passed`, or `All 49 checks passed`."""
        if not self.failed and self.passed > 1:
            return f"All {counted(self.passed, 'check')} passed"
        return f"{counted(self.passed, 'check')} passed"

    def cut(self, most: int) -> list[PassedSuite[C]]:
        """Return the suites with at most `most` checks in all."""
        left, suites = most, []
        for suite in self.suites:
            if left > 0:
                suites.append(replace(suite, checks=suite.checks[:left]))
                left -= len(suite.checks)
        return suites


def listed(checks: Iterable[C]) -> Listed[C]:
    """Return the checks in the order in which a page lists them."""
    by_suite: dict[str, list[C]] = {}
    failed: list[C] = []
    for check in checks:
        (by_suite.setdefault(check.suite, []) if check.success else failed).append(check)
    suites = tuple(PassedSuite(name, tuple(by_suite[name]), NOTES.get(name, "")) for name in sorted(by_suite))
    return Listed(tuple(failed), suites, sum(len(suite.checks) for suite in suites))


def observation(observed: str) -> str:
    """Return what a check has observed as a sentence: `0 of 16,891 rows` becomes `0 of 16,891 rows broke the rule`."""
    return f"{observed} broke the rule" if _COUNTED.fullmatch(observed) else observed
