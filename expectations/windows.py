"""Windows in SQL: the invariants of a row's window, for every table that has windows (rules 40, 41).

For some integer k:  window_start = offset + k * period,  window_end = window_start + size.  The period of sliding
windows is their slide, of other windows their size. Local windows follow it on the clock of a zone (`local_time`).

Sessions have no grid: a session is at least as long as the gap (rule 44). Two sessions of one key may have the same
start and different ends.
"""

from __future__ import annotations

from expectations import local_time
from expectations.invariant import Invariant
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline, Windows


def bounds(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the columns that identify a window of a key."""
    return ("window_start", "window_end") if pipeline.windows.is_session else ("window_start",)


def invariants(pipeline: Pipeline, *, selected: str = "true") -> tuple[Invariant, ...]:
    """Return the invariants of `window_start` and `window_end`, for the rows that satisfy the condition `selected`."""
    if pipeline.windows.is_session:
        return (_no_shorter_than_the_gap(pipeline.windows.gap_ms, selected),)
    if pipeline.windows.are_local:
        return _by_the_clock(pipeline.windows, selected)
    size, period, offset = pipeline.windows.size_ms, pipeline.windows.period_ms, pipeline.windows.offset_ms
    step = "slides" if pipeline.windows.is_sliding else "sizes"
    whole = "unix_micros(window_start) % 1000 = 0"
    return (
        Invariant(
            "windows_lie_on_the_grid",
            f"Every window starts at the offset ({offset:,} ms) plus a whole number of {step} ({period:,} ms).",
            f"NOT ({selected}) OR ({whole} AND pmod(unix_millis(window_start) - ({offset}), {period}) = 0)",
        ),
        Invariant(
            "windows_are_as_long_as_declared",
            f"Every window ends {size:,} ms after its start.",
            f"NOT ({selected}) OR unix_micros(window_end) - unix_micros(window_start) = {size} * 1000L",
        ),
    )


def window_starts(pipeline: Pipeline) -> str:
    """Return SQL for the starts of all windows of a row. Its newest window starts at `window_start`."""
    if pipeline.windows.are_local:
        return _local_starts(pipeline.windows)
    size, period = pipeline.windows.size_ms, pipeline.windows.period_ms
    older = f"({size} - 1 - (unix_millis(event_time) - unix_millis(window_start))) div {period}"
    return f"transform(sequence(0, {older}), k -> timestamp_millis(unix_millis(window_start) - k * {period}))"


def _by_the_clock(windows: Windows, selected: str) -> tuple[Invariant, ...]:
    period, size = format_duration(windows.period_ms), format_duration(windows.size_ms)
    clock = f"on the clock of {windows.timezone}"
    start, end = (
        local_time.moved("window_start", "0", windows),
        local_time.moved("window_start", str(windows.size_ms), windows),
    )
    return (
        Invariant(
            "windows_lie_on_the_grid",
            f"Every window starts at the offset plus a whole number of times {period}, {clock}.",
            f"NOT ({selected}) OR window_start = {start}",
        ),
        Invariant(
            "windows_are_as_long_as_declared",
            f"Every window ends {size} after its start, {clock}.",
            f"NOT ({selected}) OR window_end = {end}",
        ),
    )


def _local_starts(windows: Windows) -> str:
    size, period = windows.size_ms, windows.period_ms
    end = local_time.moved("window_start", f"{size} - k * {period}", windows)
    start = local_time.moved("window_start", f"-k * {period}", windows)
    own = f"filter(sequence(0, {size} div {period}), k -> {end} > event_time)"
    return f"array_distinct(transform({own}, k -> {start}))"


def _no_shorter_than_the_gap(gap_ms: int, selected: str) -> Invariant:
    whole = "unix_micros(window_start) % 1000 = 0 AND unix_micros(window_end) % 1000 = 0"
    return Invariant(
        "sessions_are_no_shorter_than_the_gap",
        f"Every session ends {gap_ms:,} ms after its start, or later.",
        f"NOT ({selected}) OR ({whole} AND unix_millis(window_end) - unix_millis(window_start) >= {gap_ms})",
    )
