"""The combined watermark is the minimum over the source partitions, and it never falls.

    w_p   the highest watermark that partition p has emitted, MIN before the first
    C     rises to min over the registered p of w_p whenever that is larger, and stays otherwise

A partition enters at MIN: C does not fall, but stands still until the newcomer has passed it. Without partitions there
is no watermark at all. Deferred emissions are recorded and combined once, at `on_periodic_emit`; an immediate one is
combined at once if it raises its partition's value and lies above C. Rules 20, 21, 23, 25, 26.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from spark_jobs.semantics.instants import MIN
from spark_jobs.semantics.lateness import advances
from spark_jobs.semantics.watermark import WatermarkOutput


class WatermarkMerge:
    """The partitions' watermarks and their combination; `forward` gets every new value of C."""

    def __init__(self, forward: Callable[[int], None]) -> None:
        self._forward = forward
        self._partitions: dict[str, int] = {}
        self._combined = MIN

    @property
    def partitions(self) -> Mapping[str, int]:
        """The watermark of every registered partition."""
        return self._partitions

    def register(self, partition: str) -> None:
        """Let a new partition take part, at MIN (rule 26)."""
        self._partitions[partition] = MIN

    def deferred(self, partition: str) -> WatermarkOutput:
        """Give the output whose watermarks wait for `on_periodic_emit`."""
        return _Output(partial(self._record, partition))

    def immediate(self, partition: str) -> WatermarkOutput:
        """Give the output whose watermarks are combined at once (rule 25)."""
        return _Output(partial(self._record_at_once, partition))

    def on_periodic_emit(self) -> None:
        """Combine what the partitions have recorded; forward the result if it is news (rule 21)."""
        candidate = min(self._partitions.values(), default=MIN)
        if advances(candidate, self._combined):
            self._combined = candidate
            self._forward(candidate)

    def _record(self, partition: str, watermark: int) -> bool:
        if not advances(watermark, self._partitions[partition]):
            return False
        self._partitions[partition] = watermark
        return True

    def _record_at_once(self, partition: str, watermark: int) -> None:
        if self._record(partition, watermark) and advances(watermark, self._combined):
            self.on_periodic_emit()


@dataclass(frozen=True)
class _Output:
    record: Callable[[int], object]

    def emit_watermark(self, watermark: int) -> None:
        self.record(watermark)
