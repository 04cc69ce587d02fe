"""Watermark generators as a user may write them, each with a habit that a replay must get right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.semantics.watermark.generators import WatermarkOutput


class Bounded:
    """A bound as Flink's in a custom class: emits at ticks alone."""

    def __init__(self, bound_ms: int) -> None:
        self._bound_ms = bound_ms
        self._newest: int | None = None

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        self._newest = ts if self._newest is None else max(self._newest, ts)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._newest is not None:
            output.emit_watermark(self._newest - self._bound_ms - 1)


class Marked:
    """What marked rows carry, at once; falls too, and twice for one row."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        if row["mark"]:
            output.emit_watermark(ts if row["value"] is None else row["value"])
            output.emit_watermark(ts)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing."""


class Moody:
    """Counts ticks and rows, emits at some of them, and falls idle and wakes as it pleases."""

    def __init__(self, mood: int = 3) -> None:
        self._mood = mood
        self._ticks = self._rows = 0
        self._newest: int | None = None

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        self._rows += 1
        self._newest = ts if self._newest is None else max(self._newest, ts)
        if row["mark"] is None:
            output.mark_idle()
        elif row["mark"] and self._rows % self._mood == 0:
            output.emit_watermark(self._newest - 5)
        elif self._rows % 7 == 0:
            output.mark_active()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._ticks += 1
        if self._newest is None or self._ticks % self._mood:
            return
        if self._ticks % (4 * self._mood) == 0:
            output.mark_idle()
        elif self._ticks % (5 * self._mood) == 0:
            output.mark_active()
        else:
            # Goes on where no row comes: only every tick counted one by one gives this.
            output.emit_watermark(self._newest - 20 + self._ticks // self._mood)
