"""Shares of the rows that belong to a window: how many came late, how many came too late, how complete results are.

    rows in windows = on time + late + too late
    late ratio = late / rows in windows        too late ratio = too late / rows in windows
    completeness = 1 - too late ratio

Rows that came for windows which were closed before the run count as too late, as they do for `max_too_late_ratio`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratios:
    """The rows of a run that belong to a window, by fate."""

    on_time: int
    late: int
    too_late: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Ratios | None:
        """Return the ratios of a run's counts; None if its rows were not counted, or none belongs to a window."""
        if "on_time" not in counts:
            return None
        too_late = counts.get("too_late", 0) + counts.get("too_late_behind", 0)
        ratios = cls(counts["on_time"], counts.get("late", 0), too_late)
        return ratios if ratios.in_windows else None

    @property
    def in_windows(self) -> int:
        """Rows that belong to a window."""
        return self.in_results + self.too_late

    @property
    def in_results(self) -> int:
        """Rows that a window took."""
        return self.on_time + self.late

    @property
    def late_ratio(self) -> float:
        """In [0, 1]."""
        return self.late / self.in_windows

    @property
    def too_late_ratio(self) -> float:
        """In [0, 1]."""
        return self.too_late / self.in_windows

    @property
    def completeness(self) -> float:
        """In [0, 1]."""
        return self.in_results / self.in_windows
