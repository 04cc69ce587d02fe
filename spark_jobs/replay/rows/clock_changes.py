"""Clock changes: whether a window may start at a time that a zone's clock skips, or shows twice.

Law: at the instant T a clock changes from the offset a to the offset b. It skips or repeats the times between T + a and
T + b. If no window starts strictly between them, the shown date alone gives the window. A change by a whole day or
more may skip a window.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from functools import lru_cache

from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.rows.text_times import zone
from spark_jobs.semantics.spec.times import DAY_MS

# The rules of zones repeat in later years.
_FIRST_DAY = (datetime(1800, 1, 1) - datetime(1970, 1, 1)) // timedelta(days=1)  # noqa: DTZ001 - a number of days
_LAST_DAY = (datetime(2200, 1, 1) - datetime(1970, 1, 1)) // timedelta(days=1)  # noqa: DTZ001 - a number of days


@lru_cache
def meet_window_starts(timezone: str, offset_ms: int) -> bool:
    """Return whether a clock change skips or repeats a time `offset_ms` after a midnight, or skips a whole day."""
    return any(
        abs(after - before) >= DAY_MS or _is_between(offset_ms, at + before, at + after)
        for at, before, after in _changes(zone(timezone))
    )


def _is_between(offset_ms: int, low: int, high: int) -> bool:
    low, high = min(low, high), max(low, high)
    following = low + 1 + (offset_ms - low - 1) % DAY_MS
    return following < high


def _changes(clock: tzinfo) -> list[tuple[int, int, int]]:
    """Return the instants at which the clock changes, to the millisecond, and the offsets before and after."""
    changes, before = [], _offset(_FIRST_DAY * DAY_MS, clock)
    for day in range(_FIRST_DAY, _LAST_DAY):
        after = _offset((day + 1) * DAY_MS, clock)
        if after != before:
            changes.append((_change(day * DAY_MS, (day + 1) * DAY_MS, before, clock), before, after))
        before = after
    return changes


def _change(low: int, high: int, before: int, clock: tzinfo) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(middle, clock) == before else (low, middle)
    return high


def _offset(ts: int, clock: tzinfo) -> int:
    offset = (EPOCH + timedelta(milliseconds=ts)).astimezone(clock).utcoffset() or timedelta()
    return offset // timedelta(milliseconds=1)
