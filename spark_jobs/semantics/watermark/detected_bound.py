"""A detected bound is an out-of-orderness bound that a partition learns from its rows; it is a custom generator.

    delay(row)    how far the row is behind the newest row before it, at least 0
    bound         the longest delay of the newest `rows` rows, at least `at_least_ms`
    emitted       newest event time - bound - 1, at emissions, after `warm_up` rows

A bound that grows does not lower the watermark: a watermark lower than an earlier one changes nothing (rule 4).
Milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from spark_jobs.semantics.watermark.generators import WatermarkOutput


class DetectedBound:
    """The newest event time less the longest recent delay. Raises ValueError for `rows` below 1."""

    def __init__(self, rows: int = 1000, warm_up: int = 100, at_least_ms: int = 0) -> None:
        if rows < 1:
            raise ValueError(f"found a bound detected over {rows} rows; it must be at least 1")
        self._rows, self._warm_up, self._at_least_ms = rows, warm_up, at_least_ms
        self._count = 0
        self._newest: int | None = None
        # (number, delay) of the rows that no later row exceeds: the first one is the longest delay of the newest rows.
        self._longest: deque[tuple[int, int]] = deque()

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Learn from the row."""
        self._newest = ts if self._newest is None else max(self._newest, ts)
        delay = self._newest - ts
        while self._longest and self._longest[-1][1] <= delay:
            self._longest.pop()
        self._longest.append((self._count, delay))
        if self._longest[0][0] <= self._count - self._rows:
            self._longest.popleft()
        self._count += 1

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the newest event time less the bound less 1 ms."""
        if self._newest is not None and self._count >= self._warm_up:
            bound = max(self._at_least_ms, self._longest[0][1])
            output.emit_watermark(self._newest - bound - 1)
