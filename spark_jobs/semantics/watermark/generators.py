"""A watermark `t` asserts that no row with event time <= t will follow; a generator makes it from a partition's rows.

Bounded out-of-orderness with bound B >= 0, in milliseconds:

    m = max event time so far, MIN + B + 1 before the first row
    emitted at each periodic emit: m - B - 1

A row exactly B behind the newest row is therefore still ahead of the watermark. Monotonous is B = 0. A row changes `m`
only; the watermark changes at the next emission. The same value may be emitted again. Rules 2, 10-13, 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from spark_jobs.semantics.rows.instants import MIN


class WatermarkOutput(Protocol):
    """Where a generator sends its watermarks and the idleness of its partition."""

    def emit_watermark(self, watermark: int) -> None:
        """Take a watermark; if it is not higher it changes no value, but it ends idleness (rule 24)."""

    def mark_idle(self) -> None:
        """Take the partition out of the minimum until it emits again."""

    def mark_active(self) -> None:
        """Take the partition into the minimum again, with the watermark that it had."""


class WatermarkGenerator(Protocol):
    """One source partition's watermarks."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Take a row, after it went downstream (rule 17)."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit, at an emission."""


class BoundedOutOfOrderness:
    """The newest event time less the bound less 1 ms. Raises ValueError for a negative bound."""

    def __init__(self, bound_ms: int) -> None:
        if bound_ms < 0:
            raise ValueError(f"found an out-of-orderness bound of {bound_ms} ms; it must be at least 0")
        self._bound_ms = bound_ms
        self._max_ts = MIN + bound_ms + 1

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Remember the event time if it is the newest."""
        self._max_ts = max(self._max_ts, ts)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the newest event time less the bound less 1 ms."""
        output.emit_watermark(self._max_ts - self._bound_ms - 1)


class NoWatermarks:
    """No watermark at all: everything fires at the end of the input (rule 15)."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Do nothing: rows do not count."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing."""
