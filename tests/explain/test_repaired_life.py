"""In the life of a key, windows of a repair take every row that had arrived for it; the others are unchanged."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from spark_jobs.explain.life import ArrivedRow, Life, life
from spark_jobs.explain.repaired_life import repaired_life
from spark_jobs.semantics.rows.instants import EPOCH, MAX, MIN
from spark_jobs.semantics.spec import WindowKind, Windows
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import FULL, REPAIR, Run, Step

TUMBLING = Windows(size_ms=10)
SLIDING = Windows(size_ms=10, slide_ms=5, kind=WindowKind.SLIDING)
# Row 3 is too late for [0, 10), row 4 for [10, 20).
ROWS = [ArrivedRow(1, 3, MIN, 1), ArrivedRow(2, 12, 5, 2), ArrivedRow(3, 4, 15, 3), ArrivedRow(4, 13, 25, 4)]
CLOCKS = [row.number * 1000 for row in ROWS]


def at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def repaired(start_ms: int, end_ms: int, arrived_to: datetime | None = None) -> RepairedWindows:
    step = Step("publish", "done", EPOCH, EPOCH, versions={"late_events": 1})
    first = Run("first", "p", "f", FULL, 0, None, None, (step,))
    repair = replace(first, kind=REPAIR, interval_start=at(start_ms), interval_end=at(end_ms), arrived_to=arrived_to)
    return RepairedWindows.after([first, repair])


def verdicts(lived: Life) -> dict[int, list[tuple[int, str]]]:
    return {number: [(v.window.start, v.lateness.value) for v in each] for number, each in lived.verdicts.items()}


def panes(lived: Life) -> list[tuple[int, int, list[int]]]:
    return [
        (fired.pane.window.start, fired.pane.index, [row.number for row in fired.pane.rows]) for fired in lived.panes
    ]


def test_a_repair_changes_its_own_window_alone() -> None:
    lived = repaired_life(ROWS, CLOCKS, TUMBLING, MAX, repaired=repaired(0, 10))
    assert verdicts(lived) == {1: [(0, "on_time")], 2: [(10, "on_time")], 3: [(0, "late")], 4: [(10, "too_late")]}
    assert panes(lived) == [(0, 0, [1]), (0, 1, [1, 3]), (10, 0, [2])]
    assert [step.number for step in lived.steps if isinstance(step, ArrivedRow)] == [1, 2, 3, 4]


def test_without_a_repair_of_a_window_the_life_is_the_plain_one() -> None:
    plain = life(ROWS, TUMBLING, MAX)
    assert repaired_life(ROWS, CLOCKS, TUMBLING, MAX, repaired=repaired(50, 60)) == plain
    assert verdicts(plain)[3] == [(0, "too_late")]


def test_a_row_that_came_after_the_repair_is_too_late() -> None:
    lived = repaired_life(ROWS, CLOCKS, TUMBLING, MAX, repaired=repaired(0, 20, at(4)))
    assert verdicts(lived)[3] == [(0, "late")]
    assert verdicts(lived)[4] == [(10, "too_late")]


def test_of_overlapping_windows_each_is_judged_by_its_own_run() -> None:
    lived = repaired_life(ROWS, CLOCKS, SLIDING, MAX, repaired=repaired(-5, 0))
    assert verdicts(lived)[3] == [(0, "too_late"), (-5, "late")]
    assert (-5, 1, [1, 3]) in panes(lived)
