"""Lateness is the place of a row's window relative to the watermark before the row; all comparisons of both are here.

With `last` the window's last instant, L the allowed lateness, W the watermark before the row, all in milliseconds:

    cleanup = min(last + L, MAX)
    on time    W < last
    late       last <= W < cleanup
    too late   cleanup <= W

The window is judged, not the row: a row behind the watermark is on time while its window is open. At L = 0 no row is
late, since a window that has fired is gone. A row is dropped when all its windows are too late for it, or it has none.
A dropped row is reported as too late only if

    ts + L <= W

which is always true for a row with windows. A join by interval has no windows and judges the row itself: late if
ts < W. An as-of join does so too: late if ts <= W. Rules 4, 50-55, 60-65, 91, 104.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from spark_jobs.semantics.rows.instants import clamped_add
from spark_jobs.semantics.windows.window_assigners import TimeWindow


class Lateness(Enum):
    """The lateness of a row for one window."""

    ON_TIME = "on_time"
    LATE = "late"
    TOO_LATE = "too_late"


def cleanup_time(window: TimeWindow, allowed_lateness_ms: int) -> int:
    """Return the watermark at which the window's state is dropped (rule 50)."""
    return clamped_add(window.last, allowed_lateness_ms)


def is_complete(window: TimeWindow, watermark: int) -> bool:
    """Return True if the window has fired at this watermark, or fires now (rules 2, 60)."""
    return watermark >= window.last


def is_closed(window: TimeWindow, allowed_lateness_ms: int, watermark: int) -> bool:
    """Return True if the window's state is gone at this watermark (rule 51)."""
    return cleanup_time(window, allowed_lateness_ms) <= watermark


def is_due(timer: int, watermark: int) -> bool:
    """Return True if a timer runs at this watermark (rule 61)."""
    return timer <= watermark


def judge(window: TimeWindow, allowed_lateness_ms: int, watermark: int) -> Lateness:
    """Return the lateness for the window of a row that comes at this watermark."""
    if is_closed(window, allowed_lateness_ms, watermark):
        return Lateness.TOO_LATE
    return Lateness.LATE if is_complete(window, watermark) else Lateness.ON_TIME


def is_behind(ts: int, allowed_lateness_ms: int, watermark: int) -> bool:
    """Return True if a row that no window took is reported as too late (rule 53)."""
    return ts + allowed_lateness_ms <= watermark


def is_reached(ts: int, watermark: int) -> bool:
    """Return True if a row is late for an as-of join (rule 104); also one at the watermark is."""
    return ts <= watermark


def is_behind_strictly(ts: int, watermark: int) -> bool:
    """Return True if a row is late for a join (rule 91); one at the watermark is not."""
    return ts < watermark


def fate(verdicts: Collection[Lateness], ts: int, allowed_lateness_ms: int, watermark: int) -> Lateness | None:
    """Return the best lateness of a row's windows; without windows TOO_LATE, or None for an unassigned row.

    A row is too late only if no window took it (rules 52, 53).
    """
    if verdicts:
        return min(verdicts, key=list(Lateness).index)
    return Lateness.TOO_LATE if is_behind(ts, allowed_lateness_ms, watermark) else None
