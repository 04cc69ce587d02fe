"""Short explanations: why a row was too late and what would have saved it, and the same for a window, in sentences.

    closed    window_end - 1 ms + allowed lateness: the watermark that ends the state of a window (rule 51)
    needed    watermark - window_end + 2 ms: the least allowed lateness with which a row would have counted

A bound greater by needed - allowed lateness has the same effect, since then every watermark is earlier by that. A
session row may need less, because it may merge with an older session. All times are milliseconds.
"""

from __future__ import annotations

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.report.data import LateRow, ReportData, TooLateWindow
from spark_jobs.report.text import counted, duration, instant


def of_row(row: LateRow, data: ReportData) -> str:
    """Return why a row was too late, and the settings with which it would have counted."""
    if row.window_end_ms is None:
        return _without_window(row, data)
    return f"{_past('Its window', row.window_end_ms, row.watermark_ms, data)} {_saved(row, row.window_end_ms, data)}"


def of_window(window: TooLateWindow, data: ReportData) -> str:
    """Return when the rows of a window came, and the allowed lateness that takes all of them."""
    closed_ms = window.window_end_ms - 1 + data.allowed_lateness_ms
    came = f"{counted(window.rows, 'row')} came behind watermark {instant(closed_ms)}, which ended the window's state"
    if window.first_ms is not None and window.last_ms is not None:
        first, last = instant(window.first_ms), instant(window.last_ms)
        came += f", at {first}" if first == last else f", from {first} to {last}"
    if window.watermark_ms is None:
        return f"{came}."
    lateness = format_duration(window.watermark_ms - window.window_end_ms + 2)
    return (
        f"{came}. The watermark was at most {instant(window.watermark_ms)} then. "
        f"An allowed lateness of {_at_most(data)}{lateness} takes {'it' if window.rows == 1 else 'all of them'}."
    )


def _past(subject: str, end_ms: int, watermark_ms: int, data: ReportData) -> str:
    closed_ms = end_ms - 1 + data.allowed_lateness_ms
    past_ms = watermark_ms - closed_ms
    distance = f"{duration(past_ms)} past that" if past_ms > 0 else "just that"
    return (
        f"{subject} closed at watermark {instant(closed_ms)}. "
        f"The watermark before the row was {instant(watermark_ms)}, {distance} (rule 51)."
    )


def _saved(row: LateRow, end_ms: int, data: ReportData) -> str:
    needed_ms = row.watermark_ms - end_ms + 2
    words = f"It would have counted with an allowed lateness of {_at_most(data)}{format_duration(needed_ms)}"
    if len(data.bounds_ms) != 1:
        return f"{words}."
    bound_ms = data.bounds_ms[0] + needed_ms - data.allowed_lateness_ms
    return f"{words}, or with a bound of {_at_most(data)}{format_duration(bound_ms)}."


def _without_window(row: LateRow, data: ReportData) -> str:
    behind = f"The watermark before the row was {duration(row.behind_ms)} ahead of its event time"
    if data.join is None or data.join.by_window:
        return f"{behind}, and no window contains that time (rule 53)."
    if data.join.is_as_of:
        return f"{behind}, so it counted only as far as its key allows (rule 104)."
    words = f"{behind}, so it joined nothing (rule 91)."
    if len(data.bounds_ms) != 1:
        return words
    return f"{words} It would have counted with a bound of {format_duration(data.bounds_ms[0] + row.behind_ms)}."


def _at_most(data: ReportData) -> str:
    return "at most " if data.merging else ""
