"""Sessions: they merge while in flight, fire as one, and what comes beside a session that has gone starts another."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.panes.window_operator import Pane
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.windows.lateness import Lateness
from tests.support.rows_by_hand import Change, at, row

Sessions = SessionOperator[str, str]


def operator(*, lateness: int = 0, discarding: bool = False) -> Sessions:
    return SessionOperator(10, allowed_lateness_ms=lateness, discarding=discarding)


def on_row(sessions: Sessions, ts: int, value: str, key: str = "k") -> tuple[Lateness, list[str]]:
    (verdict,) = sessions.on_row(key, ts, value)
    return verdict.lateness, [] if verdict.pane is None else lines([verdict.pane])


def lines(panes: list[Pane[str, str]]) -> list[str]:
    return [
        f"{p.key} [{p.window.start}, {p.window.end}) #{p.index} {p.timing.value} at {p.watermark}: {' '.join(p.rows)}"
        for p in panes
    ]


def test_rows_of_one_key_exactly_a_gap_apart_are_one_session() -> None:
    sessions = operator()
    on_row(sessions, 0, "a")
    on_row(sessions, 10, "b")
    on_row(sessions, 21, "c")
    on_row(sessions, 5, "d", key="other")
    assert lines(sessions.on_watermark(MAX)) == [
        f"other [5, 15) #0 on_time at {MAX}: d",
        f"k [0, 20) #0 on_time at {MAX}: a b",
        f"k [21, 31) #0 on_time at {MAX}: c",
    ]
    assert sessions.open_windows == 0


def test_a_bridge_joins_sessions_in_the_order_of_their_rows() -> None:
    sessions = operator()
    for ts, value in ((20, "a"), (0, "b"), (21, "c"), (1, "d"), (11, "bridge")):
        on_row(sessions, ts, value)
    assert sessions.open_windows == 1
    assert lines(sessions.on_watermark(30)) == ["k [0, 31) #0 on_time at 30: a b c d bridge"]


def test_a_row_far_behind_the_watermark_is_on_time_if_it_touches_an_open_session() -> None:
    sessions = operator()
    on_row(sessions, 20, "open")
    sessions.on_watermark(25)
    assert on_row(sessions, 10, "bridge") == (Lateness.ON_TIME, [])
    assert on_row(sessions, -1, "alone") == (Lateness.TOO_LATE, [])


def test_rows_that_are_too_late_make_no_session_together() -> None:
    sessions = operator()
    sessions.on_watermark(29)
    assert on_row(sessions, 20, "a") == (Lateness.TOO_LATE, [])
    assert on_row(sessions, 15, "b") == (Lateness.TOO_LATE, [])
    assert sessions.open_windows == 0


def test_session_without_lateness_is_dropped_at_its_firing_and_the_next_overlaps_it() -> None:
    sessions = operator()
    on_row(sessions, 0, "a")
    assert lines(sessions.on_watermark(9)) == ["k [0, 10) #0 on_time at 9: a"]
    assert on_row(sessions, 5, "b") == (Lateness.ON_TIME, [])
    (pane,) = sessions.on_watermark(14)
    assert lines([pane]) == ["k [5, 15) #0 on_time at 14: b"]
    assert pane.replaces == ()


def test_a_late_row_inside_a_session_fires_its_next_pane() -> None:
    sessions = operator(lateness=20)
    on_row(sessions, 0, "a")
    on_row(sessions, 8, "b")
    sessions.on_watermark(17)
    assert on_row(sessions, 4, "c") == (Lateness.LATE, ["k [0, 18) #1 late at 17: a b c"])


def test_a_session_that_grows_starts_again_at_pane_0_and_replaces_what_it_was() -> None:
    sessions = operator(lateness=20)
    on_row(sessions, 5, "a")
    sessions.on_watermark(14)
    (verdict,) = sessions.on_row("k", 3, "b")
    assert verdict.pane is not None
    assert lines([verdict.pane]) == ["k [3, 15) #0 late at 14: a b"]
    assert verdict.pane.replaces == ((5, 15),)


def test_a_session_that_grows_with_each_pane_replaces_the_last_one_alone() -> None:
    sessions = operator(lateness=100)
    on_row(sessions, 5, "a")
    sessions.on_watermark(14)
    panes = [verdict.pane for ts in (4, 3, 2) for verdict in sessions.on_row("k", ts, "b")]
    assert [pane and pane.replaces for pane in panes] == [((5, 15),), ((4, 15),), ((3, 15),)]


def test_a_late_bridge_to_a_session_that_ends_later_waits_for_its_end() -> None:
    sessions = operator(lateness=20)
    on_row(sessions, 0, "a")
    on_row(sessions, 15, "b")
    assert lines(sessions.on_watermark(9)) == ["k [0, 10) #0 on_time at 9: a"]
    assert on_row(sessions, 5, "bridge") == (Lateness.ON_TIME, [])
    (pane,) = sessions.on_watermark(24)
    assert lines([pane]) == ["k [0, 25) #0 on_time at 24: a b bridge"]
    assert pane.replaces == ((0, 10),)


def test_discarding_sessions_show_rows_once() -> None:
    sessions = operator(lateness=20, discarding=True)
    on_row(sessions, 0, "a")
    on_row(sessions, 15, "b")
    sessions.on_watermark(9)
    on_row(sessions, 5, "bridge")
    assert lines(sessions.on_watermark(24)) == ["k [0, 25) #0 on_time at 24: b bridge"]
    assert on_row(sessions, 1, "c") == (Lateness.LATE, ["k [0, 25) #1 late at 24: c"])


def test_state_is_kept_until_cleanup_and_no_longer() -> None:
    sessions = operator(lateness=5)
    on_row(sessions, 0, "a")
    on_row(sessions, 5, "b")
    sessions.on_watermark(18)
    assert sessions.open_windows == 1
    sessions.on_watermark(19)
    assert sessions.open_windows == 0


@pytest.mark.parametrize(("gap", "lateness", "message"), [(0, 0, "session gap of 0 ms"), (1, -1, "lateness of -1 ms")])
def test_gaps_have_length_and_lateness_is_not_negative(gap: int, lateness: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SessionOperator(gap, allowed_lateness_ms=lateness, discarding=False)


def test_window_results_have_no_session_that_was_merged_into_another(changed: Change) -> None:
    sessions = changed(windows={"kind": "session", "gap_ms": 10_000, "size_ms": 0, "allowed_lateness_ms": 60_000})
    # Watermark 12.999 before row 3, 39.999 before row 4: [1, 11) fires, then row 4 joins it to [15, 25).
    stream = [row(1, 1), row(2, 15), row(3, 42), row(4, 8)]
    outcome = replay(stream, sessions)
    assert [(pane["timing"], pane["ids"]) for pane in outcome.panes] == [
        ("on_time", [1]),
        ("on_time", [2]),
        ("late", [1, 2, 4]),
        ("on_time", [3]),
    ]
    assert [(result["window_start"], result["window_end"], result["ids"]) for result in outcome.window_results] == [
        (at(1), at(25), [1, 2, 4]),
        (at(42), at(52), [3]),
    ]
    assert outcome.counts["windows"] == 2
    assert outcome.watermarks == []


def test_dropped_session_stays_in_the_results_beside_an_overlapping_session(changed: Change) -> None:
    sessions = changed(windows={"kind": "session", "gap_ms": 10_000, "size_ms": 0, "allowed_lateness_ms": 0})
    outcome = replay([row(1, 1), row(2, 13), row(3, 8), row(4, 99), row(5, 2)], sessions)
    assert [(result["window_start"], result["ids"]) for result in outcome.window_results] == [
        (at(1), [1]),
        (at(8), [2, 3]),
        (at(99), [4]),
    ]
    (late,) = outcome.late_events
    assert (late["id"], late["window_start"], late["window_end"]) == (5, at(2), at(12))
