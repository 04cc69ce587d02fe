"""Lateness is where a row's window stands against the watermark before the row; every comparison with one is here.

With `last` the window's last instant, L the allowed lateness, W the watermark before the row, all in milliseconds:

    cleanup = min(last + L, MAX)
    on time    W < last
    late       last <= W < cleanup
    too late   cleanup <= W

The window is judged, not the row: a row behind the watermark is on time while its window is open. At L = 0 nothing is
late, since a window that has fired is gone. A row is dropped when all its windows are too late for it, or it has none;
what is dropped is reported as too late only if

    ts + L <= W

which a row with windows always fulfils. A join has no windows and judges the row itself: late if ts < W. Rules 4,
50-55, 60-65, 91.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from spark_jobs.semantics.rows.instants import clamped_add
from spark_jobs.semantics.windows.window_assigners import TimeWindow


class Lateness(Enum):
    """How a window sees a row."""

    ON_TIME = "on_time"
    LATE = "late"
    TOO_LATE = "too_late"


def cleanup_time(window: TimeWindow, allowed_lateness_ms: int) -> int:
    """Give the watermark at which the window's state goes (rule 50)."""
    return clamped_add(window.last, allowed_lateness_ms)


def is_complete(window: TimeWindow, watermark: int) -> bool:
    """Say whether the window has fired at this watermark, or fires now (rules 2, 60)."""
    return watermark >= window.last


def is_closed(window: TimeWindow, allowed_lateness_ms: int, watermark: int) -> bool:
    """Say whether the window's state is gone at this watermark (rule 51)."""
    return cleanup_time(window, allowed_lateness_ms) <= watermark


def is_due(timer: int, watermark: int) -> bool:
    """Say whether a timer runs at this watermark (rule 61)."""
    return timer <= watermark


def judge(window: TimeWindow, allowed_lateness_ms: int, watermark: int) -> Lateness:
    """Say how the window sees a row that comes when the watermark is `watermark`."""
    if is_closed(window, allowed_lateness_ms, watermark):
        return Lateness.TOO_LATE
    return Lateness.LATE if is_complete(window, watermark) else Lateness.ON_TIME


def is_behind(ts: int, allowed_lateness_ms: int, watermark: int) -> bool:
    """Say whether a row that no window took is reported as too late (rule 53)."""
    return ts + allowed_lateness_ms <= watermark


def is_behind_strictly(ts: int, watermark: int) -> bool:
    """Say whether a row is late for a join (rule 91); one at the watermark is not."""
    return ts < watermark


def fate(seen: Collection[Lateness], ts: int, allowed_lateness_ms: int, watermark: int) -> Lateness | None:
    """Give the best of how a row's windows saw it; for a row without windows too late, or None if it just vanishes.

    A row is too late only if no window took it (rules 52, 53).
    """
    if seen:
        return min(seen, key=list(Lateness).index)
    return Lateness.TOO_LATE if is_behind(ts, allowed_lateness_ms, watermark) else None
