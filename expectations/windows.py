"""Windows in SQL: the laws that every row with a window obeys, whatever table it is in (rules 40, 41).

With a whole k:  window_start = offset + k * period,  window_end = window_start + size; the period is the slide of
sliding windows, the size of others.
"""

from __future__ import annotations

from expectations.law import Law
from spark_jobs.pipeline.model import Pipeline


def laws(pipeline: Pipeline, *, where: str = "true") -> tuple[Law, ...]:
    """The laws about `window_start` and `window_end` of the rows that `where` selects."""
    size, period, offset = pipeline.windows.size_ms, pipeline.windows.period_ms, pipeline.windows.offset_ms
    each = "slides" if overlap(pipeline) else "sizes"
    whole = "unix_micros(window_start) % 1000 = 0"
    return (
        Law(
            "windows_lie_on_the_grid",
            f"Every window starts at the offset ({offset:,} ms) plus a whole number of {each} ({period:,} ms).",
            f"NOT ({where}) OR ({whole} AND pmod(unix_millis(window_start) - ({offset}), {period}) = 0)",
        ),
        Law(
            "windows_are_as_long_as_declared",
            f"Every window ends {size:,} ms after its start.",
            f"NOT ({where}) OR unix_micros(window_end) - unix_micros(window_start) = {size} * 1000L",
        ),
    )


def overlap(pipeline: Pipeline) -> bool:
    """Say whether a row may have several windows, or none."""
    return pipeline.windows.kind == "sliding"


def have_gaps(pipeline: Pipeline) -> bool:
    """Say whether a row may have no window."""
    return pipeline.windows.period_ms > pipeline.windows.size_ms


def of_row(pipeline: Pipeline) -> str:
    """SQL for the starts of all windows of a row with `event_time` whose newest starts at `window_start`."""
    size, period = pipeline.windows.size_ms, pipeline.windows.period_ms
    older = f"({size} - 1 - (unix_millis(event_time) - unix_millis(window_start))) div {period}"
    return f"transform(sequence(0, {older}), k -> timestamp_millis(unix_millis(window_start) - k * {period}))"
