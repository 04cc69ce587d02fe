"""Corruptions of the rows of a whole run that no window contains: late events and invalid events."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.invariants import (
    ARRIVES,
    AS_READ,
    COUNTS,
    EPOCH,
    FALLS,
    LATE_BY,
    MISSED,
    OWN_WINDOW,
    REASON,
    STILL_OPEN,
    SUM,
)
from tests.expectations.corruptions.selections import (
    HOUR,
    MILLISECOND,
    MINUTE,
    SECOND,
    SIZE,
    late_event_of_a_shared_epoch,
    late_event_with_result,
    move,
    take_out,
)
from tests.support.generated_run import Rows

# Late events.


@on("readings", SUM, COUNTS, MISSED, why="a row has vanished")
def a_late_event_dropped(rows: Rows) -> None:
    take_out(rows, "late_events", late_event_with_result(rows))


@on("readings", SUM, COUNTS, MISSED, why="a row has come twice")
def a_late_event_twice(rows: Rows) -> None:
    rows["late_events"].append(dict(late_event_with_result(rows)))


@on("readings", STILL_OPEN, LATE_BY, ARRIVES, why="a row was thrown away that its window would have taken")
def a_late_event_that_was_not_late(rows: Rows) -> None:
    row = late_event_with_result(rows)
    row.update(watermark=row["window_end"], arrival_time=row["event_time"] + MINUTE)
    row["stored_at"] = row["arrival_time"]


@on("readings", EPOCH, why="the row came against a watermark that was not there")
def a_late_event_of_another_watermark(rows: Rows) -> None:
    row = late_event_of_a_shared_epoch(rows)
    row.update(watermark=row["watermark"] + SECOND, late_by_ms=row["late_by_ms"] + 1000)


@on("readings", EPOCH, FALLS, why="the row was more than an hour later than it was")
def a_late_event_of_a_watermark_of_the_future(rows: Rows) -> None:
    row = late_event_of_a_shared_epoch(rows)
    row.update(watermark=row["watermark"] + HOUR, late_by_ms=row["late_by_ms"] + 3_600_000)


@on("readings", LATE_BY, why="the row was a millisecond less late")
def a_late_by_one_too_few(rows: Rows) -> None:
    late_event_with_result(rows)["late_by_ms"] -= 1


@on("readings", LATE_BY, why="the row was early")
def a_negative_late_by(rows: Rows) -> None:
    late_event_with_result(rows)["late_by_ms"] *= -1


@on("readings", LATE_BY, why="rows were late by minutes, and not by hours")
def late_by_in_seconds(rows: Rows) -> None:
    for row in rows["late_events"]:
        row["late_by_ms"] //= 1000


@on("readings", OWN_WINDOW, MISSED, why="the row belonged to the window before")
def a_late_event_of_the_window_before(rows: Rows) -> None:
    row = late_event_with_result(rows)
    move(row, -SIZE, "window_start", "window_end")


@on("readings", AS_READ, why="the row happened a second later than its own column shows")
def a_late_event_at_another_time(rows: Rows) -> None:
    row = late_event_with_result(rows)
    move(row, SECOND, "event_time")
    row["late_by_ms"] -= 1000
    assert row["event_time"] < row["window_end"]


@on("readings", AS_READ, why="the row came a second later than its own column shows")
def a_late_event_that_arrived_at_another_time(rows: Rows) -> None:
    late_event_with_result(rows)["arrival_time"] += MILLISECOND


@on("readings", AS_READ, why="a row that the pipeline leaves out has been judged")
def a_late_event_that_the_condition_drops(rows: Rows) -> None:
    late_event_with_result(rows)["reading"] = 48.0


@on("readings", MISSED, why="another device has missed the row")
def a_late_event_of_another_key(rows: Rows) -> None:
    late_event_with_result(rows)["device"] = "z"


@on("readings", "late_events.windows_lie_on_the_grid", ARRIVES, MISSED, why="the row missed a window that is none")
def a_late_event_of_a_window_off_the_grid(rows: Rows) -> None:
    row = late_event_with_result(rows)
    move(row, MILLISECOND, "window_start", "window_end")
    assert row["window_start"] <= row["event_time"]


@on("readings", "late_events.windows_are_as_long_as_declared", why="the window that the row missed was shorter")
def a_late_event_of_a_window_too_short(rows: Rows) -> None:
    late_event_with_result(rows)["window_end"] -= MILLISECOND


# Invalid events.


@on("readings", SUM, COUNTS, why="a row has vanished")
def an_invalid_event_dropped(rows: Rows) -> None:
    rows["invalid_events"].pop()


@on("readings", SUM, COUNTS, why="a row has come twice")
def an_invalid_event_twice(rows: Rows) -> None:
    rows["invalid_events"].append(dict(rows["invalid_events"][0]))


@on("readings", REASON, why="the row has no event time, and the reason is one from the future")
def an_invalid_event_of_another_reason(rows: Rows) -> None:
    rows["invalid_events"][0]["reason"] = "event_time_in_future"


@on("readings", REASON, "source.invalid_rows_say_why", why="the row was left out without a reason")
def an_invalid_event_without_a_reason(rows: Rows) -> None:
    rows["invalid_events"][0]["reason"] = None


@on("readings", REASON, why="a good row was left out")
def an_invalid_event_with_usable_times(rows: Rows) -> None:
    row = rows["invalid_events"][0]
    row["happened_at"] = row["stored_at"] - MINUTE
