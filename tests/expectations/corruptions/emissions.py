"""Ways to spoil early panes and retractions."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import (
    CALENDAR,
    COUNTS,
    EPOCH,
    FALLS,
    HOUR,
    MINUTE,
    NUMBERS,
    ORDER,
    PANE_COUNT,
    SUM,
    Row,
    on,
    panes_by_window,
    shown,
    taken_out,
)
from tests.support.generated_run import END, Rows

# Early panes.


def _early(rows: Rows) -> list[Row]:
    """The panes of a window with three early ones and one on time."""
    return next(
        panes
        for panes in panes_by_window(rows)
        if [pane["timing"] for pane in panes[:4]] == ["early"] * 3 + ["on_time"] and panes[0]["watermark"] != END
    )


FORECASTS = "panes.early_panes_come_first_and_late_ones_last"
FORECAST_ENDS = "panes.only_early_panes_fire_before_their_watermark"
HOLDS = "panes.panes_hold_the_rows_of_the_pane_before"


@on("forecasts", COUNTS, SUM, FORECASTS, FORECAST_ENDS, CALENDAR, why="a forecast is final")
def an_early_pane_called_on_time(rows: Rows) -> None:
    _early(rows)[2]["timing"] = "on_time"


@on("forecasts", NUMBERS, PANE_COUNT, COUNTS, why="a forecast was never made")
def an_early_pane_dropped(rows: Rows) -> None:
    taken_out(rows, "panes", _early(rows)[1])


@on("forecasts", HOLDS, why="rows that were there are gone again")
def an_early_pane_that_forgets_rows(rows: Rows) -> None:
    panes = _early(rows)
    shown(panes[1], panes[0]["row_count"] - 1)


@on("forecasts", CALENDAR, ORDER, EPOCH, FALLS, why="a forecast came after the fact")
def an_early_pane_after_its_window_fired(rows: Rows) -> None:
    panes = _early(rows)
    panes[2]["fired_at"] = panes[3]["fired_at"] + HOUR


@on(
    "forecasts",
    "panes.panes_have_a_timing_of_their_trigger",
    FORECASTS,
    FORECAST_ENDS,
    CALENDAR,
    COUNTS,
    why="whoever counts early panes does not count it",
)
def an_early_pane_in_capitals(rows: Rows) -> None:
    _early(rows)[0]["timing"] = "EARLY"


# Retractions.


SHOWS_AGAIN = "retractions.a_retraction_shows_its_pane_again"
WITHDRAWN = "retractions.a_pane_is_withdrawn_when_the_next_comes"
ALL_WITHDRAWN = "run.every_pane_but_the_latest_is_withdrawn"


def _retraction(rows: Rows) -> Row:
    return next(row for row in rows["panes"] if row["is_retraction"])


@on("retracted", WITHDRAWN, ALL_WITHDRAWN, why="whoever adds up panes has the old one and the new one")
def a_retraction_dropped(rows: Rows) -> None:
    taken_out(rows, "panes", _retraction(rows))


@on("retracted", SHOWS_AGAIN, ALL_WITHDRAWN, why="the pane was withdrawn twice")
def a_retraction_twice(rows: Rows) -> None:
    rows["panes"].append(dict(_retraction(rows)))


@on("retracted", SHOWS_AGAIN, WITHDRAWN, ALL_WITHDRAWN, why="what was never said is withdrawn")
def a_retraction_without_its_pane(rows: Rows) -> None:
    rows["panes"].append({**_retraction(rows), "device": "z"})


@on("retracted", SHOWS_AGAIN, why="another number is withdrawn than was said")
def a_retraction_of_another_value(rows: Rows) -> None:
    _retraction(rows)["total"] += 1


@on("retracted", WITHDRAWN, why="for a minute nothing was said of the window")
def a_retraction_before_its_time(rows: Rows) -> None:
    _retraction(rows)["fired_at"] -= MINUTE
