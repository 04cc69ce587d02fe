"""Local time in SQL: window starts by the clock of a zone, from Spark's date functions.

shown    the time on the clock, as milliseconds since 1970-01-01 00:00
moment   the timestamp at which the clock shows a time
"""

from __future__ import annotations

from spark_jobs.pipeline.model import Windows


def clock_time(timestamp: str, windows: Windows) -> str:
    """Return SQL for the time that the clock shows at a timestamp."""
    return f"unix_millis(from_utc_timestamp({timestamp}, '{windows.timezone}'))"


def clock_start(timestamp: str, windows: Windows) -> str:
    """Return SQL for the start, on the clock, of the window that starts at a timestamp.

    At the start of a window the clock may show a later time: it skips the start then.
    """
    at = clock_time(timestamp, windows)
    return f"({at} - pmod({at} - ({windows.offset_ms}), {windows.period_ms}))"


def moment(time: str, windows: Windows) -> str:
    """Return SQL for the timestamp at which the clock shows a time."""
    return f"to_utc_timestamp(timestamp_millis({time}), '{windows.timezone}')"


def moved(timestamp: str, by_ms: str, windows: Windows) -> str:
    """Return SQL for the window start `timestamp`, moved by `by_ms` on the clock."""
    return moment(f"{clock_start(timestamp, windows)} + ({by_ms})", windows)
