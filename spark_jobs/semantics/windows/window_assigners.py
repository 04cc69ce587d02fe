"""A window is a half-open stretch `[start, end)` of event time, in milliseconds; `last = end - 1` is its last instant.

Tumbling: every instant `ts` lies in exactly one window,

    start = ts - floorMod(ts - offset, size),   end = start + size,   size > 0, |offset| < size

Sliding: windows of one size start a slide apart; an instant lies in all that start in (ts - size, ts],

    start = s0, s0 - slide, ... while start > ts - size,   s0 = ts - floorMod(ts - offset, slide),   |offset| < slide

The size need not be a multiple of the slide: the number of an instant's windows then varies by one. With a slide longer
than the size, an instant between two windows has none.

floorMod is never negative, so windows before 1970 or before the offset are as regular as all others. Rules 3, 40-42.

Local windows, tumbling or sliding, start and end at wall-clock times of a zone (`grid`). A window of n days ends when
the clock shows the time of its start n days later. A window that the clock skips as a whole has no instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, assert_never

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.spec import WindowKind, Windows
from spark_jobs.semantics.windows.grid import FixedGrid, LocalGrid, instant, local_grid, newest_start

#: The most slides that a sliding window may span.
MOST_WINDOWS = 10_000_000


class TimeWindow(NamedTuple):
    """The window `[start, end)`."""

    start: int
    end: int

    @property
    def last(self) -> int:
        """The last instant inside; a watermark that reaches it completes the window (rule 2)."""
        return self.end - 1


class WindowAssigner(Protocol):
    """Which windows an instant belongs to."""

    def assign(self, ts: int) -> tuple[TimeWindow, ...]:
        """Return the windows of an instant."""


@dataclass(frozen=True)
class TumblingWindows:
    """The windows `[offset + k*size, offset + (k+1)*size)`. Raises ValueError for a grid that rule 42 refuses."""

    size_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms <= 0:
            raise ValueError(f"found a window size of {self.size_ms} ms; it must be longer than 0")
        if abs(self.offset_ms) >= self.size_ms:
            raise ValueError(
                f"found a window offset of {self.offset_ms} ms with a size of {self.size_ms} ms; "
                f"it must be shorter than the size: {self.offset_ms % self.size_ms} ms gives the same windows"
            )

    def assign(self, ts: int) -> tuple[TimeWindow, ...]:
        """Return the one window of `ts`. Raises ValueError for MIN, which stands for no timestamp (rule 3)."""
        _require_event_time(ts)
        start = newest_start(ts, FixedGrid(self.size_ms, self.offset_ms))
        return (TimeWindow(start, start + self.size_ms),)


@dataclass(frozen=True)
class SlidingWindows:
    """The windows `[offset + k*slide, offset + k*slide + size)`. Raises ValueError for a grid that rule 42 refuses."""

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms <= 0:
            raise ValueError(f"found a window size of {self.size_ms} ms; it must be longer than 0")
        if self.slide_ms <= 0:
            raise ValueError(f"found a window slide of {self.slide_ms} ms; it must be longer than 0")
        if self.size_ms // self.slide_ms > MOST_WINDOWS:
            raise ValueError(
                f"found a window size of {self.size_ms} ms with a slide of {self.slide_ms} ms; "
                f"a row may lie in at most {MOST_WINDOWS} windows"
            )
        if abs(self.offset_ms) >= self.slide_ms:
            raise ValueError(
                f"found a window offset of {self.offset_ms} ms with a slide of {self.slide_ms} ms; "
                f"it must be shorter than the slide: {self.offset_ms % self.slide_ms} ms gives the same windows"
            )

    def assign(self, ts: int) -> tuple[TimeWindow, ...]:
        """Return the windows of `ts`, the newest first; maybe none. Raises ValueError for MIN (rule 3)."""
        _require_event_time(ts)
        newest = newest_start(ts, FixedGrid(self.slide_ms, self.offset_ms))
        return tuple(
            TimeWindow(start, start + self.size_ms) for start in range(newest, ts - self.size_ms, -self.slide_ms)
        )


@dataclass(frozen=True)
class LocalWindows:
    """Tumbling windows, or sliding ones, that start and end at wall-clock times of a zone. Lengths are whole days."""

    size_ms: int
    grid: LocalGrid

    def assign(self, ts: int) -> tuple[TimeWindow, ...]:
        """Return the windows of `ts`, the newest first; maybe none. Raises ValueError for MIN (rule 3)."""
        _require_event_time(ts)
        windows, number = [], self.grid.number(ts)
        while (end := self._end(number)) > ts:
            start = self.grid.start(number)
            if start < self.grid.start(number + 1):
                windows.append(TimeWindow(start, end))
            number -= 1
        return tuple(windows)

    def _end(self, number: int) -> int:
        return instant(self.grid.offset_ms + number * self.grid.period_ms + self.size_ms, self.grid.zone)


def assigner(declared: Windows) -> WindowAssigner:
    """Return the assigner of declared tumbling or sliding windows. Raises ValueError for windows without a grid."""
    if declared.are_local:
        return LocalWindows(declared.size_ms, local_grid(declared))
    match declared.kind:
        case WindowKind.TUMBLING:
            return TumblingWindows(declared.size_ms, declared.offset_ms)
        case WindowKind.SLIDING:
            return SlidingWindows(declared.size_ms, declared.slide_ms, declared.offset_ms)
        case WindowKind.SESSION | WindowKind.NONE:
            raise ValueError(f"found window kind '{declared.kind}', expected sliding or tumbling")
        case _:
            assert_never(declared.kind)


def _require_event_time(ts: int) -> None:
    if ts == MIN:
        raise ValueError("found a row without an event time, which has no window; leave out invalid rows")
