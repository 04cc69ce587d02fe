"""A window is repaired if a repair is the run published last that has computed it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.spec import LateData, Windows
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import ARRIVALS, BACKFILL, CHANGED, FULL, REPAIR, ROLLBACK, Run, Step

AT, HOUR = datetime(2024, 3, 4, tzinfo=UTC), timedelta(hours=1)


def run(kind: str, version: int, start: datetime | None = None, end: datetime | None = None) -> Run:
    step = Step("publish", "done", AT, AT, versions={"late_events": version})
    return Run(f"r{version}", "p", "f", kind, 0, start, end, (step,))


def repaired_hours(*published: Run) -> list[int]:
    """Return which of the first four hours have a repaired window."""
    windows = RepairedWindows.after(published)
    return [hour for hour in range(4) if windows.contains(micros(AT + hour * HOUR) // 1000)]


FIRST = run(FULL, 0)
SECOND_HOUR = run(REPAIR, 1, AT + HOUR, AT + 2 * HOUR)


def test_a_repair_holds_for_its_own_windows_alone() -> None:
    assert repaired_hours(FIRST) == []
    assert repaired_hours(FIRST, SECOND_HOUR) == [1]
    assert repaired_hours(FIRST, SECOND_HOUR, run(REPAIR, 2, AT + 3 * HOUR, None)) == [1, 3]


def test_a_later_run_over_the_windows_ends_it() -> None:
    assert repaired_hours(FIRST, SECOND_HOUR, run(BACKFILL, 2, AT, AT + 2 * HOUR)) == []
    assert repaired_hours(FIRST, SECOND_HOUR, run(BACKFILL, 2, AT, AT + HOUR)) == [1]
    assert repaired_hours(FIRST, SECOND_HOUR, run(FULL, 2)) == []
    # It goes on behind the windows that are closed.
    assert repaired_hours(FIRST, SECOND_HOUR, run(ARRIVALS, 2, AT + 2 * HOUR, None)) == [1]
    stretches = Interval(AT, AT + HOUR), Interval(AT + 3 * HOUR, AT + 4 * HOUR)
    changed = replace(run(CHANGED, 2, AT, AT + 4 * HOUR), stretches=stretches)
    assert repaired_hours(FIRST, SECOND_HOUR, changed) == [1]


def test_a_rollback_gives_back_what_stood() -> None:
    later = run(FULL, 2)
    back = replace(run(ROLLBACK, 3), source_versions=SECOND_HOUR.versions)
    assert repaired_hours(FIRST, SECOND_HOUR, later, back) == [1]
    to_the_first = replace(run(ROLLBACK, 3), source_versions=FIRST.versions)
    assert repaired_hours(FIRST, SECOND_HOUR, to_the_first) == []


def test_late_rows_update_a_repaired_window_as_far_as_they_had_arrived() -> None:
    windows = RepairedWindows.after([FIRST, replace(SECOND_HOUR, arrived_to=AT + 9 * HOUR)])
    plain, (first, second) = Windows(size_ms=3_600_000), (micros(AT + n * HOUR) // 1000 for n in range(2))
    assert windows.spec(plain, first) is plain
    assert windows.spec(plain, second).late_data is LateData.UPDATE
    assert (windows.until_us(first), windows.until_us(second)) == (None, micros(AT + 9 * HOUR))
