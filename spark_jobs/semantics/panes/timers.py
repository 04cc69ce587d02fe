"""A timer calls a (key, window) back when the watermark reaches an instant, inclusive.

    at a new watermark W: every timer with instant <= W runs once, in order of their instants

Timers are a set: the same (instant, key, window) registered twice runs once. Flink does not define the order of timers
with equal instants. Here it is the order of registration, so that every replay has the same order. Rules 60-62.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Generic, TypeVar

from spark_jobs.semantics.windows.lateness import is_due
from spark_jobs.semantics.windows.window_assigners import TimeWindow

K = TypeVar("K")


class Timers(Generic[K]):
    """The timers that have not run yet."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, K, TimeWindow]] = []
        self._registered: set[tuple[int, K, TimeWindow]] = set()
        self._sequence = 0

    def register(self, instant: int, key: K, window: TimeWindow) -> None:
        """Add a timer unless the same one is waiting."""
        if (instant, key, window) in self._registered:
            return
        self._registered.add((instant, key, window))
        heapq.heappush(self._queue, (instant, self._sequence, key, window))
        self._sequence += 1

    def due(self, watermark: int) -> Iterator[tuple[int, K, TimeWindow]]:
        """Take out the timers that a watermark reaches, in time order."""
        while self._queue and is_due(self._queue[0][0], watermark):
            instant, _, key, window = heapq.heappop(self._queue)
            self._registered.remove((instant, key, window))
            yield instant, key, window
