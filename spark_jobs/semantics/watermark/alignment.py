"""Alignment keeps partitions without a common clock together: a partition far ahead of the slowest one waits.

    w_p              the watermark of partition p at the beginning of a round
    group minimum    the least w_p of the partitions that have rows left, without those at MIN
    p waits          iff w_p > group minimum + max drift (strictly); without a group minimum no partition waits

A partition that has read all its rows delays no other. The partition with the group minimum never waits, so every round
reads rows. The recorded drift is the drift that a partition reached: the largest w_p - group minimum at the beginning
of a round. It may exceed max drift by the rows of one round. Rules 98, 99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import is_ahead


@dataclass(frozen=True)
class Drift:
    """How far a partition ran ahead.

    `rounds` began while it had rows left, and in `paused_rounds` of them it waited. `max_drift_ms` is None if it had no
    watermark at the beginning of any round.
    """

    source_partition: str
    max_drift_ms: int | None
    paused_rounds: int
    rounds: int


class AlignmentGroup:
    """The partitions of a source; without `max_drift_ms` no partition waits, and drift is still recorded."""

    def __init__(self, max_drift_ms: int | None) -> None:
        self._max_drift_ms = max_drift_ms
        self._drift: dict[str, Drift] = {}

    @property
    def drift(self) -> list[Drift]:
        """The drift of each partition that has had rows, by label."""
        return [self._drift[partition] for partition in sorted(self._drift)]

    def reading(self, watermarks: Mapping[str, int]) -> list[str]:
        """Begin a round; return the labels of the partitions that read, of those with rows left in `watermarks`."""
        minimum = min((watermark for watermark in watermarks.values() if watermark != MIN), default=MIN)
        waiting = {p for p, watermark in watermarks.items() if self._waits(watermark, minimum)}
        for partition, watermark in watermarks.items():
            self._record(partition, None if watermark == MIN else watermark - minimum, waits=partition in waiting)
        return sorted(watermarks.keys() - waiting)

    def _waits(self, watermark: int, minimum: int) -> bool:
        return self._max_drift_ms is not None and minimum != MIN and is_ahead(watermark, minimum, self._max_drift_ms)

    def _record(self, partition: str, drift_ms: int | None, *, waits: bool) -> None:
        before = self._drift.get(partition, Drift(partition, None, 0, 0))
        reached = [ms for ms in (before.max_drift_ms, drift_ms) if ms is not None]
        self._drift[partition] = Drift(
            partition, max(reached, default=None), before.paused_rounds + waits, before.rounds + 1
        )
