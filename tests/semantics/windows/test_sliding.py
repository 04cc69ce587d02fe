"""Sliding windows in a replay: a row is judged window by window, and dropped only where no window takes it."""

from __future__ import annotations

from spark_jobs.semantics.reference import replay
from tests.support.rows_by_hand import Change, at, row

# Windows of 10 s every 5 s, bound 2 s: row 3 fires [0, 10), whose row 4 is too late for it, but not for [5, 15).
STREAM = [row(1, 4), row(2, 8), row(3, 12), row(4, 9), row(5, 3)]


def test_a_row_counts_once_by_the_best_of_its_windows(changed: Change) -> None:
    sliding = changed(windows={"kind": "sliding", "slide_ms": 5_000, "allowed_lateness_ms": 0})
    outcome = replay(STREAM, sliding)
    assert [(pane["window_start"], pane["ids"]) for pane in outcome.panes] == [
        (at(-5), [1]),
        (at(0), [1, 2]),
        (at(5), [2, 3, 4]),
        (at(10), [3]),
    ]
    assert [(late["id"], late["window_start"]) for late in outcome.late_events] == [(5, at(0))]
    assert (outcome.counts["on_time"], outcome.counts["too_late"], outcome.counts["unassigned"]) == (4, 1, 0)


def test_a_row_may_fire_a_late_pane_of_one_window_and_be_on_time_in_another(changed: Change) -> None:
    sliding = changed(windows={"kind": "sliding", "slide_ms": 5_000, "allowed_lateness_ms": 1_000})
    outcome = replay(STREAM, sliding)
    assert [(pane["window_start"], pane["ids"]) for pane in outcome.panes if pane["timing"] == "late"] == [
        (at(0), [1, 2, 4]),
        (at(0), [1, 2, 4, 5]),
    ]
    assert (outcome.counts["on_time"], outcome.counts["late"], outcome.counts["too_late"]) == (4, 1, 0)


def test_a_row_between_two_windows_is_too_late_or_vanishes(changed: Change) -> None:
    sparse = changed(windows={"kind": "sliding", "slide_ms": 30_000, "allowed_lateness_ms": 5_000})
    outcome = replay([row(1, 15), row(2, 27), row(3, 20.001), row(4, 19.999)], sparse)
    # The watermark before row 4 is 24.999: with 5 s allowed, exactly the row of 19.999 is reported.
    assert [event["id"] for event in outcome.unassigned_events] == [1, 2, 3]
    assert outcome.unassigned_events[0]["watermark"] is None
    (late,) = outcome.late_events
    assert (late["id"], late["late_by_ms"], late["window_start"], late["window_end"]) == (4, 5_000, None, None)
    assert (outcome.counts["unassigned"], outcome.counts["too_late"], outcome.panes) == (3, 1, [])
