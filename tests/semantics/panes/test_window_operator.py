"""The window operator: when it fires, with which rows, and when it forgets."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.panes.timers import Timers
from spark_jobs.semantics.panes.window_operator import Pane, WindowOperator
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import TimeWindow, TumblingWindows


def operator(*, lateness: int = 0, discarding: bool = False) -> WindowOperator[str, str]:
    return WindowOperator(TumblingWindows(10), allowed_lateness_ms=lateness, discarding=discarding)


def on_row(windows: WindowOperator[str, str], ts: int, row: str, key: str = "k") -> tuple[Lateness, list[str]]:
    (verdict,) = windows.on_row(key, ts, row)
    return verdict.lateness, [] if verdict.pane is None else lines([verdict.pane])


def lines(panes: list[Pane[str, str]]) -> list[str]:
    return [f"{p.key} {p.window.start} #{p.index} {p.timing.value} at {p.watermark}: {' '.join(p.rows)}" for p in panes]


def test_a_window_fires_once_when_the_watermark_reaches_its_last_instant() -> None:
    windows = operator()
    on_row(windows, 9, "a")
    on_row(windows, 0, "b")
    assert lines(windows.on_watermark(8)) == []
    assert lines(windows.on_watermark(9)) == ["k 0 #0 on_time at 9: a b"]
    assert lines(windows.on_watermark(10)) == []


def test_a_row_behind_the_watermark_is_on_time_while_its_window_is_open() -> None:
    windows = operator()
    windows.on_watermark(8)
    assert on_row(windows, 2, "a") == (Lateness.ON_TIME, [])
    assert lines(windows.on_watermark(9)) == ["k 0 #0 on_time at 9: a"]


def test_late_panes_hold_everything_so_far() -> None:
    windows = operator(lateness=5)
    on_row(windows, 1, "a")
    windows.on_watermark(9)
    assert on_row(windows, 2, "b") == (Lateness.LATE, ["k 0 #1 late at 9: a b"])
    windows.on_watermark(13)
    assert on_row(windows, 3, "c") == (Lateness.LATE, ["k 0 #2 late at 13: a b c"])
    windows.on_watermark(14)
    assert on_row(windows, 4, "d") == (Lateness.TOO_LATE, [])


def test_discarding_panes_hold_what_came_since_the_pane_before() -> None:
    windows = operator(lateness=5, discarding=True)
    on_row(windows, 1, "a")
    on_row(windows, 1, "b")
    assert lines(windows.on_watermark(9)) == ["k 0 #0 on_time at 9: a b"]
    assert on_row(windows, 2, "c") == (Lateness.LATE, ["k 0 #1 late at 9: c"])
    assert on_row(windows, 2, "d") == (Lateness.LATE, ["k 0 #2 late at 9: d"])


def test_a_window_without_rows_on_time_begins_with_late_pane_0() -> None:
    windows = operator(lateness=5)
    windows.on_watermark(9)
    assert on_row(windows, 1, "a") == (Lateness.LATE, ["k 0 #0 late at 9: a"])
    assert lines(windows.on_watermark(20)) == []


def test_one_jump_over_firing_and_cleanup_fires_once_and_forgets() -> None:
    windows = operator(lateness=5)
    on_row(windows, 1, "a")
    assert lines(windows.on_watermark(100)) == ["k 0 #0 on_time at 100: a"]
    assert windows.open_windows == 0


def test_state_is_kept_until_cleanup_and_no_longer() -> None:
    windows = operator(lateness=5)
    on_row(windows, 1, "a")
    windows.on_watermark(13)
    assert windows.open_windows == 1
    windows.on_watermark(14)
    assert windows.open_windows == 0


def test_windows_that_saw_late_rows_alone_are_forgotten_too() -> None:
    windows = operator(lateness=5)
    windows.on_watermark(9)
    on_row(windows, 1, "a")
    windows.on_watermark(14)
    assert windows.open_windows == 0


def test_the_end_of_the_input_fires_everything_in_time_order() -> None:
    windows = operator(lateness=5)
    on_row(windows, 35, "c")
    on_row(windows, 5, "a")
    on_row(windows, 15, "b", key="other")
    assert lines(windows.on_watermark(MAX)) == [
        f"k 0 #0 on_time at {MAX}: a",
        f"other 10 #0 on_time at {MAX}: b",
        f"k 30 #0 on_time at {MAX}: c",
    ]
    assert windows.open_windows == 0


def test_keys_have_separate_windows_and_a_common_watermark() -> None:
    windows = operator()
    on_row(windows, 1, "a", key="x")
    on_row(windows, 2, "b", key="y")
    assert sorted(lines(windows.on_watermark(9))) == ["x 0 #0 on_time at 9: a", "y 0 #0 on_time at 9: b"]


def test_allowed_lateness_is_not_negative() -> None:
    with pytest.raises(ValueError, match="allowed lateness of -1 ms"):
        operator(lateness=-1)


def test_the_same_timer_runs_once() -> None:
    timers: Timers[str] = Timers()
    window = TimeWindow(0, 10)
    timers.register(9, "k", window)
    timers.register(9, "k", window)
    timers.register(5, "k", window)
    assert list(timers.due(8)) == [(5, "k", window)]
    assert list(timers.due(9)) == [(9, "k", window)]
    assert list(timers.due(MAX)) == []


def test_timers_of_one_instant_run_in_the_order_of_registration() -> None:
    timers: Timers[str] = Timers()
    window = TimeWindow(0, 10)
    for key in "cab":
        timers.register(9, key, window)
    assert [key for _, key, _ in timers.due(9)] == ["c", "a", "b"]
