"""Corruptions of a stream whose windows fire early, on time and late."""

from __future__ import annotations

from typing import Any

from tests.expectations.corruptions.catalogue import Edit, enter
from tests.expectations.corruptions.invariants import (
    CALENDAR,
    COUNTS,
    EARLY_ALONE,
    EARLY_FIRST,
    HOLDS,
    LATEST_ROWS,
    NUMBERS,
    ORDER,
    PANE_COUNT,
    ROW_COUNTS,
    SUM,
)
from tests.support.generated_run import Rows, at, change, remove


def _numbers(rows: Rows, timing: str) -> list[int]:
    """Return the row numbers of the first window's panes of a timing."""
    first = min(pane["window_start"] for pane in rows["panes"])
    return [i for i, pane in enumerate(rows["panes"]) if pane["timing"] == timing and pane["window_start"] == first]


def _change_pane(of_timing: str, number: int, **values: Any) -> Edit:
    """Change one of the first window's panes of a timing."""
    return lambda rows: change("panes", _numbers(rows, of_timing)[number], **values)(rows)


def _lower_watermark(rows: Rows) -> None:
    rows["panes"][_numbers(rows, "on_time")[0]]["watermark"] = rows["panes"][0]["watermark"]


def _repeat_row_count(rows: Rows) -> None:
    on_time = rows["panes"][_numbers(rows, "on_time")[0]]
    _change_pane("late", 0, row_count=on_time["row_count"])(rows)


def _drop_early_pane(rows: Rows) -> None:
    remove("panes", _numbers(rows, "early")[1])(rows)


enter(
    "continuous",
    {
        "an_early_pane_called_late": (
            _change_pane("early", 0, timing="late"),
            {EARLY_FIRST, EARLY_ALONE, CALENDAR, HOLDS, SUM, COUNTS},
        ),
        "two_panes_on_time": (
            _change_pane("late", 0, timing="on_time"),
            {EARLY_FIRST, CALENDAR, SUM, COUNTS},
        ),
        "an_early_pane_after_its_window_fired": (
            _change_pane("early", -1, fired_at=at(1)),
            {CALENDAR, ORDER},
        ),
        "a_pane_on_time_before_its_watermark": (
            _lower_watermark,
            {EARLY_ALONE, CALENDAR, ORDER},
        ),
        "an_early_pane_that_forgets_rows": (
            _change_pane("early", 2, row_count=1),
            {HOLDS, ROW_COUNTS},
        ),
        "a_late_pane_that_adds_no_row": (
            _repeat_row_count,
            {HOLDS, ROW_COUNTS},
        ),
        "an_early_pane_dropped": (
            _drop_early_pane,
            {NUMBERS, COUNTS, PANE_COUNT},
        ),
        "an_early_pane_called_on_time": (
            _change_pane("early", -1, timing="on_time"),
            {COUNTS, EARLY_FIRST, SUM},
        ),
    },
)

enter(
    "count",
    {
        "a_count_that_fires_on_time": (
            _change_pane("early", -1, timing="on_time"),
            {"panes.panes_have_a_timing_of_their_trigger", EARLY_ALONE, CALENDAR, COUNTS},
        ),
        "a_count_that_fires_one_row_too_soon": (
            _change_pane("early", 0, row_count=1),
            {"panes.panes_hold_the_rows_that_are_counted", ROW_COUNTS},
        ),
        "a_late_pane_called_early": (
            _change_pane("late", 0, timing="early"),
            {EARLY_ALONE, CALENDAR, COUNTS},
        ),
        "a_result_of_more_rows_than_its_window": (
            change("window_results", 0, row_count=99),
            {"run.no_window_shows_a_row_twice", LATEST_ROWS},
        ),
    },
)
