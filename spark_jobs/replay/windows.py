"""Tumbling windows `[s, e)` on columns: `s = ts - floorMod(ts - offset, size)`, `e = s + size`, `last = e - 1`.

All in milliseconds; rule 40. `pmod` is floorMod: never negative, so windows before 1970 are right too. For sessions a
row brings the window `[ts, ts + gap)` (rule 44); what becomes of it is in `replay.sessions`.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Windows

SESSION = "session"

_FOREVER_MS = 2**61


def start_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the window that holds `ts_ms`, of a session the one that the row brings; null for null."""
    if windows.kind == SESSION:
        return ts_ms
    return ts_ms - F.pmod(ts_ms - F.lit(windows.offset_ms), F.lit(windows.size_ms))


def length_ms(windows: Windows) -> int:
    """How long the window is that a row brings: `[start, start + length)`."""
    return windows.gap_ms if windows.kind == SESSION else windows.size_ms


def last_ms(window_ms: Column, windows: Windows) -> Column:
    """The last millisecond of the window that starts at `window_ms`: the watermark that fires it."""
    return window_ms + F.lit(windows.size_ms - 1)


def cleanup_ms(window_ms: Column, windows: Windows) -> Column:
    """The watermark that ends the window's state (rule 50)."""
    # The cut keeps the sum from overflowing and lies far beyond every time that a table can hold.
    return last_ms(window_ms, windows) + F.lit(min(windows.allowed_lateness_ms, _FOREVER_MS))


def latest_with_last_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Start of the latest window that a watermark fires: the greatest `s` with `s + size - 1 <= watermark`."""
    return start_ms(watermark_ms - F.lit(windows.size_ms - 1), windows)


def latest_with_cleanup_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Start of the latest window whose state a watermark ends: the greatest `s` with `cleanup(s) <= watermark`."""
    return latest_with_last_ms(watermark_ms - F.lit(min(windows.allowed_lateness_ms, _FOREVER_MS)), windows)
