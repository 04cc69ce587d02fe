"""The combined watermark is the minimum over the partitions that are not idle, and it never falls.

    w_p         the highest watermark that partition p has emitted, MIN before the first
    candidate   the minimum of w_p over the active p; if all are idle, the maximum of w_p over all
    C           rises to the candidate whenever that is larger, and stays otherwise

A partition joins active, at MIN: C does not fall, but stays until the new partition has passed it. A partition that
becomes active again with an older w_p stops C in the same way. Without partitions there is no watermark.

Any watermark of a partition makes it active, even a lower one. Deferred watermarks are recorded and combined once, at
`on_periodic_emit`. An immediate watermark is combined at once if it raises its partition's value and lies above C; an
immediate change of idleness always is. Rules 20-28, with all partitions idle as in Flink 2.3.0 (rule 22, semantics V3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import advances
from spark_jobs.semantics.watermark.generators import WatermarkOutput


@dataclass
class _Partial:
    """One partition's own watermark and idleness."""

    watermark: int = MIN
    is_idle: bool = False

    def emit(self, watermark: int) -> bool:
        """Take a watermark; return True if it is the partition's highest."""
        self.is_idle = False
        is_news = advances(watermark, self.watermark)
        if is_news:
            self.watermark = watermark
        return is_news


class WatermarkMerge:
    """The partitions' watermarks and their combination; `output` gets each new value of C, and idleness of all."""

    def __init__(self, output: WatermarkOutput) -> None:
        self._output = output
        self._partitions: dict[str, _Partial] = {}
        self._combined = MIN

    @property
    def partitions(self) -> Mapping[str, int]:
        """The watermark of every registered partition."""
        return {name: partial.watermark for name, partial in self._partitions.items()}

    @property
    def idle(self) -> frozenset[str]:
        """The registered partitions that are idle."""
        return frozenset(name for name, partial in self._partitions.items() if partial.is_idle)

    def register(self, partition: str) -> None:
        """Add a new partition, active at MIN (rule 26)."""
        self._partitions[partition] = _Partial()

    def deferred(self, partition: str) -> WatermarkOutput:
        """Return the output whose watermarks and idleness wait for `on_periodic_emit`."""
        return _Deferred(self._partitions[partition])

    def immediate(self, partition: str) -> WatermarkOutput:
        """Return the output whose watermarks and idleness are combined at once (rule 25)."""
        return _Immediate(self._partitions[partition], self._combine_above, self.on_periodic_emit)

    def on_periodic_emit(self) -> None:
        """Combine the recorded watermarks; send a new value or idleness to the output (rules 21, 22)."""
        if not self._partitions:
            return
        active = [partial.watermark for partial in self._partitions.values() if not partial.is_idle]
        candidate = min(active) if active else max(partial.watermark for partial in self._partitions.values())
        if advances(candidate, self._combined):
            self._combined = candidate
            self._output.emit_watermark(candidate)
        if not active:
            self._output.mark_idle()

    def _combine_above(self, watermark: int) -> None:
        if advances(watermark, self._combined):
            self.on_periodic_emit()


@dataclass(frozen=True)
class _Deferred:
    partial: _Partial

    def emit_watermark(self, watermark: int) -> None:
        self.partial.emit(watermark)

    def mark_idle(self) -> None:
        self.partial.is_idle = True

    def mark_active(self) -> None:
        self.partial.is_idle = False


@dataclass(frozen=True)
class _Immediate:
    partial: _Partial
    combine_above: Callable[[int], None]
    combine: Callable[[], None]

    def emit_watermark(self, watermark: int) -> None:
        if self.partial.emit(watermark):
            self.combine_above(watermark)

    def mark_idle(self) -> None:
        self.partial.is_idle = True
        self.combine()

    def mark_active(self) -> None:
        self.partial.is_idle = False
        self.combine()
