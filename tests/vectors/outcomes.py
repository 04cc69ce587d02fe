"""An outcome is what an engine gives for a scenario, as the same tuples as what Flink gave.

`panes_of` and `late_of` read any result whose tables are rows of the published columns, `calendar_of` its `watermarks`,
`unassigned_of` the reference's table. Times in the tuples are milliseconds, MIN and MAX as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from spark_jobs.semantics.reference import Replay
from spark_jobs.semantics.rows.instants import END_OF_INPUT, MAX, MIN, micros


class PaneTuple(NamedTuple):
    """A firing, at clock `fired_us` (microseconds); `members` are the indices of the pane's rows."""

    key: str
    start: int
    end: int
    pane_index: int
    timing: str
    watermark: int
    fired_us: int
    rows: int
    total: float
    least: float
    most: float
    members: tuple[int, ...]


class CalendarTuple(NamedTuple):
    """A window's firing and closing, by the clock in microseconds."""

    start: int
    end: int
    fires_us: int
    watermark_at_fire: int
    closes_us: int


class Outcome(Protocol):
    """What an engine gives: rows of the published tables."""

    @property
    def panes(self) -> Iterable[Mapping[str, Any]]: ...

    @property
    def late_events(self) -> Iterable[Mapping[str, Any]]: ...

    @property
    def watermarks(self) -> Iterable[Mapping[str, Any]]: ...


def _as_it_is(clock_us: int) -> int:
    return clock_us


def panes_of(outcome: Outcome, compared_clock: Callable[[int], int] = _as_it_is) -> list[PaneTuple]:
    """An engine's panes, sorted; `compared_clock` is the scenario's `shown_clock_us` where ticks may be skipped."""
    return sorted(
        PaneTuple(
            pane["key"],
            millis(pane["window_start"]),
            millis(pane["window_end"]),
            pane["pane_index"],
            pane["timing"],
            _watermark(pane["watermark"]),
            compared_clock(micros(pane["fired_at"])),
            pane["rows"],
            pane["total"],
            pane["least"],
            pane["most"],
            tuple(sorted(pane["members"])),
        )
        for pane in outcome.panes
    )


def late_of(outcome: Outcome) -> list[int]:
    """The indices of an engine's late rows, sorted."""
    return sorted(row["index"] for row in outcome.late_events)


def unassigned_of(outcome: Replay) -> list[int]:
    """The indices of the rows that the reference drops without a trace, sorted."""
    return sorted(row["index"] for row in outcome.unassigned_events)


def calendar_of(outcome: Outcome, compared_clock: Callable[[int], int] = _as_it_is) -> list[CalendarTuple]:
    """An engine's calendar, sorted; `compared_clock` as for panes."""
    return sorted(
        CalendarTuple(
            millis(row["window_start"]),
            millis(row["window_end"]),
            compared_clock(micros(row["fires_at"])),
            _watermark(row["watermark_at_fire"]),
            compared_clock(micros(row["closes_at"])),
        )
        for row in outcome.watermarks
    )


def millis(moment: datetime) -> int:
    """A table's timestamp as milliseconds since 1970."""
    return micros(moment) // 1000


def _watermark(moment: datetime | None) -> int:
    if moment is None:
        return MIN
    return MAX if moment == END_OF_INPUT else millis(moment)
