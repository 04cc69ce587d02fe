"""A punctuated watermark stands in the rows: a row that fulfils a condition carries a watermark, and emits it at once.

    marked    the condition is true (not null)
    emits     the value that the row carries, or its event time, in milliseconds, floored; nothing if that is null

The watermark is the value itself, without the 1 ms that a bound subtracts. The row itself is judged by the watermark of
the rows before it, because a generator takes a row after it went downstream. Emissions add nothing. Rules 14, 16, 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.semantics.rows.event_time import TimeReader
from spark_jobs.semantics.rows.expressions import Expression
from spark_jobs.semantics.rows.instants import floor_to_ms
from spark_jobs.semantics.spec import TimeField
from spark_jobs.semantics.watermark.generators import WatermarkOutput


class Punctuated:
    """The watermark that the newest marked row carries. Raises ValueError without a condition."""

    def __init__(self, when: str | None, value: TimeField | None) -> None:
        if when is None:
            raise ValueError("watermark.strategy punctuated: found no condition `when` that marks rows; declare it")
        self._when = Expression(when)
        self._value = None if value is None else TimeReader(value)

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Emit the watermark of a marked row."""
        if not self._when.evaluate(row):
            return
        watermark = ts if self._value is None else self._carried(self._value, row)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing: watermarks are emitted at rows."""

    def _carried(self, value: TimeReader, row: Mapping[str, Any]) -> int | None:
        us = value.micros(row)
        return None if us is None else floor_to_ms(us)
