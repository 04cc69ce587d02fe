"""Corruptions of a run with overlapping windows."""

from __future__ import annotations

from datetime import timedelta

from tests.expectations.corruptions.catalogue import CATALOGUE, Corruption, enter
from tests.expectations.corruptions.good_runs import good_run
from tests.expectations.corruptions.selections import Row, move
from tests.support.generated_run import Rows, all_of, change

#: The number of a late event whose newest window has a result.
_LATE_EVENT = 8


def _move_windows(late_events: list[Row], by_ms: int) -> None:
    for row in late_events:
        move(row, timedelta(milliseconds=by_ms), "window_start", "window_end")


def _move_half_a_slide(rows: Rows) -> None:
    _move_windows(rows["late_events"], good_run("sliding").pipeline.windows.slide_ms // 2)


def _move_a_slide_back(rows: Rows) -> None:
    _move_windows([rows["late_events"][_LATE_EVENT]], -good_run("sliding").pipeline.windows.slide_ms)


def _count_one_more(rows: Rows) -> None:
    for row in (rows["panes"][0], rows["window_results"][0]):
        row["row_count"] += 1


enter(
    "sliding",
    {
        "a_window_between_two_starts": (
            _move_half_a_slide,
            {
                "late_events.windows_lie_on_the_grid",
                "late_events.late_events_missed_their_own_window",
                "late_events.late_events_arrive_after_their_window_closed",
                "window_results.results_count_the_rows_they_missed",
            },
        ),
        "an_older_window_than_the_newest": (
            _move_a_slide_back,
            {
                "late_events.late_events_missed_their_own_window",
                "window_results.results_count_the_rows_they_missed",
            },
        ),
        "a_late_event_without_its_window": (
            change("late_events", _LATE_EVENT, window_start=None, window_end=None),
            {
                "late_events.windows_lie_on_the_grid",
                "late_events.windows_are_as_long_as_declared",
                "late_events.late_events_missed_their_own_window",
                "late_events.no_row_is_too_late_for_an_open_window",
                "late_events.late_events_arrive_after_their_window_closed",
                "window_results.results_count_the_rows_they_missed",
            },
        ),
        "a_row_missing_in_one_of_its_windows": (
            _count_one_more,
            {"run.every_row_is_in_each_of_its_windows", "panes.counts_of_all_rows_are_row_counts"},
        ),
    },
)
CATALOGUE.append(
    Corruption(
        "sliding",
        "a_late_row_that_no_count_has",
        all_of(),
        frozenset({"run.every_row_is_accounted_for"}),
        counts={"late": -1},
    )
)
