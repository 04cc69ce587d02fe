"""A source's output is what leaves a source: the watermark of its partitions, and whether the whole source is idle.

A source has two sides: its merged partitions, and a main output, whose generator gets no row. Both are silent at first.
A side is silent until it emits a watermark, and again when it is marked idle.

    watermark   sent if it is higher than all before, from either side; if the source was idle, active is sent first
    idle        sent once, when a side is marked idle and the other side is silent

A source whose partitions have emitted nothing is therefore idle as soon as its main output is. A source that follows
the clock emits without partitions. An idle source stays idle until a higher watermark. Rules 4, 29.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import advances
from spark_jobs.semantics.watermark.generators import WatermarkOutput


class SourceOutput:
    """The two sides of a source; watermarks and idleness go `downstream`."""

    def __init__(self, downstream: WatermarkOutput) -> None:
        self._downstream = downstream
        self._watermark = MIN
        self._is_idle = False
        self._sides = (_Side(self), _Side(self))

    @property
    def partitions(self) -> WatermarkOutput:
        """The side of the merged partitions."""
        return self._sides[0]

    @property
    def main(self) -> WatermarkOutput:
        """The side of the main output."""
        return self._sides[1]

    def emit(self, watermark: int) -> None:
        """Send a watermark on if it is higher than all before."""
        if advances(watermark, self._watermark):
            self._watermark = watermark
            self.wake()
            self._downstream.emit_watermark(watermark)

    def fall_silent(self) -> None:
        """Mark the source idle, if both sides are silent and it was active."""
        if not self._is_idle and all(side.is_silent for side in self._sides):
            self._is_idle = True
            self._downstream.mark_idle()

    def wake(self) -> None:
        """Mark the source active, if it was idle."""
        if self._is_idle:
            self._is_idle = False
            self._downstream.mark_active()


@dataclass
class _Side:
    source: SourceOutput = field(repr=False)
    is_silent: bool = True

    def emit_watermark(self, watermark: int) -> None:
        self.source.emit(watermark)
        self.is_silent = False

    def mark_idle(self) -> None:
        self.is_silent = True
        self.source.fall_silent()

    def mark_active(self) -> None:
        self.is_silent = False
        self.source.wake()
