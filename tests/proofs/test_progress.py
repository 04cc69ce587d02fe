"""The progress of a proof: the last run at the present content decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.proofs.progress import progress, table
from tests.proofs.record import Entry


def entry(outcome: str, content: str, at: int, seconds: float = 2.0) -> Entry:
    return Entry("proof", "case", outcome, seconds, content, at=f"2026-01-01T00:00:{at:02d}")


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ([], "not run"),
        ([("passed", "now")], "proved"),
        ([("passed", "then")], "not run"),
        ([("passed", "")], "not run"),
        ([("failed", "now")], "failing"),
        ([("failed", "then")], "failing"),
        ([("failed", "now"), ("passed", "now")], "proved"),
        ([("passed", "now"), ("failed", "now")], "failing"),
        ([("passed", "now"), ("passed", "then")], "proved"),
        ([("passed", "now"), ("failed", "then")], "proved"),
        ([("failed", "then"), ("passed", "older")], "not run"),
        ([("skipped", "now")], "not run"),
        ([("passed", "now"), ("skipped", "now")], "proved"),
        ([("failed", "now"), ("skipped", "now")], "failing"),
    ],
)
def test_a_case_is_proved_failing_or_not_run(runs: list[tuple[str, str]], outcome: str) -> None:
    entries = [entry(*run, at) for at, run in enumerate(runs)]
    row = progress("proof", {"case": "now"}, entries, 9.0)
    cases = {"proved": row.proved_cases, "failing": row.failing_cases, "not run": row.open_cases}
    assert {name for name, named in cases.items() if named} == {outcome}
    assert row.cases == 1


def test_the_table_has_counts_durations_and_a_total() -> None:
    row = progress("proof", {"case": "now", "other": "now"}, [entry("passed", "now", 1, 1234)], 9.0)
    lines = table([row, row]).splitlines()
    assert lines[1].split() == ["proof", "2", "1", "0", "1", "1,234", "s", "1,234", "s"]
    assert lines[-1].split() == ["all", "4", "2", "0", "2", "2,468", "s", "2,468", "s"]


def test_a_case_that_never_ran_is_estimated_by_the_others_or_by_the_default() -> None:
    content = {"case": "now", "other": "now", "third": "now"}
    assert progress("proof", content, [], 9.0).left_s == 27
    runs = [entry("passed", "then", 1, 30), replace(entry("failed", "now", 2, 50), case="other")]
    assert progress("proof", content, runs, 9.0).left_s == 30 + 50 + 40


def test_a_case_that_no_longer_exists_does_not_count() -> None:
    assert progress("proof", {}, [entry("failed", "now", 1)], 9.0).cases == 0
