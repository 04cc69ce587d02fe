"""Which published states are kept, and which runs are dead, from the ledger alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.tables.ledger import ARRIVALS, BACKFILL, DISCARD, FULL, MAINTAIN, ROLLBACK, Run, Step
from spark_jobs.tables.retention import Retention, kept_states, lost_runs, reason_dead

NOW = datetime(2024, 5, 31, tzinfo=UTC)
DAY = timedelta(days=1)


def days_ago(days: float) -> datetime:
    return NOW - days * DAY


def step(name: str, ago: float, version: int | None = None, state: str = "done") -> Step:
    versions = {} if version is None else {"late_events": version, "panes": version}
    return Step(name, state, days_ago(ago), days_ago(ago), versions=versions)


def run(name: str, *steps: Step, kind: str = FULL, start: float | None = None, end: float | None = None) -> Run:
    interval_start, interval_end = (None if at is None else days_ago(at) for at in (start, end))
    return Run(name, "p", "f", kind, 0, interval_start, interval_end, steps)


def published(name: str, ago: float, version: int, *more: Step, kind: str = FULL) -> Run:
    return run(name, step("plan", ago), step("publish", ago, version), *more, kind=kind)


def retention(days: float, runs: int = 1) -> Retention:
    return Retention(NOW, days * DAY, runs)


RUNS = [
    published("r1", 90, 0),
    published("r2", 60, 1, step(MAINTAIN, 40, 2)),
    published("r3", 20, 3),
    published("r4", 5, 4),
]


@pytest.mark.parametrize(
    ("days", "runs", "versions", "lost"),
    [
        # r2 was what readers saw until r3 came; before it was compacted nobody has seen it for 40 days.
        (30, 1, [2, 3, 4], ["r1"]),
        (40, 1, [2, 3, 4], ["r1"]),
        (41, 1, [1, 2, 3, 4], ["r1"]),
        (60, 1, [1, 2, 3, 4], ["r1"]),
        (61, 1, [0, 1, 2, 3, 4], []),
        (0, 1, [4], ["r1", "r2", "r3"]),
        (0, 3, [2, 3, 4], ["r1"]),
        (0, 9, [0, 2, 3, 4], []),
    ],
)
def test_runs_that_readers_saw_within_the_retention_are_kept(
    days: float, runs: int, versions: list[int], lost: list[str]
) -> None:
    states = kept_states(RUNS, retention(days, runs))
    assert [state.versions["panes"] for state in states] == versions
    assert [run.run_id for run in lost_runs(RUNS, states)] == lost


def test_lost_run_is_neither_kept_nor_lost_again() -> None:
    first = published("r1", 90, 0, step(DISCARD, 1))
    states = kept_states([first, *RUNS[1:]], retention(100))
    assert [state.run.run_id for state in states] == ["r2", "r2", "r3", "r4"]
    assert lost_runs([first, *RUNS[1:]], states) == []


def test_a_run_has_the_newest_versions_that_name_it() -> None:
    assert RUNS[1].versions == {"late_events": 2, "panes": 2}
    # A slow process that has published the same run enters it again later.
    late = replace(RUNS[1], steps=(*RUNS[1].steps, step("publish", 1, 1)))
    assert late.versions == {"late_events": 2, "panes": 2}
    assert (late.state, late.discarded) == ("published", False)


def test_discarded_run_begins_again_unless_it_was_published() -> None:
    staged = run("r9", step("plan", 9), step("replay", 9), step(DISCARD, 8))
    assert (staged.state, staged.discarded, staged.finished_step("plan"), staged.finished_step("replay")) == (
        "discarded", True, None, None,
    )  # fmt: skip
    again = staged.after(step("replay", 7))
    assert (again.state, again.discarded) == ("staged", False)
    assert again.finished_step("replay") == step("replay", 7)
    entry = published("r1", 90, 0, step(DISCARD, 1))
    assert (entry.state, entry.discarded, entry.finished_step("plan")) == ("published", True, step("plan", 90))


STAGED = run("r9", step("plan", 12), step("replay", 12), kind=BACKFILL, start=50, end=40)
BLOCKED = run("r9", step("plan", 12), step("audit", 12, state="blocked"))


@pytest.mark.parametrize(
    ("staged", "worked_on", "later", "days", "why"),
    [
        (STAGED, 12, [], 30, None),
        (STAGED, 31, [], 30, "staged, and not worked on since"),
        (STAGED, 12, [published("r1", 13, 0)], 30, None),
        (STAGED, 12, [published("r1", 11, 0)], 30, "staged, and run r1 has published"),
        (STAGED, 12, [published("r1", 11, 0, kind=ARRIVALS)], 30, "staged, and run r1 has published"),
        (STAGED, 12, [published("r1", 11, 0, kind=ROLLBACK)], 30, None),
        (STAGED, 12, [replace(STAGED, run_id="r1", steps=published("r1", 11, 0).steps)], 30, "staged, and run r1"),
        (STAGED, 12, [replace(published("r1", 11, 0, kind=BACKFILL), interval_end=days_ago(41))], 30, None),
        (STAGED, 0.5, [published("r1", 0.1, 0)], 30, None),
        (STAGED, 0.5, [published("r1", 0.1, 0)], 0.2, "staged, and not worked on"),
        (BLOCKED, 12, [published("r1", 11, 0)], 30, None),
        (BLOCKED, 31, [], 30, "blocked, and not worked on"),
        (None, 12, [published("r1", 11, 0)], 30, None),
        (None, 31, [], 30, "not in the ledger, and not worked on"),
    ],
)
def test_a_run_that_was_not_published_dies_of_age_or_of_a_later_one(
    staged: Run | None, worked_on: float, later: list[Run], days: float, why: str | None
) -> None:
    reason = reason_dead(staged, days_ago(worked_on), later, retention(days))
    assert reason is None if why is None else reason is not None and reason.startswith(why)
