"""Lateness in SQL: where a watermark stands against a window. Every comparison of the two in an invariant is here.

With `last = window_end - 1 ms`, L the allowed lateness and W the watermark, in milliseconds:

    complete   last <= W          the window fires, or has fired
    closed     last + L <= W      the window's state is gone

Written as differences: `last + L` may lie beyond the largest long (it is clamped there), `W - last` cannot.
"""

from __future__ import annotations

LAST_MS = "(unix_millis(window_end) - 1)"


def is_complete(watermark: str = "watermark") -> str:
    """Condition: the window fires at `watermark`, a TIMESTAMP column, or has fired before (rules 2, 60)."""
    return f"unix_millis({watermark}) >= {LAST_MS}"


def is_closed(allowed_lateness_ms: int, watermark: str = "watermark") -> str:
    """Condition: no row can enter the window any more at `watermark` (rule 51)."""
    return f"unix_millis({watermark}) - {LAST_MS} >= {allowed_lateness_ms}"
