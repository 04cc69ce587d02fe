"""Merging windows are a key's windows in flight: they neither overlap nor touch, because such windows become one.

    a touches b            a.start <= b.end and a.end >= b.start; so `[0, 10)` and `[10, 20)` do, `[11, 20)` does not
    merge of n             the hull of n and all windows in flight that touch it

The hull of n and its neighbours touches no other window, since all of it is covered by windows that were apart from
the others. The caller decides which windows are in flight: a retired window merges with none. Rules 80, 81.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from spark_jobs.semantics.windows.window_assigners import TimeWindow


@dataclass(frozen=True)
class Merge:
    """What a new window becomes: `hull` in place of the windows in flight `absorbed`, which may be the hull itself."""

    hull: TimeWindow
    absorbed: tuple[TimeWindow, ...]


class MergingWindows:
    """The windows in flight of one key."""

    def __init__(self) -> None:
        # By start, and so by end: windows in flight are apart.
        self._in_flight: list[TimeWindow] = []

    def __iter__(self) -> Iterator[TimeWindow]:
        """Return the windows in flight, by start."""
        return iter(tuple(self._in_flight))

    def __len__(self) -> int:
        return len(self._in_flight)

    def merge(self, window: TimeWindow) -> Merge:
        """Return what a new window becomes; nothing changes before `apply`."""
        absorbed = tuple(self._in_flight[self._touching(window)])
        together = (window, *absorbed)
        return Merge(TimeWindow(min(w.start for w in together), max(w.end for w in together)), absorbed)

    def apply(self, merge: Merge) -> None:
        """Let the hull fly in place of what it has absorbed."""
        self._in_flight[self._touching(merge.hull)] = [merge.hull]

    def retire(self, window: TimeWindow) -> None:
        """Take a window out."""
        self._in_flight.remove(window)

    def _touching(self, window: TimeWindow) -> slice:
        """Return where the windows stand that touch this one (`touches`)."""
        first = behind = bisect_left(self._in_flight, window.start, key=attrgetter("end"))
        while behind < len(self._in_flight) and touches(window, self._in_flight[behind]):
            behind += 1
        return slice(first, behind)


def touches(window: TimeWindow, other: TimeWindow) -> bool:
    """Return True if two windows overlap, or one ends where the other starts."""
    return window.start <= other.end and window.end >= other.start
