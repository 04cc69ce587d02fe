"""What stands after runs and rollbacks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_jobs.tables.effective_runs import Standing, standing_of
from spark_jobs.tables.ledger import ARRIVALS, BACKFILL, FULL, ROLLBACK, Run, Step

AT = datetime(2024, 3, 4, tzinfo=UTC)


def run(name: str, kind: str, version: int, back_to: Run | None = None) -> Run:
    step = Step("publish", "done", AT, AT, versions={"late_events": version})
    return Run(name, "p", "f", kind, 0, None, None, (step,), back_to.versions if back_to else {})


FIRST, PART, ANEW = run("first", FULL, 0), run("part", BACKFILL, 1), run("anew", ARRIVALS, 2)


def test_nothing_stands_before_the_first() -> None:
    assert standing_of([]) == Standing()


def test_a_part_of_time_stands_on_the_last_that_was_whole() -> None:
    assert standing_of([FIRST, PART]) == Standing(PART, FIRST, (PART,))
    assert standing_of([FIRST, PART, ANEW]) == Standing(ANEW, ANEW)


def test_a_rollback_gives_back_what_stood() -> None:
    back = run("back", ROLLBACK, 3, PART)
    assert standing_of([FIRST, PART, ANEW, back]) == Standing(PART, FIRST, (PART,))
    more = run("more", BACKFILL, 4)
    assert standing_of([FIRST, PART, ANEW, back, more]) == Standing(more, FIRST, (PART, more))
    further = run("further", ROLLBACK, 5, back)
    assert standing_of([FIRST, PART, ANEW, back, more, further]) == Standing(PART, FIRST, (PART,))


HOUR = timedelta(hours=1)
MORNING = replace(PART, interval_start=AT, interval_end=AT + HOUR)
NOON = replace(run("noon", BACKFILL, 4), interval_start=AT + HOUR, interval_end=AT + 2 * HOUR)
OTHERS = [
    replace(NOON, interval_start=AT + HOUR / 2, fingerprint="g"),
    replace(NOON, interval_start=None, source_version=1),
    replace(run("all", FULL, 4), fingerprint="g"),
    replace(run("all", ARRIVALS, 4), arrived_to=AT),
]


def test_what_was_published_is_held_until_others_take_its_place() -> None:
    assert standing_of([FIRST, MORNING]).holds(MORNING)
    assert standing_of([FIRST, MORNING]).holds(FIRST), "the same rows by the same settings"
    assert standing_of([FIRST, MORNING, replace(NOON, fingerprint="g")]).holds(MORNING), "other windows"
    assert standing_of([MORNING, FIRST]).holds(MORNING)
    assert [standing_of([FIRST, MORNING, other]).holds(MORNING) for other in OTHERS] == [False] * 4
    assert [standing_of([FIRST, other]).holds(FIRST) for other in OTHERS] == [False] * 4
    back = run("back", ROLLBACK, 5, MORNING)
    assert standing_of([FIRST, MORNING, OTHERS[0], back]).holds(MORNING)
    assert standing_of([FIRST, replace(ANEW, fingerprint="g"), run("back", ROLLBACK, 3, FIRST)]).holds(FIRST)
    assert not standing_of([FIRST, ANEW, run("back", ROLLBACK, 3, FIRST)]).holds(replace(ANEW, fingerprint="g"))
