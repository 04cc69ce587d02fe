"""A catalogue of corruptions: ways to spoil what a good run has staged, and the expectations that must notice each.

A corruption changes the rows of the staged tables, and nothing else: what the run has counted stays as it was. `breaks`
are all the expectations that fail, and no others may; `why` says what a reader of the tables would be led to believe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.spark.drawn_run import END, Rows

Row = dict[str, Any]

HOUR, MINUTE, SECOND, MILLISECOND = (timedelta(**{unit: 1}) for unit in ("hours", "minutes", "seconds", "milliseconds"))
SIZE = 10 * MINUTE
KEY = ("device", "site")

# Names that stand in many lines.
SUM = "run.every_row_is_accounted_for"
COUNTS = "run.reported_counts_are_what_is_staged"
CALENDAR = "panes.panes_fire_as_the_calendar_says"
ORDER = "panes.panes_fire_in_the_order_of_their_numbers"
NUMBERS = "panes.pane_numbers_have_no_gap_and_no_duplicate"
ADDS_ONE = "panes.late_panes_add_one_row"
ONLY_FIRST = "panes.only_pane_0_is_on_time"
CLEANED_UP = "panes.no_late_pane_fires_after_cleanup"
FIRST = "panes.every_window_has_one_pane_0"
EPOCH = "clock.an_epoch_has_one_watermark"
FALLS = "clock.the_watermark_never_falls"
ONE_RESULT = "window_results.every_fired_window_has_one_result"
HAS_PANE = "window_results.every_result_has_a_pane"
LATEST_ROWS = "window_results.results_hold_the_rows_of_the_latest_pane"
LATEST_VALUES = "window_results.results_show_what_the_latest_pane_shows"
LATEST_TIME = "window_results.results_are_as_of_the_latest_pane"
PANE_COUNT = "window_results.results_count_their_panes"
MISSED = "window_results.results_count_the_rows_they_missed"
LATE_BY = "late_events.late_by_is_the_watermark_minus_the_event_time"
OWN_WINDOW = "late_events.late_events_missed_their_own_window"
AS_READ = "late_events.late_events_are_as_their_columns_say"
ARRIVES = "late_events.late_events_arrive_after_their_window_closed"
STILL_OPEN = "late_events.no_row_is_too_late_for_an_open_window"
REASON = "source.invalid_rows_are_as_their_columns_say"


@dataclass(frozen=True)
class Corruption:
    """One way to spoil the rows of the good run `run`."""

    run: str
    name: str
    how: Callable[[Rows], Any]
    breaks: frozenset[str]
    why: str


def key_of(row: Row) -> tuple[Any, ...]:
    """The key of a row of any table but the calendar."""
    return tuple(row[name] for name in KEY)


def _windows(rows: Rows) -> Iterator[list[Row]]:
    """The panes of each key and window, in the order of their numbers."""
    found: dict[Any, list[Row]] = {}
    for pane in rows["panes"]:
        found.setdefault((*map(str, key_of(pane)), pane["window_start"], pane["window_end"]), []).append(pane)
    for _, panes in sorted(found.items()):
        yield sorted(panes, key=lambda pane: pane["pane_index"])


def lone(rows: Rows) -> Row:
    """The on-time pane of a window of several rows that nobody was late for, and that fires before the end."""
    return next(
        panes[0]
        for panes in _windows(rows)
        if len(panes) == 1 and panes[0]["timing"] == "on_time" and panes[0]["row_count"] > 2
        if panes[0]["watermark"] != END and result_of(rows, panes[0])["too_late_count"] == 0
    )


def revised(rows: Rows) -> list[Row]:
    """The panes of a window with an on-time pane and three late ones at least."""
    return next(panes for panes in _windows(rows) if panes[0]["timing"] == "on_time" and len(panes) > 3)


def late_first(rows: Rows) -> Row:
    """Pane 0 of a window that only a late row has fired."""
    return next(panes[0] for panes in _windows(rows) if panes[0]["timing"] == "late" and len(panes) == 1)


def result_of(rows: Rows, pane: Row) -> Row:
    """The result of a pane's window."""
    names = (*KEY, "window_start", "window_end")
    return next(row for row in rows["window_results"] if all(row[name] == pane[name] for name in names))


def window_of(rows: Rows, pane: Row) -> Row:
    """The calendar's row for a pane's window."""
    return next(row for row in rows["watermarks"] if row["window_start"] == pane["window_start"])


def missing(rows: Rows) -> Row:
    """A late event of a window that has a result."""
    there = {(*key_of(row), row["window_start"]) for row in rows["window_results"]}
    return next(row for row in rows["late_events"] if (*key_of(row), row["window_start"]) in there)


def told_twice(rows: Rows) -> Row:
    """A late event whose epoch another tells of, too."""
    late = rows["late_events"]
    return next(row for i, row in enumerate(late) if any(row["watermark"] == other["watermark"] for other in late[:i]))


def moved(row: Row, by: timedelta, *names: str) -> None:
    """Move times of a row."""
    for name in names:
        row[name] += by


def taken_out(rows: Rows, table: str, row: Row) -> None:
    """Remove just that row."""
    rows[table][:] = [there for there in rows[table] if there is not row]


def shown(row: Row, count: int) -> None:
    """Let a pane or result hold `count` rows, as all of its columns tell it."""
    row["row_count"] = row["readings"] = count


def of_pane(rows: Rows, pane: Row, **values: Any) -> None:
    """Change a pane, and its window's result with it where both have the column."""
    result = result_of(rows, pane)
    pane.update(values)
    result.update({name: value for name, value in values.items() if name in result})


CATALOGUE: list[Corruption] = []


def on(run: str, *breaks: str, why: str) -> Callable[[Callable[[Rows], Any]], Callable[[Rows], Any]]:
    """Enter a function of the rows into the catalogue, under its own name."""

    def entered(how: Callable[[Rows], Any]) -> Callable[[Rows], Any]:
        CATALOGUE.append(Corruption(run, how.__name__, how, frozenset(breaks), why))
        return how

    return entered


# Panes: when they fire.


@on("readings", CALENDAR, why="the result was known half a minute sooner than it was")
def a_pane_fired_early(rows: Rows) -> None:
    pane = lone(rows)
    moved(result_of(rows, pane), -30 * SECOND, "last_fired_at")
    moved(pane, -30 * SECOND, "fired_at")


@on("readings", CALENDAR, why="the result was known half a minute later than it was")
def a_pane_fired_late(rows: Rows) -> None:
    pane = lone(rows)
    moved(result_of(rows, pane), 30 * SECOND, "last_fired_at")
    moved(pane, 30 * SECOND, "fired_at")


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
    of_pane(rows, pane, fired_at=window_of(rows, pane)["closes_at"] + MINUTE)
    result_of(rows, pane)["last_fired_at"] = pane["fired_at"]


@on("readings", ORDER, EPOCH, FALLS, why="a revision came before the one it revises")
def late_panes_that_fire_in_the_wrong_order(rows: Rows) -> None:
    *_, one, two = revised(rows)
    one["fired_at"], two["fired_at"] = two["fired_at"], one["fired_at"]
    result_of(rows, two)["last_fired_at"] = two["fired_at"]


# Panes: which there are, and what they are called.


@on("readings", SUM, COUNTS, HAS_PANE, why="a result came from nowhere")
def a_pane_dropped(rows: Rows) -> None:
    taken_out(rows, "panes", lone(rows))


@on("readings", NUMBERS, ADDS_ONE, PANE_COUNT, SUM, COUNTS, why="one revision never happened")
def a_late_pane_dropped(rows: Rows) -> None:
    taken_out(rows, "panes", revised(rows)[-2])


@on(
    "readings", LATEST_ROWS, LATEST_VALUES, LATEST_TIME, PANE_COUNT, SUM, COUNTS, why="the last revision never happened"
)
def the_last_pane_dropped(rows: Rows) -> None:
    taken_out(rows, "panes", revised(rows)[-1])


@on("readings", SUM, COUNTS, why="nothing happened in that window")
def a_window_dropped_with_its_result(rows: Rows) -> None:
    pane = lone(rows)
    taken_out(rows, "window_results", result_of(rows, pane))
    taken_out(rows, "panes", pane)


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


@on("readings", COUNTS, SUM, "panes.panes_are_on_time_or_late", why="whoever counts on_time does not count it")
def a_timing_in_capitals(rows: Rows) -> None:
    lone(rows)["timing"] = "ON_TIME"


# Panes and results: their windows and keys.


def _both_moved(rows: Rows, pane: Row, by: timedelta, *names: str) -> None:
    result = result_of(rows, pane)
    moved(pane, by, *names)
    moved(result, by, *names)


@on(
    "readings",
    *(f"{suite}.{law}" for suite in ("panes", "window_results") for law in ("windows_lie_on_the_grid",)),
    *(f"{suite}.{law}" for suite in ("panes", "window_results") for law in ("windows_are_as_long_as_declared",)),
    CALENDAR,
    why="rows of one millisecond were not counted",
)
def a_window_that_starts_a_millisecond_late(rows: Rows) -> None:
    _both_moved(rows, lone(rows), MILLISECOND, "window_start")


@on(
    "readings",
    "panes.windows_are_as_long_as_declared",
    "panes.no_pane_fires_before_its_watermark",
    "window_results.windows_are_as_long_as_declared",
    why="the numbers are those of twice the time",
)
def a_window_twice_as_long(rows: Rows) -> None:
    _both_moved(rows, lone(rows), SIZE, "window_end")


@on(
    "readings",
    "panes.windows_lie_on_the_grid",
    "window_results.windows_lie_on_the_grid",
    CALENDAR,
    why="the numbers are those of other minutes",
)
def a_window_between_two_of_the_grid(rows: Rows) -> None:
    _both_moved(rows, lone(rows), -SIZE / 2, "window_start", "window_end")


@on("readings", CALENDAR, MISSED, CLEANED_UP, why="everything happened an hour earlier: a clock of another time zone")
def all_windows_an_hour_early(rows: Rows) -> None:
    for row in (*rows["panes"], *rows["window_results"]):
        moved(row, -HOUR, "window_start", "window_end")


@on(
    "readings",
    *(f"{suite}.windows_are_as_long_as_declared" for suite in ("watermarks", "panes", "window_results")),
    CLEANED_UP,
    why="seconds were taken for milliseconds",
)
def all_windows_a_thousandth_as_long(rows: Rows) -> None:
    for row in (*rows["panes"], *rows["window_results"], *rows["watermarks"]):
        row["window_end"] = row["window_start"] + SIZE / 1000


@on("readings", HAS_PANE, ONE_RESULT, why="the numbers of one device are told of another")
def a_pane_of_another_key(rows: Rows) -> None:
    lone(rows)["device"] = "z"


@on("readings", HAS_PANE, ONE_RESULT, why="the numbers of no device are told of one")
def a_null_key_filled_in(rows: Rows) -> None:
    for pane in rows["panes"]:
        pane["device"] = pane["device"] or "nobody"


# Panes and results: what they hold.


@on("readings", SUM, COUNTS, why="a row more has come in time")
def a_row_count_one_too_many(rows: Rows) -> None:
    pane = lone(rows)
    shown(result_of(rows, pane), pane["row_count"] + 1)
    shown(pane, pane["row_count"] + 1)


@on("readings", SUM, COUNTS, "panes.no_pane_is_empty", why="fewer than no rows have come")
def a_negative_row_count(rows: Rows) -> None:
    pane = lone(rows)
    shown(result_of(rows, pane), -1)
    shown(pane, -1)


@on("readings", "panes.counts_of_all_rows_are_row_counts", why="count(*) is no count of all rows")
def a_count_that_is_not_the_row_count(rows: Rows) -> None:
    pane = lone(rows)
    of_pane(rows, pane, readings=pane["readings"] + 1)


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
    taken_out(rows, "window_results", result_of(rows, lone(rows)))


@on("readings", HAS_PANE, COUNTS, why="a window has a result that never fired")
def a_result_too_many(rows: Rows) -> None:
    rows["window_results"].append({**result_of(rows, lone(rows)), "device": "z"})


@on("readings", ONE_RESULT, COUNTS, why="whoever sums results counts the window twice")
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


# Late events.


@on("readings", SUM, COUNTS, MISSED, why="a row has vanished")
def a_late_event_dropped(rows: Rows) -> None:
    taken_out(rows, "late_events", missing(rows))


@on("readings", SUM, COUNTS, MISSED, why="a row has come twice")
def a_late_event_twice(rows: Rows) -> None:
    rows["late_events"].append(dict(missing(rows)))


@on("readings", STILL_OPEN, LATE_BY, ARRIVES, why="a row was thrown away that its window would have taken")
def a_late_event_that_was_not_late(rows: Rows) -> None:
    row = missing(rows)
    row.update(watermark=row["window_end"], arrival_time=row["event_time"] + MINUTE)
    row["stored_at"] = row["arrival_time"]


@on("readings", EPOCH, why="the row came against a watermark that was not there")
def a_late_event_of_another_watermark(rows: Rows) -> None:
    row = told_twice(rows)
    row.update(watermark=row["watermark"] + SECOND, late_by_ms=row["late_by_ms"] + 1000)


@on("readings", EPOCH, FALLS, why="the row was more than an hour later than it was")
def a_late_event_of_a_watermark_of_the_future(rows: Rows) -> None:
    row = told_twice(rows)
    row.update(watermark=row["watermark"] + HOUR, late_by_ms=row["late_by_ms"] + 3_600_000)


@on("readings", LATE_BY, why="the row was a millisecond less late")
def a_late_by_one_too_few(rows: Rows) -> None:
    missing(rows)["late_by_ms"] -= 1


@on("readings", LATE_BY, why="the row was early")
def a_negative_late_by(rows: Rows) -> None:
    missing(rows)["late_by_ms"] *= -1


@on("readings", LATE_BY, why="rows were late by minutes, and not by hours")
def late_by_in_seconds(rows: Rows) -> None:
    for row in rows["late_events"]:
        row["late_by_ms"] //= 1000


@on("readings", OWN_WINDOW, MISSED, why="the row belonged to the window before")
def a_late_event_of_the_window_before(rows: Rows) -> None:
    row = missing(rows)
    moved(row, -SIZE, "window_start", "window_end")


@on("readings", AS_READ, why="the row happened a second later than its own column says")
def a_late_event_at_another_time(rows: Rows) -> None:
    row = missing(rows)
    moved(row, SECOND, "event_time")
    row["late_by_ms"] -= 1000
    assert row["event_time"] < row["window_end"]


@on("readings", AS_READ, why="the row came a second later than its own column says")
def a_late_event_that_arrived_at_another_time(rows: Rows) -> None:
    missing(rows)["arrival_time"] += MILLISECOND


@on("readings", AS_READ, why="a row that the pipeline leaves out has been judged")
def a_late_event_that_the_condition_drops(rows: Rows) -> None:
    missing(rows)["reading"] = 48.0


@on("readings", MISSED, why="another device has missed the row")
def a_late_event_of_another_key(rows: Rows) -> None:
    missing(rows)["device"] = "z"


@on("readings", "late_events.windows_lie_on_the_grid", ARRIVES, MISSED, why="the row missed a window that is none")
def a_late_event_of_a_window_off_the_grid(rows: Rows) -> None:
    row = missing(rows)
    moved(row, MILLISECOND, "window_start", "window_end")
    assert row["window_start"] <= row["event_time"]


@on("readings", "late_events.windows_are_as_long_as_declared", why="the window that the row missed was shorter")
def a_late_event_of_a_window_too_short(rows: Rows) -> None:
    missing(rows)["window_end"] -= MILLISECOND


# Invalid events.


@on("readings", SUM, COUNTS, why="a row has vanished")
def an_invalid_event_dropped(rows: Rows) -> None:
    rows["invalid_events"].pop()


@on("readings", SUM, COUNTS, why="a row has come twice")
def an_invalid_event_twice(rows: Rows) -> None:
    rows["invalid_events"].append(dict(rows["invalid_events"][0]))


@on("readings", REASON, why="the row has no event time, and is said to have one from the future")
def an_invalid_event_of_another_reason(rows: Rows) -> None:
    rows["invalid_events"][0]["reason"] = "event_time_in_future"


@on("readings", REASON, "source.invalid_rows_say_why", why="nobody knows why the row was left out")
def an_invalid_event_without_a_reason(rows: Rows) -> None:
    rows["invalid_events"][0]["reason"] = None


@on("readings", REASON, why="a good row was left out")
def an_invalid_event_with_usable_times(rows: Rows) -> None:
    row = rows["invalid_events"][0]
    row["happened_at"] = row["stored_at"] - MINUTE


# The calendar.


@on("readings", CALENDAR, ARRIVES, why="nobody knows when the window fired")
def a_window_missing_in_the_calendar(rows: Rows) -> None:
    taken_out(rows, "watermarks", window_of(rows, lone(rows)))


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
    one, two = window_of(rows, pane), _next_in_calendar(rows, pane)
    one["fires_at"], two["fires_at"] = two["fires_at"], one["fires_at"]


@on("readings", "watermarks.windows_close_after_they_fire", CALENDAR, why="state went before there was a result")
def a_window_closed_before_it_fired(rows: Rows) -> None:
    window = window_of(rows, revised(rows)[0])
    window["closes_at"] = window["fires_at"] - SECOND


@on(
    "readings",
    "watermarks.the_end_of_input_closes_every_window",
    ARRIVES,
    why="late rows may still change what they cannot",
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
    slowest, *others = sorted(window["partition_watermarks"], key=lambda one: one["watermark"])
    window["partition_watermarks"] = [{**slowest, "watermark": slowest["watermark"] - SECOND}, *others]


@on("readings", "watermarks.windows_lie_on_the_grid", CALENDAR, ARRIVES, why="nobody knows when the window fired")
def a_window_of_the_calendar_off_the_grid(rows: Rows) -> None:
    moved(window_of(rows, lone(rows)), MILLISECOND, "window_start", "window_end")


# The run.


@on("readings", "run.every_row_is_of_this_run", why="the pane is another run's")
def a_pane_of_another_run(rows: Rows) -> None:
    lone(rows)["run_id"] = "r2"


@on("readings", "run.every_row_is_of_this_run", why="the late row is nobody's")
def a_late_event_of_no_run(rows: Rows) -> None:
    missing(rows)["run_id"] = None


# Early panes.


def _early(rows: Rows) -> list[Row]:
    """The panes of a window with three early ones and one on time."""
    return next(
        panes
        for panes in _windows(rows)
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


# Sessions.


def _session(rows: Rows) -> Row:
    """A session of several rows that fired once, in time, and has the result."""
    there = {(*key_of(row), row["window_start"], row["window_end"]) for row in rows["window_results"]}
    return next(
        panes[0]
        for panes in _windows(rows)
        if len(panes) == 1 and panes[0]["timing"] == "on_time" and panes[0]["row_count"] > 1
        if (*key_of(panes[0]), panes[0]["window_start"], panes[0]["window_end"]) in there
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
    _both_moved(rows, pane, pane["window_start"] + 24 * SECOND - pane["window_end"], "window_end")


@on("sessions", HAS_PANE, why="the session is longer in one table than in the other")
def a_session_longer_in_its_result(rows: Rows) -> None:
    result_of(rows, _session(rows))["window_end"] += SECOND


@on("sessions", "window_results.no_session_has_two_results", COUNTS, SUM, why="the session took place twice")
def a_session_twice(rows: Rows) -> None:
    rows["window_results"].append(dict(result_of(rows, _session(rows))))


@on("sessions", SUM, COUNTS, why="nobody was there")
def a_session_dropped(rows: Rows) -> None:
    pane = _session(rows)
    taken_out(rows, "window_results", result_of(rows, pane))
    taken_out(rows, "panes", pane)


@on("sessions", "late_events.sessions_are_no_shorter_than_the_gap", why="the session that the row missed was shorter")
def a_late_event_of_a_session_too_short(rows: Rows) -> None:
    rows["late_events"][0]["window_end"] -= SECOND
