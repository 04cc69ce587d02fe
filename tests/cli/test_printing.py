"""What is printed for people: text of others as it is, counts in one order, and runs without wrapped cells."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from spark_jobs.cli import printing
from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.pipeline import from_mapping
from spark_jobs.tables import run_history
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import ACCEPT, Run
from tests.support.fake_lake import AT, add_rows, run_id, steps

PIPELINE = from_mapping(
    {
        "name": "sales",
        "source": {"table": "/events", "event_time": "at", "arrival_time": "stored_at"},
        "watermark": {"out_of_orderness": "10 seconds"},
        "windows": {"kind": "tumbling", "size": "10 minutes", "key": ["device"], "aggregates": {"n": "count(*)"}},
    }
)


@pytest.fixture(name="out")
def _out(monkeypatch: pytest.MonkeyPatch) -> printing.SafeConsole:
    out = printing.SafeConsole(file=io.StringIO(), width=80)
    monkeypatch.setattr(printing, "OUT", out)
    return out


def lines(out: printing.SafeConsole) -> list[str]:
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_text_of_others_has_no_markup_and_no_effect_on_the_terminal(out: printing.SafeConsole) -> None:
    printing.print_line("T[/nope] [red]x :smile: \x1b[2J")
    table = Table("[b]h", box=None)
    table.add_row("[x]\x1b[0m")
    out.print(table)
    assert [line.strip() for line in lines(out)] == ["T[/nope] [red]x :smile: \\x1b[2J", "[b]h", "[x]\\x1b[0m"]


def result(step: str, **counts: int) -> StepResult:
    return StepResult(step, "r1", "sales", StepState.DONE, "", counts=counts, report="/r.html", seconds=1.25)


def test_counts_have_one_order_whatever_the_order_of_the_steps(out: printing.SafeConsole) -> None:
    counts = {"late_panes": 4, "too_late": 3, "rows_read": 1000}
    printing.print_steps([result("replay", **counts), result("audit", checks_passed=45)])
    assert lines(out) == [
        "sales  run r1",
        "count          rows",
        "rows read     1,000",
        "too late          3",
        "late panes        4",
        "checks passed    45",
        "took 2.5 s",
        "report: /r.html",
    ]


def test_a_run_without_counts_has_no_table(out: printing.SafeConsole) -> None:
    printing.print_steps([result("publish")])
    assert lines(out) == ["sales  run r1", "took 1.2 s", "report: /r.html"]


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (80, ["run", "state", "windows (UTC)", "late"]),
        (160, ["run", "state", "windows (UTC)", "version", "rows", "late", "late", "finished (UTC)"]),
    ],
)
def test_runs_are_lines_without_wrapped_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, headings: list[str]
) -> None:
    part: dict[str, Any] = {"kind": "backfill", "interval_start": AT, "interval_end": AT}
    add_rows(tmp_path, "sales", [*steps(1), *steps(2, **part)])
    lake = Lake(str(tmp_path), "sales")
    runs: list[Run] = run_history.every(lake)
    out = printing.SafeConsole(file=io.StringIO(), width=width)
    monkeypatch.setattr(printing, "OUT", out)
    printing.print_runs(PIPELINE, lake, runs, runs[-1])
    printed = lines(out)
    heading = next(line for line in printed if line.startswith("run"))
    assert heading.split() == " ".join(headings).split()
    rows = [line for line in printed if line.startswith("r0")]
    assert len(rows) == 2
    assert f"{run_id(2)} * published 2026-01-05 07:00 to 2026-01-05 07:00" in rows[1]
    assert max(map(len, rows)) <= width


def test_a_run_that_a_person_has_accepted_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = steps(1)
    audited = next(row for row in rows if row["step"] == "audit")
    rows.insert(rows.index(audited) + 1, {**audited, "step": ACCEPT, "note": "Ana: a holiday"})
    add_rows(tmp_path, "sales", rows)
    lake = Lake(str(tmp_path), "sales")
    out = printing.SafeConsole(file=io.StringIO(), width=160)
    monkeypatch.setattr(printing, "OUT", out)
    runs: list[Run] = run_history.every(lake)
    printing.print_runs(PIPELINE, lake, runs, runs[-1])
    assert any("published, accepted" in line for line in lines(out))


def test_settings_that_differ_from_the_published_results_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rows(tmp_path, "sales", steps(1))
    lake = Lake(str(tmp_path), "sales")
    runs = run_history.every(lake)
    out = printing.SafeConsole(file=io.StringIO(), width=100)
    monkeypatch.setattr(printing, "OUT", out)
    printing.print_runs(PIPELINE, lake, runs, runs[-1], ["windows.size: 1 hour -> 1 day"])
    assert lines(out)[-2:] == [
        "the file has other settings than the published results:",
        "  windows.size: 1 hour -> 1 day",
    ]
