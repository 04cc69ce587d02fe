"""A time-lag watermark follows the arrival clock and ignores the rows: `now - lag` at each emission, lag >= 0.

With emissions by the clock it rises even if no row arrives, so each tick counts, not only the ticks after rows. A row
whose delay exceeds the lag is behind the watermark. Rule 18; Flink's documentation, "Time Lag Watermark Generator".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.watermark.generators import WatermarkOutput


class TimeLag:
    """The arrival clock less the lag. Raises ValueError for a negative lag."""

    def __init__(self, lag_ms: int, clock: ArrivalClock) -> None:
        if lag_ms < 0:
            raise ValueError(f"found a time lag of {lag_ms} ms; it must be at least 0")
        self._lag_ms = lag_ms
        self._clock = clock

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Do nothing: rows do not count."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the clock less the lag."""
        output.emit_watermark(self._clock.now_ms - self._lag_ms)
