"""Select rows of a whole run that a corruption changes, and edit them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from tests.support.generated_run import END, Rows

Row = dict[str, Any]

HOUR, MINUTE, SECOND, MILLISECOND = (timedelta(**{unit: 1}) for unit in ("hours", "minutes", "seconds", "milliseconds"))
SIZE = 10 * MINUTE
KEY = ("device", "site")


def key_of(row: Row) -> tuple[Any, ...]:
    """Return the key of a row of any table but the calendar."""
    return tuple(row[name] for name in KEY)


def panes_by_window(rows: Rows) -> Iterator[list[Row]]:
    """Yield the panes of each key and window, in the order of their numbers."""
    by_window: dict[Any, list[Row]] = {}
    for pane in rows["panes"]:
        by_window.setdefault((*map(str, key_of(pane)), pane["window_start"], pane["window_end"]), []).append(pane)
    for _, panes in sorted(by_window.items()):
        yield sorted(panes, key=lambda pane: pane["pane_index"])


def lone(rows: Rows) -> Row:
    """Return an on-time pane of several rows whose window has no late row and fires before the end of the input."""
    return next(
        panes[0]
        for panes in panes_by_window(rows)
        if len(panes) == 1 and panes[0]["timing"] == "on_time" and panes[0]["row_count"] > 2
        if panes[0]["watermark"] != END and result_of(rows, panes[0])["too_late_count"] == 0
    )


def revised(rows: Rows) -> list[Row]:
    """Return the panes of a window with an on-time pane and three late ones at least."""
    return next(panes for panes in panes_by_window(rows) if panes[0]["timing"] == "on_time" and len(panes) > 3)


def late_first(rows: Rows) -> Row:
    """Return pane 0 of a window that only a late row has fired."""
    return next(panes[0] for panes in panes_by_window(rows) if panes[0]["timing"] == "late" and len(panes) == 1)


def result_of(rows: Rows, pane: Row) -> Row:
    """Return the result of a pane's window."""
    names = (*KEY, "window_start", "window_end")
    return next(row for row in rows["window_results"] if all(row[name] == pane[name] for name in names))


def window_of(rows: Rows, pane: Row) -> Row:
    """Return the calendar's row for a pane's window."""
    return next(row for row in rows["watermarks"] if row["window_start"] == pane["window_start"])


def late_event_with_result(rows: Rows) -> Row:
    """Return a late event of a window that has a result."""
    with_result = {(*key_of(row), row["window_start"]) for row in rows["window_results"]}
    return next(row for row in rows["late_events"] if (*key_of(row), row["window_start"]) in with_result)


def late_event_of_a_shared_epoch(rows: Rows) -> Row:
    """Return a late event whose epoch another late event shares."""
    late = rows["late_events"]
    return next(row for i, row in enumerate(late) if any(row["watermark"] == other["watermark"] for other in late[:i]))


def move(row: Row, by: timedelta, *names: str) -> None:
    """Move times of a row."""
    for name in names:
        row[name] += by


def take_out(rows: Rows, table: str, row: Row) -> None:
    """Remove one row, and no row equal to it."""
    rows[table][:] = [other for other in rows[table] if other is not row]


def set_row_count(row: Row, count: int) -> None:
    """Set the number of rows of a pane or result in each of its columns."""
    row["row_count"] = row["readings"] = count


def change_with_result(rows: Rows, pane: Row, **values: Any) -> None:
    """Change a pane, and the result of its window in each column that they share."""
    result = result_of(rows, pane)
    pane.update(values)
    result.update({name: value for name, value in values.items() if name in result})


def move_with_result(rows: Rows, pane: Row, by: timedelta, *names: str) -> None:
    """Move times of a pane and of the result of its window."""
    result = result_of(rows, pane)
    move(pane, by, *names)
    move(result, by, *names)
