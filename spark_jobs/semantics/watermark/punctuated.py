"""A punctuated watermark stands in the rows: a row that fulfils a condition carries one, and emits it at once.

    marked    the condition is true (not null)
    emits     the value that the row carries, or its event time, in milliseconds, floored; nothing if that is null

There is no 1 ms less as with a bound: the value is the watermark. The row itself was judged before, by the watermark of
the rows before it, since a generator sees a row when it has gone downstream. Emissions add nothing. Rules 14, 16, 17.
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
            raise ValueError("asked for a punctuated watermark, found no condition `when` that marks rows")
        self._when = Expression(when)
        self._value = None if value is None else TimeReader(value)

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Emit the watermark of a marked row."""
        if not self._when.evaluate(row):
            return
        carried = ts if self._value is None else self._carried(self._value, row)
        if carried is not None:
            output.emit_watermark(carried)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing: what there was to say was said with the row."""

    def _carried(self, value: TimeReader, row: Mapping[str, Any]) -> int | None:
        us = value.micros(row)
        return None if us is None else floor_to_ms(us)
