"""Corruptions of early panes and retractions of a whole run."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import (
    CALENDAR,
    COUNTS,
    EARLY_ALONE,
    EARLY_FIRST,
    EPOCH,
    FALLS,
    HOLDS,
    NUMBERS,
    ORDER,
    PANE_COUNT,
    SUM,
)
from tests.expectations.corruptions.selections import HOUR, MINUTE, Row, panes_by_window, set_row_count, take_out
from tests.support.generated_run import END, Rows

# Early panes.


def _early(rows: Rows) -> list[Row]:
    """The panes of a window with three early ones and one on time."""
    return next(
        panes
        for panes in panes_by_window(rows)
        if [pane["timing"] for pane in panes[:4]] == ["early"] * 3 + ["on_time"] and panes[0]["watermark"] != END
    )


@on("forecasts", COUNTS, SUM, EARLY_FIRST, EARLY_ALONE, CALENDAR, why="a forecast is final")
def an_early_pane_called_on_time(rows: Rows) -> None:
    _early(rows)[2]["timing"] = "on_time"


@on("forecasts", NUMBERS, PANE_COUNT, COUNTS, why="a forecast was never made")
def an_early_pane_dropped(rows: Rows) -> None:
    take_out(rows, "panes", _early(rows)[1])


@on("forecasts", HOLDS, why="rows that were there are gone again")
def an_early_pane_that_forgets_rows(rows: Rows) -> None:
    panes = _early(rows)
    set_row_count(panes[1], panes[0]["row_count"] - 1)


@on("forecasts", CALENDAR, ORDER, EPOCH, FALLS, why="a forecast came after the fact")
def an_early_pane_after_its_window_fired(rows: Rows) -> None:
    panes = _early(rows)
    panes[2]["fired_at"] = panes[3]["fired_at"] + HOUR


@on(
    "forecasts",
    "panes.panes_have_a_timing_of_their_trigger",
    EARLY_FIRST,
    EARLY_ALONE,
    CALENDAR,
    COUNTS,
    why="a count of early panes leaves it out",
)
def an_early_pane_in_capitals(rows: Rows) -> None:
    _early(rows)[0]["timing"] = "EARLY"


# Retractions.


SHOWS_AGAIN = "retractions.a_retraction_shows_its_pane_again"
WITHDRAWN = "retractions.a_pane_is_withdrawn_when_the_next_comes"
ALL_WITHDRAWN = "run.every_pane_but_the_latest_is_withdrawn"


def _retraction(rows: Rows) -> Row:
    return next(row for row in rows["panes"] if row["is_retraction"])


@on("retracted", WITHDRAWN, ALL_WITHDRAWN, why="a sum of panes contains the old pane and the new one")
def a_retraction_dropped(rows: Rows) -> None:
    take_out(rows, "panes", _retraction(rows))


@on("retracted", SHOWS_AGAIN, ALL_WITHDRAWN, why="the pane was withdrawn twice")
def a_retraction_twice(rows: Rows) -> None:
    rows["panes"].append(dict(_retraction(rows)))


@on("retracted", SHOWS_AGAIN, WITHDRAWN, ALL_WITHDRAWN, why="a pane that never fired is withdrawn")
def a_retraction_without_its_pane(rows: Rows) -> None:
    rows["panes"].append({**_retraction(rows), "device": "z"})


@on("retracted", SHOWS_AGAIN, why="another number is withdrawn than the pane had")
def a_retraction_of_another_value(rows: Rows) -> None:
    _retraction(rows)["total"] += 1


@on("retracted", WITHDRAWN, why="for a minute the window had no pane")
def a_retraction_before_its_time(rows: Rows) -> None:
    _retraction(rows)["fired_at"] -= MINUTE
