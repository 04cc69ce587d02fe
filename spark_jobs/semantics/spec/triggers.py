"""A trigger declares when a window fires."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TriggerKind(StrEnum):
    """What makes a window fire (rules 60, 69, 70)."""

    EVENT_TIME = "event_time"
    CONTINUOUS = "continuous"
    COUNT = "count"


@dataclass(frozen=True)
class Trigger:
    """When windows fire: `interval_ms` belongs to CONTINUOUS, `n` to COUNT."""

    kind: TriggerKind = TriggerKind.EVENT_TIME
    interval_ms: int = 0
    n: int = 0

    @property
    def is_default(self) -> bool:
        """True if windows fire by the watermark at their end, and at each late row (rule 60)."""
        return self.kind is TriggerKind.EVENT_TIME

    @property
    def is_continuous(self) -> bool:
        """True if windows also fire at every interval of event time before their end (rule 69)."""
        return self.kind is TriggerKind.CONTINUOUS

    @property
    def counts_rows(self) -> bool:
        """True if windows fire at rows alone, so that rows may stay in no pane (rule 70)."""
        return self.kind is TriggerKind.COUNT
