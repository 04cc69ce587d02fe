"""A part of time, by the start of its windows: a run replays and replaces these windows.

The part is one stretch, or several with windows between them that the run leaves alone. The condition on a column is in
`interval_condition`: this module is read without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Interval:
    """The windows whose start is in `[start, end)`. A bound that is None is open: without bounds, all windows.

    With `stretches`, only the windows of these parts of `[start, end)`. They are in order, do not touch, and have no
    stretches themselves (`joined`).
    """

    start: datetime | None = None
    end: datetime | None = None
    stretches: tuple[Interval, ...] = field(default=(), kw_only=True)

    @property
    def whole(self) -> bool:
        """True if the interval contains every window."""
        return self.start is None and self.end is None and not self.stretches

    @property
    def empty(self) -> bool:
        """True if the interval contains no window."""
        return self.start is not None and self.start == self.end

    @property
    def pieces(self) -> tuple[Interval, ...]:
        """The stretches, each without a gap."""
        return self.stretches or (self,)

    @property
    def hull(self) -> Interval:
        """The interval without its gaps."""
        return Interval(self.start, self.end)

    def overlaps(self, other: Interval) -> bool:
        """Return whether some window may be in both intervals."""
        return any(_overlap(mine, its) for mine in self.pieces for its in other.pieces)

    def contains(self, other: Interval) -> bool:
        """Return whether every window of the other interval is in this one."""
        return all(any(_contains(mine, its) for mine in self.pieces) for its in other.pieces)


def joined(intervals: Iterable[Interval]) -> Interval | None:
    """Return one interval with the windows of all; None without any. Stretches that touch become one."""
    ordered = sorted((piece for each in intervals for piece in each.pieces), key=lambda p: p.start or _EARLIEST)
    stretches: list[Interval] = []
    for piece in ordered:
        last = stretches[-1] if stretches else None
        if last is not None and (last.end is None or piece.start is None or piece.start <= last.end):
            end = None if last.end is None or piece.end is None else max(last.end, piece.end)
            stretches[-1] = Interval(last.start, end)
        else:
            stretches.append(piece)
    if len(stretches) < 2:
        return stretches[0] if stretches else None
    return Interval(stretches[0].start, stretches[-1].end, stretches=tuple(stretches))


def in_words(interval: Interval) -> str:
    """Return the windows of an interval in words, such as `from 2024-01-01 00:00 to the last`."""
    if interval.whole:
        return "of all time"
    start, end = (None if edge is None else f"{edge:%Y-%m-%d %H:%M}" for edge in (interval.start, interval.end))
    hull = f"from {start or 'the first'} to {end or 'the last'}"
    return f"of {len(interval.stretches)} stretches {hull}" if interval.stretches else hull


def _overlap(mine: Interval, other: Interval) -> bool:
    begins = other.end is None or mine.start is None or mine.start < other.end
    return begins and (mine.end is None or other.start is None or other.start < mine.end)


def _contains(mine: Interval, other: Interval) -> bool:
    begins = mine.start is None or (other.start is not None and mine.start <= other.start)
    return begins and (mine.end is None or (other.end is not None and other.end <= mine.end))
