"""The plugin: which outcome a case has, and when a case may start."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.proofs import plugin
from tests.proofs.content import Content
from tests.proofs.plugin import ERRORS_FILE, Recorder, Selection
from tests.proofs.record import Record
from tests.proofs.work import Case, Work

ROOT = Path(__file__).parents[2]
PATTERNS = ("pyproject.toml",)


class Report(NamedTuple):
    """The fields of a report that count."""

    when: str
    outcome: str
    nodeid: str = "case"
    duration: float = 0.5
    longreprtext: str = ""


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        (["passed", "passed", "passed"], "passed"),
        (["passed", "failed", "passed"], "failed"),
        (["passed", "passed", "failed"], "failed"),
        (["failed", "passed"], "failed"),
        (["skipped", "passed"], "skipped"),
        (["passed", "skipped", "failed"], "failed"),
    ],
)
def test_a_case_has_its_worst_outcome(tmp_path: Path, phases: list[str], outcome: str) -> None:
    (entry,) = recorded(tmp_path, [Report("call", phase) for phase in phases[:-1]] + [Report("teardown", phases[-1])])
    assert (entry.outcome, entry.seconds) == (outcome, 0.5 * len(phases))


def test_a_case_whose_worker_has_died_has_failed(tmp_path: Path) -> None:
    (entry,) = recorded(tmp_path, [Report("setup", "passed"), Report("???", "failed")])
    assert entry.outcome == "failed"


def test_each_error_is_written_before_the_case_ends(tmp_path: Path) -> None:
    for number in (1, 2):
        reports = [Report("setup", "passed"), Report("call", "failed", longreprtext=f"assert {number} == 0")]
        assert recorded(tmp_path, reports) == []
    errors = (tmp_path / ERRORS_FILE).read_text(encoding="utf-8")
    assert re.findall(r"call of case\nassert (\d) == 0\n", errors) == ["1", "2"]


def test_a_case_that_has_not_ended_is_not_recorded(tmp_path: Path) -> None:
    assert recorded(tmp_path, [Report("setup", "passed"), Report("call", "passed")]) == []


def recorded(tmp_path: Path, reports: list[Report]) -> list[Any]:
    file = tmp_path / "record.jsonl"
    case = Case("proof", 1.0, PATTERNS, Content(ROOT).digest(PATTERNS))
    recorder = Recorder(Work(str(file), {"case": case}), ROOT)
    for report in reports:
        hook: Any = recorder.pytest_runtest_logreport(report)  # type: ignore[arg-type]
        next(hook)
        with pytest.raises(StopIteration):
            hook.send(None)
    return Record(file).entries()


def test_the_first_case_may_be_longer_than_the_time_and_later_ones_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    seconds = {"long": 50.0, "short": 1.0}
    cases = {name: Case("proof", of, PATTERNS, "") for name, of in seconds.items()}
    selection = Selection(Work("", cases, until=110.0))
    assert starts(selection, "long")
    clock[0] = 105.0
    assert starts(selection, "short")
    assert not starts(selection, "long")
    # Once it is over no case starts: fixtures of files that were left stay as they are.
    assert not starts(selection, "short")


def test_no_case_starts_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection(Work("", {"case": Case("proof", 1.0, PATTERNS, "")}, until=time.time() - 1))
    assert not starts(selection, "case")


class Item(NamedTuple):
    """A collected test."""

    nodeid: str


def starts(selection: plugin.Selection, name: str) -> bool:
    return selection.pytest_runtest_protocol(Item(name)) is None  # type: ignore[arg-type]
