"""Merging windows are a key's windows in flight: they neither overlap nor touch, because such windows become one.

    a touches b            a.start <= b.end and a.end >= b.start; so `[0, 10)` and `[10, 20)` do, `[11, 20)` does not
    merge of n             the hull of n and all windows in flight that touch it

The hull of n and its neighbours touches no other window, since all of it is covered by windows that were apart from
the others. The caller decides which windows are in flight: a retired window merges with none. Rules 80, 81.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.semantics.windows.window_assigners import TimeWindow


@dataclass(frozen=True)
class Merge:
    """What a new window becomes: `hull` in place of the windows in flight `absorbed`, which may be the hull itself."""

    hull: TimeWindow
    absorbed: tuple[TimeWindow, ...]


class MergingWindows:
    """The windows in flight of one key."""

    def __init__(self) -> None:
        self._in_flight: set[TimeWindow] = set()

    def __iter__(self) -> Iterator[TimeWindow]:
        """Return the windows in flight, by start."""
        return iter(sorted(self._in_flight))

    def __len__(self) -> int:
        return len(self._in_flight)

    def merge(self, window: TimeWindow) -> Merge:
        """Return what a new window becomes; nothing changes before `apply`."""
        absorbed = tuple(other for other in self if touches(window, other))
        together = (window, *absorbed)
        return Merge(TimeWindow(min(w.start for w in together), max(w.end for w in together)), absorbed)

    def apply(self, merge: Merge) -> None:
        """Let the hull fly in place of what it has absorbed."""
        self._in_flight.difference_update(merge.absorbed)
        self._in_flight.add(merge.hull)

    def retire(self, window: TimeWindow) -> None:
        """Take a window out."""
        self._in_flight.remove(window)


def touches(window: TimeWindow, other: TimeWindow) -> bool:
    """Return True if two windows overlap, or one ends where the other starts."""
    return window.start <= other.end and window.end >= other.start
