"""Windows in SQL: the invariants that every row with a window obeys, whatever table it is in (rules 40, 41).

With a whole k:  window_start = offset + k * period,  window_end = window_start + size; the period is the slide of
sliding windows, the size of others. A session has no grid: it is as long as the gap, or longer (rule 44), and windows
of one key may begin together and end apart.
"""

from __future__ import annotations

from expectations.invariant import Invariant
from spark_jobs.pipeline.model import Pipeline


def bounds(pipeline: Pipeline) -> tuple[str, ...]:
    """The columns that tell a key's windows apart."""
    return ("window_start", "window_end") if pipeline.windows.is_session else ("window_start",)


def invariants(pipeline: Pipeline, *, where: str = "true") -> tuple[Invariant, ...]:
    """The invariants about `window_start` and `window_end` of the rows that `where` selects."""
    if pipeline.windows.is_session:
        return (_no_shorter_than_the_gap(pipeline.windows.gap_ms, where),)
    size, period, offset = pipeline.windows.size_ms, pipeline.windows.period_ms, pipeline.windows.offset_ms
    each = "slides" if pipeline.windows.is_sliding else "sizes"
    whole = "unix_micros(window_start) % 1000 = 0"
    return (
        Invariant(
            "windows_lie_on_the_grid",
            f"Every window starts at the offset ({offset:,} ms) plus a whole number of {each} ({period:,} ms).",
            f"NOT ({where}) OR ({whole} AND pmod(unix_millis(window_start) - ({offset}), {period}) = 0)",
        ),
        Invariant(
            "windows_are_as_long_as_declared",
            f"Every window ends {size:,} ms after its start.",
            f"NOT ({where}) OR unix_micros(window_end) - unix_micros(window_start) = {size} * 1000L",
        ),
    )


def of_row(pipeline: Pipeline) -> str:
    """SQL for the starts of all windows of a row with `event_time` whose newest starts at `window_start`."""
    size, period = pipeline.windows.size_ms, pipeline.windows.period_ms
    older = f"({size} - 1 - (unix_millis(event_time) - unix_millis(window_start))) div {period}"
    return f"transform(sequence(0, {older}), k -> timestamp_millis(unix_millis(window_start) - k * {period}))"


def _no_shorter_than_the_gap(gap_ms: int, where: str) -> Invariant:
    whole = "unix_micros(window_start) % 1000 = 0 AND unix_micros(window_end) % 1000 = 0"
    return Invariant(
        "sessions_are_no_shorter_than_the_gap",
        f"Every session ends {gap_ms:,} ms after its start, or later.",
        f"NOT ({where}) OR ({whole} AND unix_millis(window_end) - unix_millis(window_start) >= {gap_ms})",
    )
