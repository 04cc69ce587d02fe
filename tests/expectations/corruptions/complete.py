"""Corruptions of complete results, and of the results and late events that they agree with."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import enter
from tests.expectations.corruptions.good_runs import complete_result
from tests.expectations.corruptions.invariants import ONE_RESULT, SUM
from tests.support.generated_run import add, change, late_event, remove, repeat

_TABLE = "complete_results"
_SHOWS = "complete_results.complete_results_tell_what_the_results_say"
_ROWS = "complete_results.complete_results_have_the_rows_of_the_results"
_MISSED = "complete_results.complete_results_miss_the_rows_that_came_too_late"
_ONE = "complete_results.every_result_has_a_complete_one"

enter(
    "complete",
    {
        "a_window_without_its_complete_result": (
            remove(_TABLE, 0),
            {_ONE},
        ),
        "a_complete_result_twice": (repeat(_TABLE, 3), {_ONE}),
        "a_result_dropped": (
            remove("window_results", 0),
            {
                _SHOWS,
                _ROWS,
                ONE_RESULT,
            },
        ),
        "a_result_that_is_not_shown": (
            change(_TABLE, 3, is_shown=False, faithful=None),
            {_SHOWS},
        ),
        "a_row_too_few": (
            change(_TABLE, 0, row_count=4),
            {_ROWS},
        ),
        "a_missed_row_without_a_late_event": (
            change(_TABLE, 3, row_count=3, missed_rows=1),
            {_MISSED},
        ),
        "a_late_event_too_many": (
            add("late_events", late_event("BB", 7, 22, 19)),
            {_MISSED, SUM},
        ),
        "more_missed_rows_than_rows": (
            change(_TABLE, 2, missed_rows=2),
            {
                "complete_results.complete_results_miss_no_more_rows_than_they_have",
                _ROWS,
                _MISSED,
            },
        ),
        "a_window_beside_the_grid": (
            change(_TABLE, 2, **complete_result("BB", 5, 1, None)),
            {
                "complete_results.windows_lie_on_the_grid",
                _ONE,
                _MISSED,
            },
        ),
    },
)
