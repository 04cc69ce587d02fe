"""Alignment keeps partitions that share no clock from running apart: who is far ahead of the slowest waits for it.

    w_p              the watermark of partition p at the beginning of a round
    group minimum    the least w_p of the partitions that have rows left; who is still at MIN reports nothing
    p waits          iff w_p > group minimum + max drift (strictly); without a group minimum nobody does

Who has read all its rows holds up nobody. The partition that the group minimum comes from never waits, so each round
gets on. What is recorded is the drift that each partition has really reached: the largest w_p - group minimum at the
beginning of a round, which may lie above max drift by what one round brings. Rules 98, 99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import is_ahead


@dataclass(frozen=True)
class Drift:
    """How far a partition ran ahead.

    `rounds` began while it had rows left, and in `paused_rounds` of them it waited; `max_drift_ms` is None if it had no
    watermark at the beginning of any.
    """

    source_partition: str
    max_drift_ms: int | None
    paused_rounds: int
    rounds: int


class AlignmentGroup:
    """The partitions of a source; without `max_drift_ms` nobody waits, and drift is recorded all the same."""

    def __init__(self, max_drift_ms: int | None) -> None:
        self._max_drift_ms = max_drift_ms
        self._drift: dict[str, Drift] = {}

    @property
    def drift(self) -> list[Drift]:
        """What each partition has reached so far, by label; none of those that never had a row."""
        return [self._drift[partition] for partition in sorted(self._drift)]

    def reading(self, watermarks: Mapping[str, int]) -> list[str]:
        """Begin a round: of the partitions that have rows left, with their watermarks, give who reads, by label."""
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
