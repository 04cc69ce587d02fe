"""The next step follows from the state of the run, and from the rows that came too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.report import ReportData, headlines
from spark_jobs.report.data import JoinFacts, LateMarks, Lateness
from spark_jobs.report.next_step import next_step, proposed_lateness
from tests.support.sample_report_runs import HOUR

NOTHING_LATE = {"rows_read": 20, "on_time": 20, "late": 0, "too_late": 0, "invalid": 0}


def in_state(run: ReportData, state: str, **more: Any) -> ReportData:
    return replace(run, run=replace(run.run, state=state), **more)


def test_nothing_is_to_do_for_a_good_run(run: ReportData) -> None:
    good = replace(run, counts=NOTHING_LATE, checks=run.checks[:1])
    assert next_step(good).words == "Nothing to do: the results are published."


def test_too_late_rows_have_the_allowed_lateness_that_would_take_them_in(run: ReportData) -> None:
    words = next_step(replace(run, checks=())).words
    assert "The results are published. 10% of the rows are invalid: invalid_events has them" in words
    assert words.endswith("10% of the rows came too late: an allowed lateness of 4 hours would take them all in.")


@pytest.mark.parametrize(
    ("lateness", "proposed"),
    [
        (Lateness((0, HOUR, 2 * HOUR, 3 * HOUR), (1, 0, 0), (0, 95, 5), 3 * HOUR - 1), (2 * HOUR, 95, 100)),
        (Lateness((0, HOUR, 2 * HOUR, 3 * HOUR), (1, 0, 0), (0, 50, 50), 3 * HOUR - 1), (3 * HOUR, 100, 100)),
        # The last bin has no end: the longest lateness in whole hours takes all of it.
        (Lateness((0, HOUR, 2 * HOUR), (1, 0), (0, 4), 5 * HOUR + 1, open_ended=True), (6 * HOUR, 4, 4)),
        (Lateness((0, HOUR), (1,), (0,), 5), None),
    ],
)
def test_the_shortest_lateness_that_takes_in_nine_of_ten_is_proposed(
    run: ReportData, lateness: Lateness, proposed: tuple[int, int, int] | None
) -> None:
    assert proposed_lateness(replace(run, lateness=lateness)) == proposed


@pytest.mark.parametrize(
    "changes",
    [
        {"merging": True},
        {"closes": False},
        {"join": JoinFacts(("a", "b"), "0s to 1 hour apart")},
        {"join": JoinFacts(("a", "b"), is_as_of=True)},
    ],
)
def test_nothing_is_proposed_where_lateness_also_changes_windows(run: ReportData, changes: dict[str, Any]) -> None:
    assert proposed_lateness(replace(run, **changes)) is None


def test_a_blocked_run_has_the_command_that_accepts_it(run: ReportData) -> None:
    step = next_step(in_state(run, "blocked"))
    assert step.words.startswith("Publishing is blocked: 1 of 2 checks failed. Look at the failed checks below.")
    accept = "tidemark accept 'dags/pipelines/departures by carrier.yaml' --run r0123456789abcde --because"
    assert step.command.startswith(accept)


def test_a_run_that_is_blocked_without_failed_checks_has_its_reason(run: ReportData) -> None:
    blocked = in_state(run, "blocked", checks=())
    step = next_step(replace(blocked, run=replace(blocked.run, error="all windows would be lost.\nmore")))
    assert step.words.startswith("Publishing is blocked: all windows would be lost. Look at the reason above.")


@pytest.mark.parametrize("state", ["planned", "staged", "audited", "accepted", "failed", "discarded"])
def test_a_run_that_is_not_published_is_not_called_published(run: ReportData, state: str) -> None:
    step = next_step(in_state(run, state))
    assert "results are published" not in step.words
    assert not step.command


def test_results_that_are_published_with_failed_checks_are_named_so(run: ReportData) -> None:
    assert "published although 1 check failed" in next_step(run).words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"rows_read": 10, "on_time": 10}, "Of 10 rows read, 10 (100%) came on time; no row came late."),
        (
            {"rows_read": 10, "on_time": 9, "invalid": 1},
            "Of 10 rows read, 9 (90%) came on time and 1 (10%) is invalid; no row came late.",
        ),
        ({"rows_read": 10, "on_time": 0, "invalid": 10}, "All 10 rows read are invalid (100%): none has a usable time"),
        (
            {"rows_read": 10, "on_time": 5, "late": 2, "too_late": 1, "invalid": 2},
            "5 (50%) came on time, 2 (20%) came late and were taken, 1 (10%) came too late and 2 (20%) are invalid.",
        ),
    ],
)
def test_invalid_rows_are_in_the_headline(run: ReportData, counts: dict[str, int], words: str) -> None:
    assert words in headlines.verdict(replace(run, counts=counts, checks=(), too_late=LateMarks()))
