"""Comparisons of a watermark with another watermark; comparisons with windows and rows are in `windows.lateness`.

    advances        watermark > current                     only strictly larger values are news (rule 4)
    has caught up   watermark >= combined                   a channel counts again after idleness (rule 37)
    is ahead        watermark > minimum + max drift         a partition waits for its group (rule 98)

All in milliseconds.
"""

from __future__ import annotations

from spark_jobs.semantics.rows.instants import clamped_add


def advances(watermark: int, current: int) -> bool:
    """Return True if a watermark is higher than the current one: only strictly larger values count (rule 4)."""
    return watermark > current


def has_caught_up(watermark: int, combined: int) -> bool:
    """Return True if a channel that was idle is not behind the combined watermark, and counts again (rule 37)."""
    return watermark >= combined


def is_ahead(watermark: int, group_minimum: int, max_drift_ms: int) -> bool:
    """Return True if a partition has to wait for the slowest of its group (rule 98, strictly)."""
    return watermark > clamped_add(group_minimum, max_drift_ms)
