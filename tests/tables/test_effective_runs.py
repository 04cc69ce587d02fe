"""What stands after runs and rollbacks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_jobs.tables.effective_runs import EffectiveRuns, effective_runs
from spark_jobs.tables.ledger import ARRIVALS, BACKFILL, FULL, ROLLBACK, Run, Step

AT = datetime(2024, 3, 4, tzinfo=UTC)


def run(name: str, kind: str, version: int, back_to: Run | None = None) -> Run:
    step = Step("publish", "done", AT, AT, versions={"late_events": version})
    return Run(name, "p", "f", kind, 0, None, None, (step,), back_to.versions if back_to else {})


FIRST, PART, ANEW = run("first", FULL, 0), run("part", BACKFILL, 1), run("anew", ARRIVALS, 2)


def test_no_run_is_effective_before_the_first() -> None:
    assert effective_runs([]) == EffectiveRuns()


def test_partial_run_builds_on_the_last_whole_run() -> None:
    assert effective_runs([FIRST, PART]) == EffectiveRuns(PART, FIRST, (PART,))
    assert effective_runs([FIRST, PART, ANEW]) == EffectiveRuns(ANEW, ANEW)


def test_a_rollback_gives_back_what_stood() -> None:
    back = run("back", ROLLBACK, 3, PART)
    assert effective_runs([FIRST, PART, ANEW, back]) == EffectiveRuns(PART, FIRST, (PART,))
    more = run("more", BACKFILL, 4)
    assert effective_runs([FIRST, PART, ANEW, back, more]) == EffectiveRuns(more, FIRST, (PART, more))
    further = run("further", ROLLBACK, 5, back)
    assert effective_runs([FIRST, PART, ANEW, back, more, further]) == EffectiveRuns(PART, FIRST, (PART,))


HOUR = timedelta(hours=1)
MORNING = replace(PART, interval_start=AT, interval_end=AT + HOUR)
NOON = replace(run("noon", BACKFILL, 4), interval_start=AT + HOUR, interval_end=AT + 2 * HOUR)
OTHERS = [
    replace(NOON, interval_start=AT + HOUR / 2, fingerprint="g"),
    replace(NOON, interval_start=None, source_version=1),
    replace(run("all", FULL, 4), fingerprint="g"),
    replace(run("all", ARRIVALS, 4), arrived_to=AT),
]


def test_published_run_is_effective_until_others_replace_it() -> None:
    assert effective_runs([FIRST, MORNING]).contains(MORNING)
    assert effective_runs([FIRST, MORNING]).contains(FIRST), "the same rows by the same settings"
    assert effective_runs([FIRST, MORNING, replace(NOON, fingerprint="g")]).contains(MORNING), "other windows"
    assert effective_runs([MORNING, FIRST]).contains(MORNING)
    assert [effective_runs([FIRST, MORNING, other]).contains(MORNING) for other in OTHERS] == [False] * 4
    assert [effective_runs([FIRST, other]).contains(FIRST) for other in OTHERS] == [False] * 4
    back = run("back", ROLLBACK, 5, MORNING)
    assert effective_runs([FIRST, MORNING, OTHERS[0], back]).contains(MORNING)
    assert effective_runs([FIRST, replace(ANEW, fingerprint="g"), run("back", ROLLBACK, 3, FIRST)]).contains(FIRST)
    assert not effective_runs([FIRST, ANEW, run("back", ROLLBACK, 3, FIRST)]).contains(replace(ANEW, fingerprint="g"))
