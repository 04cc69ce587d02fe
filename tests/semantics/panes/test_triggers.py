"""When windows fire that do not wait for their end, and what the panes hold."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.panes.triggers import Continuous, Count, Trigger, truncated
from spark_jobs.semantics.panes.window_operator import Pane, WindowOperator
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.windows.window_assigners import TumblingWindows


def operator(trigger: Trigger, *, lateness: int = 0, discarding: bool = False) -> WindowOperator[str, str]:
    windows = TumblingWindows(10)
    return WindowOperator(windows, allowed_lateness_ms=lateness, discarding=discarding, trigger=trigger)


def sessions(trigger: Trigger, *, lateness: int = 0, discarding: bool = False) -> SessionOperator[str, str]:
    return SessionOperator(5, allowed_lateness_ms=lateness, discarding=discarding, trigger=trigger)


def on_row(windows: WindowOperator[str, str] | SessionOperator[str, str], ts: int, row: str) -> list[str]:
    return lines([verdict.pane for verdict in windows.on_row("k", ts, row) if verdict.pane is not None])


def lines(panes: list[Pane[str, str]]) -> list[str]:
    return [
        f"{p.window.start}-{p.window.end} #{p.index} {p.timing.value} at {p.watermark}: {' '.join(p.rows)}"
        for p in panes
    ]


def test_the_first_row_sets_the_phase_of_the_intervals() -> None:
    windows = operator(Continuous(4))
    on_row(windows, 5, "a")
    on_row(windows, 1, "b")
    assert lines(windows.on_watermark(7)) == []
    assert lines(windows.on_watermark(8)) == ["0-10 #0 early at 8: a b"]
    assert lines(windows.on_watermark(9)) == ["0-10 #1 on_time at 9: a b"]


def test_one_jump_runs_through_all_intervals_with_one_content() -> None:
    windows = operator(Continuous(3))
    on_row(windows, 0, "a")
    fired = lines(windows.on_watermark(MAX))
    assert [pane.split(" at ")[0] for pane in fired] == ["0-10 #0 early", "0-10 #1 early", "0-10 #2 on_time"]
    assert {pane.split(": ")[1] for pane in fired} == {"a"}


def test_an_instant_in_the_past_waits_for_the_next_advance() -> None:
    windows = operator(Continuous(2))
    windows.on_watermark(7)
    assert on_row(windows, 1, "a") == []
    assert [pane.split(": ")[0] for pane in lines(windows.on_watermark(8))] == [
        f"0-10 #{i} early at 8" for i in range(4)
    ]


def test_a_row_before_1970_is_cut_towards_zero() -> None:
    assert [truncated(ts, 1000) for ts in (-1500, -1000, -500, 0, 999, 1000)] == [-1000, -1000, 0, 0, 0, 1000]
    windows = WindowOperator[str, str](
        TumblingWindows(2000), allowed_lateness_ms=0, discarding=False, trigger=Continuous(500)
    )
    on_row(windows, -700, "a")
    assert lines(windows.on_watermark(-1)) == ["-2000-0 #0 on_time at -1: a"]


def test_discarding_leaves_out_panes_without_new_rows_and_does_not_number_them() -> None:
    windows = operator(Continuous(3), lateness=5, discarding=True)
    on_row(windows, 0, "a")
    assert lines(windows.on_watermark(6)) == ["0-10 #0 early at 6: a"]
    assert lines(windows.on_watermark(9)) == []
    assert on_row(windows, 4, "b") == ["0-10 #1 late at 9: b"]


def test_a_count_fires_at_rows_alone() -> None:
    windows = operator(Count(2), lateness=5)
    assert on_row(windows, 0, "a") == []
    assert on_row(windows, 1, "b") == ["0-10 #0 early at -9223372036854775808: a b"]
    assert on_row(windows, 2, "c") == []
    assert lines(windows.on_watermark(9)) == []
    assert on_row(windows, 3, "d") == ["0-10 #1 late at 9: a b c d"]
    assert on_row(windows, 4, "e") == []
    assert lines(windows.on_watermark(MAX)) == []


def test_counts_of_merging_sessions_add_up_and_may_pass_n() -> None:
    windows = sessions(Count(4))
    for ts, row in ((0, "a"), (1, "b"), (9, "c"), (10, "d")):
        assert on_row(windows, ts, row) == []
    assert on_row(windows, 5, "bridge") == ["0-15 #0 early at -9223372036854775808: a b c d bridge"]


def test_merging_sessions_keep_the_smaller_next_instant() -> None:
    windows = sessions(Continuous(4))
    on_row(windows, 9, "a")
    on_row(windows, 1, "b")
    on_row(windows, 5, "bridge")
    assert lines(windows.on_watermark(4)) == ["1-14 #0 early at 4: a b bridge"]


def test_a_session_revised_behind_the_watermark_runs_through_its_intervals_late() -> None:
    windows = sessions(Continuous(4), lateness=50)
    on_row(windows, 1, "a")
    assert lines(windows.on_watermark(20)) == ["1-6 #0 early at 20: a", "1-6 #1 on_time at 20: a"]
    assert on_row(windows, 5, "b") == ["1-10 #0 late at 20: a b"]
    assert lines(windows.on_watermark(21)) == ["1-10 #1 late at 21: a b", "1-10 #2 late at 21: a b"]


@pytest.mark.parametrize(("trigger", "argument"), [(Continuous, 0), (Continuous, -5), (Count, 0)])
def test_a_trigger_that_can_never_fire_is_refused(trigger: type[Continuous | Count], argument: int) -> None:
    with pytest.raises(ValueError, match=r"found a trigger.*must be"):
        trigger(argument)
