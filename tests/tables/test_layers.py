"""The runs whose results are in the tables, and which of them have written an interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.layers import layers, writers
from spark_jobs.tables.run import ARRIVALS, BACKFILL, FULL, ROLLBACK, Run, Step

AT, HOUR = datetime(2024, 3, 4, tzinfo=UTC), timedelta(hours=1)


def run(
    name: str, kind: str, version: int, *, hours: tuple[int | None, int | None] = (None, None), **more: object
) -> Run:
    """Return a published run over the windows between these hours."""
    step = Step("publish", "done", AT, AT, versions={"late_events": version})
    start, end = (None if hour is None else AT + hour * HOUR for hour in hours)
    return Run(name, "p", "f", kind, 0, start, end, (step,), **more)  # type: ignore[arg-type]


WHOLE = run("whole", FULL, 0)
MORNING, NOON = run("morning", BACKFILL, 1, hours=(0, 2)), run("noon", BACKFILL, 2, hours=(2, 4))
LATER = run("later", ARRIVALS, 3, hours=(3, None), arrived_from=AT, arrived_to=AT + HOUR)


def test_a_run_that_goes_on_keeps_the_results_before_it() -> None:
    assert layers([WHOLE, MORNING, NOON, LATER]) == (WHOLE, MORNING, NOON, LATER)
    assert layers([WHOLE, MORNING, run("anew", ARRIVALS, 4, arrived_to=AT)])[0].run_id == "anew"
    assert layers([]) == ()


def test_a_rollback_restores_the_layers_of_its_target() -> None:
    back = run("back", ROLLBACK, 5, source_versions=MORNING.versions)
    assert layers([WHOLE, MORNING, NOON, back]) == (WHOLE, MORNING)
    assert layers([WHOLE, MORNING, NOON, back, LATER]) == (WHOLE, MORNING, LATER)


def test_the_writers_of_an_interval_are_the_newest_of_each_window() -> None:
    standing = (WHOLE, MORNING, NOON, LATER)

    def of(first: int, last: int, runs: tuple[Run, ...] = standing) -> tuple[list[str], bool]:
        found_runs, is_covered = writers(runs, Interval(AT + first * HOUR, AT + last * HOUR))
        return [writer.run_id for writer in found_runs], is_covered

    assert of(0, 2) == (["morning"], True)
    assert of(1, 3) == (["noon", "morning"], True)
    assert of(2, 5) == (["later", "noon"], True)
    assert of(-1, 1) == (["morning", "whole"], True)
    assert of(1, 5, (MORNING,)) == (["morning"], False)
    assert of(0, 1, ()) == ([], False)
