"""A catalogue of corruptions: ways to spoil what a good run has staged, and the expectations that must notice each.

A corruption changes the rows of the staged tables, and nothing else: what the run has counted stays as it was. `breaks`
are all the expectations that fail, and no others may; `why` says what a reader of the tables would be led to believe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.support.generated_run import END, Rows

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


def panes_by_window(rows: Rows) -> Iterator[list[Row]]:
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
        for panes in panes_by_window(rows)
        if len(panes) == 1 and panes[0]["timing"] == "on_time" and panes[0]["row_count"] > 2
        if panes[0]["watermark"] != END and result_of(rows, panes[0])["too_late_count"] == 0
    )


def revised(rows: Rows) -> list[Row]:
    """The panes of a window with an on-time pane and three late ones at least."""
    return next(panes for panes in panes_by_window(rows) if panes[0]["timing"] == "on_time" and len(panes) > 3)


def late_first(rows: Rows) -> Row:
    """Pane 0 of a window that only a late row has fired."""
    return next(panes[0] for panes in panes_by_window(rows) if panes[0]["timing"] == "late" and len(panes) == 1)


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


def both_moved(rows: Rows, pane: Row, by: timedelta, *names: str) -> None:
    result = result_of(rows, pane)
    moved(pane, by, *names)
    moved(result, by, *names)


CATALOGUE: list[Corruption] = []


def on(run: str, *breaks: str, why: str) -> Callable[[Callable[[Rows], Any]], Callable[[Rows], Any]]:
    """Enter a function of the rows into the catalogue, under its own name."""

    def entered(how: Callable[[Rows], Any]) -> Callable[[Rows], Any]:
        CATALOGUE.append(Corruption(run, how.__name__, how, frozenset(breaks), why))
        return how

    return entered
