"""A pytest plugin that runs the cases of a work file, and records each case when it ends.

With pytest-xdist the workers choose the cases and keep the time limit; the controller alone writes the record.
It writes the error of a failed case beside the record at once. pytest prints errors at its end, which a kill prevents.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proofs.content import Content
from tests.proofs.record import FAILED, PASSED, SKIPPED, Entry, Record, now
from tests.proofs.work import Work

#: Outcomes from the best to the worst; a case has the worst outcome of its set-up, its call and its teardown.
_OUTCOMES = (PASSED, SKIPPED, FAILED)
#: The file of errors, in the folder of the record.
ERRORS_FILE = "errors.txt"
#: A report has this instead of a phase if the worker that ran the case has died.
_DEAD_WORKER = "???"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("proofs")
    group.addoption("--proof-work", metavar="FILE", help="run the cases of this file and record them")
    group.addoption("--proof-list", metavar="FILE", help="write the id of each collected test, and whether it is soak")


def pytest_configure(config: pytest.Config) -> None:
    """Choose cases in the process that runs them, and record them in the process that sees all reports."""
    if listing := config.getoption("--proof-list"):
        config.pluginmanager.register(Listing(Path(listing)))
    if file := config.getoption("--proof-work"):
        work = Work.read(Path(file))
        config.pluginmanager.register(Selection(work))
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder(work, config.rootpath))


class Listing:
    """Writes the tests that were collected."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write them."""
        tests = [(item.nodeid, item.get_closest_marker("soak") is not None) for item in session.items]
        self._path.write_text(json.dumps(tests), encoding="utf-8")


class Selection:
    """Runs the cases of the work and no others, as long as there is time."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._has_run, self._is_over = False, False

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect all tests that are no case of the work."""
        other_items = [item for item in items if item.nodeid not in self._work.cases]
        items[:] = [item for item in items if item.nodeid in self._work.cases]
        config.hook.pytest_deselected(items=other_items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Pass over a case, without a report, if it would end after the limit."""
        self._is_over = self._is_over or not self._fits(self._work.cases[item.nodeid].seconds)
        self._has_run = True
        return True if self._is_over else None

    def _fits(self, seconds: float) -> bool:
        """Return whether a case may start. The first one may even if it is long, or it would never run."""
        if self._work.until is None:
            return True
        now = time.time()
        return now < self._work.until and (not self._has_run or now + seconds <= self._work.until)


class Recorder:
    """Adds each case to the record as soon as it has ended."""

    def __init__(self, work: Work, root: Path) -> None:
        self._work, self._content = work, Content(root)
        self._record = Record(Path(work.record))
        self._running: dict[str, tuple[str, float]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Note a phase of a case; the teardown is the last one."""
        if report.outcome == FAILED:
            self._add_error(report)
        outcome, seconds = self._running.get(report.nodeid, (PASSED, 0.0))
        outcome = max(outcome, report.outcome, key=_OUTCOMES.index)
        self._running[report.nodeid] = outcome, seconds + report.duration
        if report.when in ("teardown", _DEAD_WORKER):
            self._add(report.nodeid)
        return (yield)

    def _add_error(self, report: pytest.TestReport) -> None:
        file = Path(self._work.record).with_name(ERRORS_FILE)
        with file.open("a", encoding="utf-8") as errors:
            errors.write(f"{now()} {report.when} of {report.nodeid}\n{report.longreprtext}\n\n")

    def _add(self, name: str) -> None:
        outcome, seconds = self._running.pop(name)
        if case := self._work.cases.get(name):
            is_same = self._content.digest(case.patterns) == case.content
            content = case.content if is_same else ""
            self._record.add(Entry(case.proof, name, outcome, round(seconds, 3), content))
