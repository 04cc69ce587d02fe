"""Corruptions of the sessions of a whole run."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import COUNTS, HAS_PANE, SUM
from tests.expectations.corruptions.selections import (
    SECOND,
    Row,
    key_of,
    move_with_result,
    panes_by_window,
    result_of,
    take_out,
)
from tests.support.generated_run import END, Rows

# Sessions.


def _session(rows: Rows) -> Row:
    """A session of several rows that fired once, in time, and has the result."""
    with_result = {(*key_of(row), row["window_start"], row["window_end"]) for row in rows["window_results"]}
    return next(
        panes[0]
        for panes in panes_by_window(rows)
        if len(panes) == 1 and panes[0]["timing"] == "on_time" and panes[0]["row_count"] > 1
        if (*key_of(panes[0]), panes[0]["window_start"], panes[0]["window_end"]) in with_result
        and panes[0]["watermark"] != END
    )


@on(
    "sessions",
    "panes.sessions_are_no_shorter_than_the_gap",
    "window_results.sessions_are_no_shorter_than_the_gap",
    why="the session ended before its gap was over",
)
def a_session_shorter_than_its_gap(rows: Rows) -> None:
    pane = _session(rows)
    move_with_result(rows, pane, pane["window_start"] + 24 * SECOND - pane["window_end"], "window_end")


@on("sessions", HAS_PANE, why="the session is longer in one table than in the other")
def a_session_longer_in_its_result(rows: Rows) -> None:
    result_of(rows, _session(rows))["window_end"] += SECOND


@on("sessions", "window_results.no_session_has_two_results", COUNTS, SUM, why="the session took place twice")
def a_session_twice(rows: Rows) -> None:
    rows["window_results"].append(dict(result_of(rows, _session(rows))))


@on("sessions", SUM, COUNTS, why="nobody was there")
def a_session_dropped(rows: Rows) -> None:
    pane = _session(rows)
    take_out(rows, "window_results", result_of(rows, pane))
    take_out(rows, "panes", pane)


@on("sessions", "late_events.sessions_are_no_shorter_than_the_gap", why="the session that the row missed was shorter")
def a_late_event_of_a_session_too_short(rows: Rows) -> None:
    rows["late_events"][0]["window_end"] -= SECOND
