"""Corruptions of the values of panes and results of a whole run."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import (
    COUNTS,
    HAS_PANE,
    LATEST_ROWS,
    LATEST_TIME,
    LATEST_VALUES,
    MISSED,
    ONE_RESULT,
    PANE_COUNT,
    ROW_COUNTS,
    SUM,
)
from tests.expectations.corruptions.selections import (
    change_with_result,
    lone,
    result_of,
    revised,
    set_row_count,
    take_out,
)
from tests.support.generated_run import Rows

# Panes and results: what they hold.


@on("readings", SUM, COUNTS, why="a row more has come in time")
def a_row_count_one_too_many(rows: Rows) -> None:
    pane = lone(rows)
    set_row_count(result_of(rows, pane), pane["row_count"] + 1)
    set_row_count(pane, pane["row_count"] + 1)


@on("readings", SUM, COUNTS, "panes.no_pane_is_empty", why="fewer than no rows have come")
def a_negative_row_count(rows: Rows) -> None:
    pane = lone(rows)
    set_row_count(result_of(rows, pane), -1)
    set_row_count(pane, -1)


@on("readings", ROW_COUNTS, why="count(*) is no count of all rows")
def a_count_that_is_not_the_row_count(rows: Rows) -> None:
    pane = lone(rows)
    change_with_result(rows, pane, readings=pane["readings"] + 1)


@on("readings", LATEST_VALUES, why="the sum is another than the pane's that it was published with")
def an_aggregate_changed_in_the_result(rows: Rows) -> None:
    result_of(rows, lone(rows))["total"] += 0.25


@on("readings", LATEST_VALUES, why="nothing is known of a mean that is known")
def an_aggregate_lost_in_the_result(rows: Rows) -> None:
    result_of(rows, lone(rows))["mean"] = None


@on("readings", LATEST_VALUES, LATEST_ROWS, LATEST_TIME, why="revisions are not in the result")
def a_result_of_an_older_pane(rows: Rows) -> None:
    older, latest = revised(rows)[-2:]
    names = ("readings", "total", "mean", "most", "row_count")
    result_of(rows, latest).update({name: older[name] for name in names} | {"last_fired_at": older["fired_at"]})


@on("readings", ONE_RESULT, COUNTS, why="nothing has come of a window that has fired")
def a_result_missing(rows: Rows) -> None:
    take_out(rows, "window_results", result_of(rows, lone(rows)))


@on("readings", HAS_PANE, COUNTS, why="a window has a result that never fired")
def a_result_too_many(rows: Rows) -> None:
    rows["window_results"].append({**result_of(rows, lone(rows)), "device": "z"})


@on("readings", ONE_RESULT, COUNTS, why="a sum of results counts the window twice")
def a_result_twice(rows: Rows) -> None:
    rows["window_results"].append(dict(result_of(rows, revised(rows)[0])))


@on("readings", PANE_COUNT, why="the result was revised once more than it was")
def a_pane_count_one_too_many(rows: Rows) -> None:
    result_of(rows, revised(rows)[0])["pane_count"] += 1


@on("readings", LATEST_TIME, why="the result stands for longer than it does")
def a_last_fired_at_of_the_first_pane(rows: Rows) -> None:
    first = revised(rows)[0]
    result_of(rows, first)["last_fired_at"] = first["fired_at"]


@on("readings", MISSED, why="a row more than was is missing in the result")
def a_too_late_count_one_too_many(rows: Rows) -> None:
    result_of(rows, lone(rows))["too_late_count"] += 1
