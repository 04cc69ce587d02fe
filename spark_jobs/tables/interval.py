"""A part of time, by the start of its windows: what a run replays and replaces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Interval:
    """Windows whose start is in `[start, end)`; None is without bound. Both None is the whole of time."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def whole(self) -> bool:
        """Whether every window is meant."""
        return self.start is None and self.end is None

    def overlaps(self, other: Interval) -> bool:
        """Whether some window is meant by both."""
        begins = other.end is None or self.start is None or self.start < other.end
        return begins and (self.end is None or other.start is None or other.start < self.end)

    def contains(self, other: Interval) -> bool:
        """Whether every window of the other is meant."""
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        return begins and (self.end is None or (other.end is not None and other.end <= self.end))

    def holds(self, window_start: Column) -> Column:
        """Whether a window is meant."""
        held = F.lit(True)
        if self.start is not None:
            held = held & (window_start >= F.lit(self.start))
        if self.end is not None:
            held = held & (window_start < F.lit(self.end))
        return held
