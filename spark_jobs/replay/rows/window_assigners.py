"""Windows `[s, s + size)` on columns, tumbling and sliding: starts lie on the grid `offset + k * period`.

Law, with period = size for tumbling windows and the slide for sliding ones (rules 40, 41): the windows of `ts` start at

    oldest, oldest + period, ..., newest       newest = ts - floorMod(ts - offset, period)
                                               oldest = newest of (ts - size), + period

If the slide is longer than the size, an instant between two windows has none: its `oldest` is after its `newest`.
All values are milliseconds. `pmod` is floorMod, so windows before 1970 are right too.

A window slice is a stretch in which every instant has the same windows. With size = q * slide + r and 0 <= r < slide,
each start s of the grid has two slices. The first is empty for r = 0:

    [s, s + r)         q + 1 windows
    [s + r, s + slide) q windows

Windows by the clock of a zone (`local_windows`) have the same functions.

For sessions a row adds the window `[ts, ts + gap)` (rule 44), which `replay.sessions.session_components` merges.
"""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import FOREVER_MS, WindowKind, Windows
from spark_jobs.replay.rows import local_windows


def start_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the newest window that starts at `ts_ms` or before; `ts_ms` for sessions; null for null."""
    if windows.are_local:
        return local_windows.start_ms(ts_ms, windows)
    match windows.kind:
        case WindowKind.SESSION:
            return ts_ms
        case WindowKind.TUMBLING | WindowKind.SLIDING | WindowKind.NONE:
            return ts_ms - F.pmod(ts_ms - F.lit(windows.offset_ms), F.lit(windows.period_ms))
        case _:
            assert_never(windows.kind)


def oldest_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the oldest window that ends after `ts_ms`; an instant without windows has none up to its newest."""
    if not windows.is_sliding:
        return start_ms(ts_ms, windows)
    if windows.are_local:
        return local_windows.oldest_ms(ts_ms, windows)
    return start_ms(ts_ms - F.lit(windows.size_ms), windows) + F.lit(windows.period_ms)


def slice_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the window slice that holds `ts_ms`: itself an instant with the windows of the whole slice.

    Null for sessions: their windows differ by key, so event time has no slices.
    """
    if windows.is_session:
        return F.lit(None).cast("long")
    if windows.are_local:
        return local_windows.slice_ms(ts_ms, windows)
    newest = start_ms(ts_ms, windows)
    rest = F.lit(windows.size_ms % windows.period_ms)
    if windows.size_ms % windows.period_ms == 0:
        return newest
    return newest + F.when(ts_ms - newest >= rest, rest).otherwise(F.lit(0))


def starts_ms(oldest: Column, newest: Column, windows: Windows) -> Column:
    """Starts of the windows from `oldest` to `newest`, which is not before it: an array, oldest first."""
    if windows.are_local:
        return local_windows.starts_ms(oldest, newest, windows)
    return F.sequence(oldest, newest, F.lit(windows.period_ms))


def count_between(oldest: Column, newest: Column, windows: Windows) -> Column:
    """Return the number of windows that start from `oldest` to `newest`, two window starts."""
    if windows.are_local:
        return F.when(oldest <= newest, F.size(starts_ms(oldest, newest, windows))).otherwise(F.lit(0))
    period = F.lit(windows.period_ms)
    return F.greatest(F.call_function("div", newest - oldest, period) + F.lit(1), F.lit(0))


def next_ms(window_ms: Column, windows: Windows) -> Column:
    """Start of the window after the one that starts at `window_ms`."""
    if windows.are_local:
        return local_windows.next_ms(window_ms, windows)
    return window_ms + F.lit(windows.period_ms)


def end_ms(window_ms: Column, windows: Windows) -> Column:
    """Return the end of the window that starts at `window_ms`, exclusive; of a session, as its first row brings it."""
    if windows.are_local:
        return local_windows.end_ms(window_ms, windows)
    return window_ms + F.lit(windows.span_ms)


def last_ms(window_ms: Column, windows: Windows) -> Column:
    """Return the last millisecond of the window that starts at `window_ms`: the watermark that fires it."""
    return end_ms(window_ms, windows) - F.lit(1)


def cleanup_ms(window_ms: Column, windows: Windows) -> Column:
    """Return the watermark that ends the window's state (rule 50)."""
    return last_ms(window_ms, windows) + F.lit(_lateness_ms(windows))


def latest_with_last_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Start of the latest window that a watermark fires: the greatest `s` with `s + size - 1 <= watermark`."""
    if windows.are_local:
        return local_windows.latest_with_last_ms(watermark_ms, windows)
    return start_ms(watermark_ms - F.lit(windows.size_ms - 1), windows)


def latest_with_cleanup_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Start of the latest window whose state a watermark ends: the greatest `s` with `cleanup(s) <= watermark`."""
    return latest_with_last_ms(watermark_ms - F.lit(_lateness_ms(windows)), windows)


def latest_reported_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Return the latest event time of a too late row that is reported: `ts + lateness <= watermark` (rule 53)."""
    return watermark_ms - F.lit(_lateness_ms(windows))


def _lateness_ms(windows: Windows) -> int:
    # The cut keeps sums from overflowing.
    return min(windows.lateness_ms, FOREVER_MS)
