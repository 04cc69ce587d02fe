"""A window is a half-open stretch `[start, end)` of event time, in milliseconds; `last = end - 1` is its last instant.

Tumbling: every instant `ts` lies in exactly one window,

    start = ts - floorMod(ts - offset, size),   end = start + size,   size > 0, |offset| < size

floorMod is never negative, so windows before 1970 or before the offset are as regular as all others. Rules 3, 40, 42.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spark_jobs.semantics.instants import MIN

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Windows


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
        """Give the windows of an instant."""


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
        """Give the one window of `ts`. Raises ValueError for MIN, which stands for no timestamp (rule 3)."""
        if ts == MIN:
            raise ValueError("asked for the window of a row without an event time; sort such rows out before")
        start = window_start(ts, offset_ms=self.offset_ms, size_ms=self.size_ms)
        return (TimeWindow(start, start + self.size_ms),)


def window_start(ts: int, *, offset_ms: int, size_ms: int) -> int:
    """Give the start of the window that holds `ts` (rule 40)."""
    # Python's % is floorMod for a positive divisor; Java's and Spark's % is not.
    return ts - (ts - offset_ms) % size_ms


def assigner(declared: Windows) -> WindowAssigner:
    """Make the assigner that a pipeline declares. Raises ValueError for an unknown kind."""
    if declared.kind == "tumbling":
        return TumblingWindows(declared.size_ms, declared.offset_ms)
    raise ValueError(f"found window kind '{declared.kind}', known: tumbling")
