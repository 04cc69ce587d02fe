"""Lateness in SQL: all comparisons of a watermark with a window that invariants use.

With `last = window_end - 1 ms`, L the allowed lateness and W the watermark, in milliseconds:

    complete   last <= W          the window fires, or has fired
    closed     last + L <= W      the window's state is deleted

The conditions use differences: `last + L` may overflow a long (it is clamped), `W - last` cannot.
"""

from __future__ import annotations

LAST_MS = "(unix_millis(window_end) - 1)"


def is_complete(watermark: str = "watermark") -> str:
    """Return the condition that the window fires at `watermark`, a TIMESTAMP column, or earlier (rules 2, 60)."""
    return f"unix_millis({watermark}) >= {LAST_MS}"


def is_closed(allowed_lateness_ms: int, watermark: str = "watermark") -> str:
    """Return the condition that no further row can enter the window at `watermark`, a TIMESTAMP column (rule 51)."""
    return f"unix_millis({watermark}) - {LAST_MS} >= {allowed_lateness_ms}"
