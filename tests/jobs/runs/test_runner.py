"""The Runner on steps that are played: what the ledger has of each, and when a step is taken."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.runs import run_ledger, runner
from spark_jobs.jobs.runs.outcome import Outcome
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.jobs.runs.steps import RunStep, StepContext
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step
from tests.support import history

AT = datetime(2026, 1, 5, tzinfo=UTC)
PIPELINE = history.pipeline("sales")
RUN = Run("r0123456789abcde", PIPELINE.name, PIPELINE.fingerprint, "full", 3, None, None)


class Played(RunStep):
    """A step that ends as the test wants."""

    name = StepName.REPLAY

    def __init__(self, end: Outcome | Exception, *, repeatable: bool = False, recorded: bool = True) -> None:
        self.end, self.times = end, 0
        self.repeatable, self.recorded = repeatable, recorded  # type: ignore[misc]  # a class of steps has them

    def take(self, context: StepContext) -> Outcome:
        self.times += 1
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


FIGURES = {"seconds": 2.0, "rows_read": 7.0}


class PlayedMeter:
    """Measures the same of every step."""

    def __init__(self, *_: object) -> None:
        self.times = 0

    def begin(self) -> None:
        self.times += 1

    def keep_up(self) -> None:
        pass

    def end(self) -> dict[str, float]:
        return FIGURES


@pytest.fixture(autouse=True)
def _meter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Meter", PlayedMeter)


@pytest.fixture(name="entered")
def _entered(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The entries of the ledger, which is a list."""
    entries: list[Step] = []
    monkeypatch.setattr(run_ledger, "interpreting", lambda spark: spark)
    monkeypatch.setattr(ledger, "record", lambda spark, lake, run, step: entries.append(step))
    return entries


def take(step: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run = RUN) -> Any:
    monkeypatch.setattr(runner, "STEPS", {step.name: step})
    session: Any = None
    lines: list[str] = []
    played = Runner(
        session, PIPELINE, Lake(str(tmp_path), PIPELINE.name), progress=lambda name, text: lines.append(text)
    )
    return played.step(step.name, run), lines


def test_a_step_that_is_done_is_entered_before_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step]
) -> None:
    step = Played(Outcome("3 windows", counts={"windows": 3}, lines=["published"]))
    result, lines = take(step, tmp_path, monkeypatch)
    assert (result.state, result.message, result.counts) == (StepState.DONE, "3 windows", {"windows": 3})
    assert [(entry.step, entry.state, entry.counts) for entry in entered] == [("replay", "done", {"windows": 3})]
    assert [entry.figures for entry in entered] == [result.figures] == [FIGURES]
    assert lines == ["published"]


def test_a_step_that_is_not_recorded_leaves_the_ledger_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step]
) -> None:
    result, _ = take(Played(Outcome("in one piece"), recorded=False), tmp_path, monkeypatch)
    assert (result.state, entered) == (StepState.DONE, [])


@pytest.mark.parametrize(("repeatable", "times"), [(False, 0), (True, 1)])
def test_a_step_that_was_done_is_taken_again_only_if_it_is_repeatable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step], repeatable: bool, times: int
) -> None:
    earlier = RUN.after(Step("replay", "done", AT, AT, {"windows": 3}))
    step = Played(Outcome("again"), repeatable=repeatable)
    result, _ = take(step, tmp_path, monkeypatch, earlier)
    assert (step.times, len(entered)) == (times, times)
    if not times:
        assert (result.state, result.counts, result.figures) == (StepState.UNCHANGED, {"windows": 3}, {})
        assert result.message == "replay was done before, at 2026-01-05 00:00:00 UTC"


def test_a_blocked_step_is_entered_with_its_counts_and_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step]
) -> None:
    with pytest.raises(BlockedError, match="1 of 3 checks failed") as blocked:
        take(
            Played(BlockedError("1 of 3 checks failed", run_id="r1", counts={"checks_failed": 1})),
            tmp_path,
            monkeypatch,
        )
    (entry,) = entered
    assert (entry.state, entry.counts, entry.error) == ("blocked", {"checks_failed": 1}, "1 of 3 checks failed")
    assert entry.figures == blocked.value.figures == blocked.value.with_report("/r.html").figures == FIGURES


@pytest.mark.parametrize(
    "problem", [InputError("--from: yesterday", code=ErrorCode.OPTION_WRONG), MemoryError("no memory")]
)
def test_a_step_that_fails_is_entered_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step], problem: Exception
) -> None:
    with pytest.raises(type(problem)):
        take(Played(problem), tmp_path, monkeypatch)
    assert [(entry.step, entry.state, entry.error) for entry in entered] == [("replay", "failed", str(problem))]


def test_a_failure_that_the_ledger_cannot_take_is_shown_and_the_step_fails_as_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entered: list[Step]
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(ledger, "record", full)
    with pytest.raises(MemoryError):
        take(Played(MemoryError("no memory")), tmp_path, monkeypatch)
    assert entered == []
