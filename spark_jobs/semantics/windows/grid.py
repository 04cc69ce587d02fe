"""A grid is where windows of one kind start: at a fixed distance, or at wall-clock times of a zone.

With period = the slide of sliding windows, the size of tumbling ones, and U the instant at which a clock shows a time:

    fixed   start(k) = offset + k * period                    rules 40, 41
    local   start(k) = U(offset + k * period)                 milliseconds on the zone's clock since 1970-01-01 00:00

A local period is a whole number of days, so a day of a local grid may have 23 or 25 hours. If the clock shows a time
twice, U is the earlier instant. If the clock skips it, U moves it forward by the gap. If the clock skips a whole day,
two numbers have one start; the greater number is the window, and the smaller one is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from spark_jobs.semantics.rows.text_times import zone
from spark_jobs.semantics.spec import Windows

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a time on the clock of a zone
# Dates and the rules of a zone repeat after 400 years, which are whole weeks.
_CYCLE_MS = 146_097 * 86_400_000
_FIRST_MS = (datetime(2, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND
_LAST_MS = (datetime(9998, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND


class Grid(Protocol):
    """The starts of windows, numbered in order; all times are milliseconds since 1970."""

    def start(self, number: int) -> int:
        """Return the start of the window with a number."""

    def number(self, ts: int) -> int:
        """Return the greatest number whose window starts at `ts` or before."""


@dataclass(frozen=True)
class FixedGrid:
    """Windows start `period_ms` apart."""

    period_ms: int
    offset_ms: int = 0

    def start(self, number: int) -> int:
        """Return the start of the window with a number."""
        return self.offset_ms + number * self.period_ms

    def number(self, ts: int) -> int:
        """Return the greatest number whose window starts at `ts` or before."""
        # Python's // is floorDiv; Java's / and Spark's div are not.
        return (ts - self.offset_ms) // self.period_ms


@dataclass(frozen=True)
class LocalGrid:
    """Windows start `period_ms` apart on the clock of a zone; the period is a whole number of days."""

    zone: tzinfo
    period_ms: int
    offset_ms: int = 0

    def start(self, number: int) -> int:
        """Return the start of the window with a number."""
        return instant(self.offset_ms + number * self.period_ms, self.zone)

    def number(self, ts: int) -> int:
        """Return the greatest number whose window starts at `ts` or before."""
        # Around a change of the clock a date may begin after its first instant, or end before its last one.
        on_clock = (wall(ts, self.zone) - self.offset_ms) // self.period_ms
        return max(number for number in (on_clock - 1, on_clock, on_clock + 1) if self.start(number) <= ts)


def grid(declared: Windows) -> Grid:
    """Return the grid of declared tumbling or sliding windows."""
    return local_grid(declared) if declared.are_local else FixedGrid(declared.period_ms, declared.offset_ms)


def local_grid(declared: Windows) -> LocalGrid:
    """Return the grid of declared windows on the clock of their zone."""
    return LocalGrid(zone(declared.timezone), declared.period_ms, declared.offset_ms)


def newest_start(ts: int, starts: Grid) -> int:
    """Return the newest start that is not after `ts` (rule 40)."""
    return starts.start(starts.number(ts))


def next_start(start: int, starts: Grid) -> int:
    """Return the start after a start."""
    return starts.start(starts.number(start) + 1)


def previous_start(start: int, starts: Grid) -> int:
    """Return the start before a start."""
    return newest_start(start - 1, starts)


def wall(ts: int, clock: tzinfo) -> int:
    """Return the time that a zone's clock shows at an instant, as milliseconds since 1970-01-01 00:00 on that clock."""
    moved = _cycles(ts)
    moment = (datetime(1970, 1, 1, tzinfo=UTC) + (ts - moved) * _MILLISECOND).astimezone(clock)
    return moved + (moment.replace(tzinfo=None) - _EPOCH) // _MILLISECOND


def instant(time: int, clock: tzinfo) -> int:
    """Return the instant at which a zone's clock shows a time, given as by `wall`."""
    moved = _cycles(time)
    # The first of two folds is the earlier instant; in a gap it is the offset before the gap.
    offset = (_EPOCH + (time - moved) * _MILLISECOND).replace(tzinfo=clock, fold=0).utcoffset() or timedelta()
    return time - offset // _MILLISECOND


def _cycles(ms: int) -> int:
    """Return a number of whole cycles; without them a time is one that `datetime` holds."""
    if ms < _FIRST_MS:
        return (ms - _FIRST_MS) // _CYCLE_MS * _CYCLE_MS
    return -((_LAST_MS - ms) // _CYCLE_MS) * _CYCLE_MS if ms > _LAST_MS else 0
