"""Steps of a run: what each needs, and which are taken again. Nothing is computed here."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.job_protocol import AFTER_PLAN, StepName, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.progress import silent
from spark_jobs.jobs.runs.steps import STEPS, StepContext
from spark_jobs.jobs.stage import stage
from spark_jobs.tables.lake import Lake, report_name
from spark_jobs.tables.ledger import ACCEPT, Run, Step

AT = datetime(2026, 1, 5, tzinfo=UTC)


def run_of(*steps: tuple[str, StepState]) -> Run:
    """Return a run whose ledger has these steps."""
    entries = tuple(Step(name, state, AT, AT) for name, state in steps)
    return Run("r0123456789abcde", "sales", "f", "full", 3, None, None, entries)


def context(tmp_path: Path, run: Run) -> StepContext:
    nothing: Any = None
    return StepContext(nothing, nothing, Lake(str(tmp_path), "sales"), run, silent, AT)


PLANNED = (StepName.PLAN, StepState.DONE)
STAGED = (PLANNED, (StepName.REPLAY, StepState.DONE))
AUDITED = (*STAGED, (StepName.AUDIT, StepState.DONE))
BLOCKED = (*STAGED, (StepName.AUDIT, StepState.BLOCKED))
ACCEPTED = (*BLOCKED, (ACCEPT, StepState.DONE))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"panes": 4321, "windows": 3000, "too_late": 1}, "3,000 windows, 4,321 panes, 1 rows too late"),
        ({"panes": 2, "windows": 1, "pairs": 5, "too_late": 0}, "5 pairs, 1 windows, 2 panes, 0 rows too late"),
        (
            {"windows": 2, "panes": 2, "too_late": 3, "missed_rows": 3, "windows_missing_rows": 1},
            "2 windows, 2 panes, 3 rows too late; 1 windows lack 3 rows",
        ),
    ],
)
def test_a_replay_reports_the_sizes_that_it_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: dict[str, int], message: str
) -> None:
    monkeypatch.setattr(stage, "stage", lambda *_, **__: counts)
    assert STEPS[StepName.REPLAY].take(context(tmp_path, run_of(PLANNED))).message == message


@pytest.mark.parametrize(
    ("step", "steps"),
    [
        (StepName.WATERMARKS, [PLANNED]),
        (StepName.REPLAY, [PLANNED]),
        (StepName.AUDIT, STAGED),
        (StepName.REPORT, STAGED),
        (StepName.REPORT, BLOCKED),
        (StepName.PUBLISH, AUDITED),
        (StepName.PUBLISH, ACCEPTED),
    ],
)
def test_a_step_may_be_taken_once_what_it_needs_is_done(
    tmp_path: Path, step: StepName, steps: list[tuple[str, StepState]]
) -> None:
    STEPS[step].require(context(tmp_path, run_of(*steps)))


@pytest.mark.parametrize(
    ("step", "steps", "message"),
    [
        (StepName.AUDIT, [PLANNED], "audit: run r0123456789abcde is planned; take its step replay before its audit"),
        (StepName.REPORT, [PLANNED], "is planned; take its step replay before its report"),
        (StepName.PUBLISH, STAGED, "is staged; only a run that passed its audit, or was accepted, is published"),
        (StepName.PUBLISH, BLOCKED, "is blocked; only a run that passed its audit, or was accepted, is published"),
    ],
)
def test_a_step_is_refused_before_what_it_needs(
    tmp_path: Path, step: StepName, steps: list[tuple[str, StepState]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        STEPS[step].require(context(tmp_path, run_of(*steps)))


def test_a_report_that_was_written_needs_no_staged_tables(tmp_path: Path) -> None:
    discarded = context(tmp_path, run_of(PLANNED))
    discarded.lake.objects.write(report_name(discarded.run.run_id), b"")
    STEPS[StepName.REPORT].require(discarded)


def test_a_whole_run_takes_the_steps_behind_its_plan_in_the_order_of_their_needs() -> None:
    earlier = {StepName.PLAN}
    for name in AFTER_PLAN:
        assert set(STEPS[name].needs) <= earlier
        earlier.add(name)


def test_what_an_audit_needs_is_imported_beside() -> None:
    program = """
import sys, threading
from spark_jobs.jobs.runs.steps import import_beside
import_beside(["audit"])
for thread in threading.enumerate():
    if thread.daemon:
        thread.join()
print(sorted({"great_expectations", "expectations.declared", "expectations.validation"} & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "['expectations.declared', 'expectations.validation', 'great_expectations']\n"


def test_steps_that_write_tables_are_recorded_and_hold_the_windows() -> None:
    def names(attribute: str) -> set[str]:
        return {name for name, step in STEPS.items() if getattr(step, attribute)}

    assert names("recorded") == {StepName.REPLAY, StepName.AUDIT, StepName.PUBLISH}
    assert names("repeatable") == {StepName.WATERMARKS, StepName.REPORT}
    assert names("locked") == set(STEPS) - {StepName.REPORT}
    assert all(step.name == name == step.entry for name, step in STEPS.items())
