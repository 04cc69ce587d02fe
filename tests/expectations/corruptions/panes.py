"""Corruptions of the panes of a whole run: when they fire, which exist, and their timings."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import (
    ADDS_ONE,
    CALENDAR,
    CLEANED_UP,
    COUNTS,
    EPOCH,
    FALLS,
    FIRST,
    HAS_PANE,
    LATEST_ROWS,
    LATEST_TIME,
    LATEST_VALUES,
    MISSED,
    NUMBERS,
    ONE_RESULT,
    ONLY_FIRST,
    ORDER,
    PANE_COUNT,
    SUM,
)
from tests.expectations.corruptions.selections import (
    HOUR,
    MILLISECOND,
    MINUTE,
    SECOND,
    SIZE,
    change_with_result,
    late_first,
    lone,
    move,
    move_with_result,
    result_of,
    revised,
    take_out,
    window_of,
)
from tests.support.generated_run import Rows

# Panes: when they fire.


@on("readings", CALENDAR, why="the result was known half a minute sooner than it was")
def a_pane_fired_early(rows: Rows) -> None:
    pane = lone(rows)
    move(result_of(rows, pane), -30 * SECOND, "last_fired_at")
    move(pane, -30 * SECOND, "fired_at")


@on("readings", CALENDAR, why="the result was known half a minute later than it was")
def a_pane_fired_late(rows: Rows) -> None:
    pane = lone(rows)
    move(result_of(rows, pane), 30 * SECOND, "last_fired_at")
    move(pane, 30 * SECOND, "fired_at")


@on("readings", CALENDAR, "panes.no_pane_fires_before_its_watermark", why="the window was complete a millisecond early")
def a_pane_fired_before_the_end_of_its_window(rows: Rows) -> None:
    pane = lone(rows)
    pane["watermark"] = pane["window_end"] - 2 * MILLISECOND


@on("readings", CALENDAR, why="the stream was a minute behind where it was")
def the_watermark_of_an_on_time_pane_lowered(rows: Rows) -> None:
    pane = lone(rows)
    pane["watermark"] -= MILLISECOND


@on("readings", EPOCH, why="the row that fired the pane saw a watermark that came later")
def the_watermark_of_a_late_pane_raised(rows: Rows) -> None:
    revised(rows)[-1]["watermark"] += MILLISECOND


@on("readings", CALENDAR, ORDER, EPOCH, FALLS, "panes.no_pane_fires_before_its_watermark", why="late rows were in time")
def the_watermark_of_a_late_pane_an_hour_low(rows: Rows) -> None:
    revised(rows)[-1]["watermark"] -= HOUR


@on("readings", CLEANED_UP, EPOCH, FALLS, why="a window was revised that was gone")
def a_late_pane_behind_the_allowed_lateness(rows: Rows) -> None:
    pane = revised(rows)[-1]
    pane["watermark"] = pane["window_end"] + 20 * MINUTE


@on("readings", CALENDAR, EPOCH, FALLS, why="a window was revised after it was closed")
def a_late_pane_after_its_window_was_closed(rows: Rows) -> None:
    pane = revised(rows)[-1]
    change_with_result(rows, pane, fired_at=window_of(rows, pane)["closes_at"] + MINUTE)
    result_of(rows, pane)["last_fired_at"] = pane["fired_at"]


@on("readings", ORDER, EPOCH, FALLS, why="a revision came before the one it revises")
def late_panes_that_fire_in_the_wrong_order(rows: Rows) -> None:
    *_, older, latest = revised(rows)
    older["fired_at"], latest["fired_at"] = latest["fired_at"], older["fired_at"]
    result_of(rows, latest)["last_fired_at"] = latest["fired_at"]


# Panes: which exist, and their timings.


@on("readings", SUM, COUNTS, HAS_PANE, why="a result came from nowhere")
def a_pane_dropped(rows: Rows) -> None:
    take_out(rows, "panes", lone(rows))


@on("readings", NUMBERS, ADDS_ONE, PANE_COUNT, SUM, COUNTS, why="one revision never happened")
def a_late_pane_dropped(rows: Rows) -> None:
    take_out(rows, "panes", revised(rows)[-2])


@on(
    "readings", LATEST_ROWS, LATEST_VALUES, LATEST_TIME, PANE_COUNT, SUM, COUNTS, why="the last revision never happened"
)
def the_last_pane_dropped(rows: Rows) -> None:
    take_out(rows, "panes", revised(rows)[-1])


@on("readings", SUM, COUNTS, why="nothing happened in that window")
def a_window_dropped_with_its_result(rows: Rows) -> None:
    pane = lone(rows)
    take_out(rows, "window_results", result_of(rows, pane))
    take_out(rows, "panes", pane)


@on("readings", FIRST, PANE_COUNT, SUM, COUNTS, why="the window fired twice at once")
def a_pane_twice(rows: Rows) -> None:
    rows["panes"].append(dict(lone(rows)))


@on("readings", NUMBERS, ADDS_ONE, PANE_COUNT, SUM, COUNTS, why="a revision happened twice")
def a_late_pane_twice(rows: Rows) -> None:
    rows["panes"].append(dict(revised(rows)[2]))


@on("readings", NUMBERS, why="two revisions are one")
def a_pane_number_twice(rows: Rows) -> None:
    panes = revised(rows)
    panes[-1]["pane_index"] = panes[-2]["pane_index"]


@on("readings", NUMBERS, why="a revision is missing that never was")
def a_gap_in_the_pane_numbers(rows: Rows) -> None:
    revised(rows)[-1]["pane_index"] += 1


@on("readings", NUMBERS, ADDS_ONE, ONLY_FIRST, why="there was a pane before the first")
def pane_numbers_from_minus_one(rows: Rows) -> None:
    for pane in revised(rows):
        pane["pane_index"] -= 1


@on("readings", FIRST, ONLY_FIRST, why="there was a pane before the first")
def pane_numbers_from_one(rows: Rows) -> None:
    lone(rows)["pane_index"] = 1


@on("readings", COUNTS, SUM, ADDS_ONE, why="rows in time were late")
def an_on_time_pane_called_late(rows: Rows) -> None:
    lone(rows)["timing"] = "late"


@on("readings", COUNTS, CALENDAR, why="a late row was in time")
def a_late_pane_called_on_time(rows: Rows) -> None:
    late_first(rows)["timing"] = "on_time"


@on("readings", COUNTS, SUM, "panes.panes_are_on_time_or_late", why="a complete window was not")
def an_on_time_pane_called_early(rows: Rows) -> None:
    lone(rows)["timing"] = "early"


@on("readings", COUNTS, SUM, "panes.panes_are_on_time_or_late", why="a revision was a forecast")
def a_late_pane_called_early(rows: Rows) -> None:
    late_first(rows)["timing"] = "early"


@on("readings", COUNTS, SUM, CALENDAR, ONLY_FIRST, why="the window was complete twice")
def a_second_on_time_pane(rows: Rows) -> None:
    revised(rows)[1]["timing"] = "on_time"


@on("readings", COUNTS, SUM, "panes.panes_are_on_time_or_late", why="a count of on_time panes leaves it out")
def a_timing_in_capitals(rows: Rows) -> None:
    lone(rows)["timing"] = "ON_TIME"


# Panes and results: their windows and keys.


@on(
    "readings",
    "panes.windows_lie_on_the_grid",
    "panes.windows_are_as_long_as_declared",
    "window_results.windows_lie_on_the_grid",
    "window_results.windows_are_as_long_as_declared",
    CALENDAR,
    why="rows of one millisecond were not counted",
)
def a_window_that_starts_a_millisecond_late(rows: Rows) -> None:
    move_with_result(rows, lone(rows), MILLISECOND, "window_start")


@on(
    "readings",
    "panes.windows_are_as_long_as_declared",
    "panes.no_pane_fires_before_its_watermark",
    "window_results.windows_are_as_long_as_declared",
    why="the numbers are those of twice the time",
)
def a_window_twice_as_long(rows: Rows) -> None:
    move_with_result(rows, lone(rows), SIZE, "window_end")


@on(
    "readings",
    "panes.windows_lie_on_the_grid",
    "window_results.windows_lie_on_the_grid",
    CALENDAR,
    why="the numbers are those of other minutes",
)
def a_window_between_two_of_the_grid(rows: Rows) -> None:
    move_with_result(rows, lone(rows), -SIZE / 2, "window_start", "window_end")


@on("readings", CALENDAR, MISSED, CLEANED_UP, why="everything happened an hour earlier: a clock of another time zone")
def all_windows_an_hour_early(rows: Rows) -> None:
    for row in (*rows["panes"], *rows["window_results"]):
        move(row, -HOUR, "window_start", "window_end")


@on(
    "readings",
    *(f"{suite}.windows_are_as_long_as_declared" for suite in ("watermarks", "panes", "window_results")),
    CLEANED_UP,
    why="seconds were taken for milliseconds",
)
def all_windows_a_thousandth_as_long(rows: Rows) -> None:
    for row in (*rows["panes"], *rows["window_results"], *rows["watermarks"]):
        row["window_end"] = row["window_start"] + SIZE / 1000


@on("readings", HAS_PANE, ONE_RESULT, why="another device has the numbers of this one")
def a_pane_of_another_key(rows: Rows) -> None:
    lone(rows)["device"] = "z"


@on("readings", HAS_PANE, ONE_RESULT, why="a device has the numbers of the null key")
def a_null_key_filled_in(rows: Rows) -> None:
    for pane in rows["panes"]:
        pane["device"] = pane["device"] or "nobody"
