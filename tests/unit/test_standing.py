"""What stands after runs and rollbacks."""

from __future__ import annotations

from datetime import UTC, datetime

from spark_jobs.tables.ledger import ARRIVALS, BACKFILL, FULL, ROLLBACK, Run, Step
from spark_jobs.tables.standing import Standing, standing_of

AT = datetime(2024, 3, 4, tzinfo=UTC)


def run(name: str, kind: str, version: int, back_to: Run | None = None) -> Run:
    step = Step("publish", "done", AT, AT, versions={"late_events": version})
    return Run(name, "p", "f", kind, 0, None, None, (step,), back_to.versions if back_to else {})


FIRST, PART, ANEW = run("first", FULL, 0), run("part", BACKFILL, 1), run("anew", ARRIVALS, 2)


def test_nothing_stands_before_the_first() -> None:
    assert standing_of([]) == Standing()


def test_a_part_of_time_stands_on_the_last_that_was_whole() -> None:
    assert standing_of([FIRST, PART]) == Standing(PART, FIRST)
    assert standing_of([FIRST, PART, ANEW]) == Standing(ANEW, ANEW)


def test_a_rollback_gives_back_what_stood() -> None:
    back = run("back", ROLLBACK, 3, PART)
    assert standing_of([FIRST, PART, ANEW, back]) == Standing(PART, FIRST)
    more = run("more", BACKFILL, 4)
    assert standing_of([FIRST, PART, ANEW, back, more]) == Standing(more, FIRST)
    further = run("further", ROLLBACK, 5, back)
    assert standing_of([FIRST, PART, ANEW, back, more, further]) == Standing(PART, FIRST)
