"""Corruptions of the window calendar of a whole run."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import ARRIVES, CALENDAR, EPOCH, FALLS
from tests.expectations.corruptions.selections import (
    HOUR,
    MILLISECOND,
    SECOND,
    Row,
    lone,
    move,
    revised,
    take_out,
    window_of,
)
from tests.support.generated_run import Rows

# The calendar.


@on("readings", CALENDAR, ARRIVES, why="the window has no time at which it fired")
def a_window_missing_in_the_calendar(rows: Rows) -> None:
    take_out(rows, "watermarks", window_of(rows, lone(rows)))


@on("readings", "watermarks.every_window_is_listed_once", why="the window fired twice")
def a_window_twice_in_the_calendar(rows: Rows) -> None:
    rows["watermarks"].append(dict(window_of(rows, lone(rows))))


def _next_in_calendar(rows: Rows, pane: Row) -> Row:
    return next(row for row in rows["watermarks"] if row["window_start"] == pane["window_end"])


@on(
    "readings",
    "watermarks.watermarks_never_fall",
    "watermarks.windows_fire_once_the_watermark_is_past_them",
    "watermarks.the_watermark_is_that_of_the_slowest_partition",
    CALENDAR,
    EPOCH,
    FALLS,
    why="time went back",
)
def a_watermark_that_falls(rows: Rows) -> None:
    _next_in_calendar(rows, lone(rows))["watermark_at_fire"] -= HOUR


@on("readings", "watermarks.watermarks_never_fall", CALENDAR, EPOCH, FALLS, why="a window fired before an older one")
def firing_times_of_two_windows_swapped(rows: Rows) -> None:
    pane = lone(rows)
    first, second = window_of(rows, pane), _next_in_calendar(rows, pane)
    first["fires_at"], second["fires_at"] = second["fires_at"], first["fires_at"]


@on("readings", "watermarks.windows_close_after_they_fire", CALENDAR, why="state went before there was a result")
def a_window_closed_before_it_fired(rows: Rows) -> None:
    window = window_of(rows, revised(rows)[0])
    window["closes_at"] = window["fires_at"] - SECOND


@on(
    "readings",
    "watermarks.the_end_of_input_closes_every_window",
    ARRIVES,
    why="the window still accepts late rows",
)
def a_window_that_never_closes(rows: Rows) -> None:
    window_of(rows, lone(rows))["closes_at"] = None


@on(
    "readings",
    "watermarks.the_watermark_is_that_of_the_slowest_partition",
    why="a partition was ahead of the watermark that it held back",
)
def a_slowest_partition_that_was_slower(rows: Rows) -> None:
    window = window_of(rows, lone(rows))
    slowest, *faster = sorted(window["partition_watermarks"], key=lambda partition: partition["watermark"])
    window["partition_watermarks"] = [{**slowest, "watermark": slowest["watermark"] - SECOND}, *faster]


@on("readings", "watermarks.windows_lie_on_the_grid", CALENDAR, ARRIVES, why="the window has no time at which it fired")
def a_window_of_the_calendar_off_the_grid(rows: Rows) -> None:
    move(window_of(rows, lone(rows)), MILLISECOND, "window_start", "window_end")
