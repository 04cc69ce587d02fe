"""A part of time, by the start of its windows: a run replays and replaces these windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True)
class Interval:
    """The windows whose start is in `[start, end)`. A bound that is None is open: without bounds, all windows."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def whole(self) -> bool:
        """True if the interval contains every window."""
        return self.start is None and self.end is None

    def overlaps(self, other: Interval) -> bool:
        """Return whether some window may be in both intervals."""
        begins = other.end is None or self.start is None or self.start < other.end
        return begins and (self.end is None or other.start is None or other.start < self.end)

    def contains(self, other: Interval) -> bool:
        """Return whether every window of the other interval is in this one."""
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        return begins and (self.end is None or (other.end is not None and other.end <= self.end))

    def holds(self, window_start: Column) -> Column:
        """Return the condition that the interval contains the window that starts at `window_start`."""
        from pyspark.sql import functions as F

        is_inside = F.lit(True)
        if self.start is not None:
            is_inside = is_inside & (window_start >= F.lit(self.start))
        if self.end is not None:
            is_inside = is_inside & (window_start < F.lit(self.end))
        return is_inside


def in_words(interval: Interval) -> str:
    """Return the windows of an interval in words, such as `from 2024-01-01 00:00 to the last`."""
    if interval.whole:
        return "of all time"
    start, end = (None if edge is None else f"{edge:%Y-%m-%d %H:%M}" for edge in (interval.start, interval.end))
    return f"from {start or 'the first'} to {end or 'the last'}"
