"""Windows in SQL: the laws that every row with a window obeys, whatever table it is in (rule 40).

With a whole k:  window_start = offset + k * size,  window_end = window_start + size.
"""

from __future__ import annotations

from expectations.law import Law
from spark_jobs.pipeline.model import Pipeline


def laws(pipeline: Pipeline, *, where: str = "true") -> tuple[Law, ...]:
    """The laws about `window_start` and `window_end` of the rows that `where` selects."""
    size, offset = pipeline.windows.size_ms, pipeline.windows.offset_ms
    whole = "unix_micros(window_start) % 1000 = 0"
    return (
        Law(
            "windows_lie_on_the_grid",
            f"Every window starts at the offset ({offset:,} ms) plus a whole number of sizes ({size:,} ms).",
            f"NOT ({where}) OR ({whole} AND pmod(unix_millis(window_start) - ({offset}), {size}) = 0)",
        ),
        Law(
            "windows_are_as_long_as_declared",
            f"Every window ends {size:,} ms after its start.",
            f"NOT ({where}) OR unix_micros(window_end) - unix_micros(window_start) = {size} * 1000L",
        ),
    )
