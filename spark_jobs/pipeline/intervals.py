"""Intervals: a range of window starts, cut into pieces of one length that cut no window.

    cut([a, b), n windows) = [c0, c1), [c1, c2), ..., [ck, b)      c0 = a, and n windows start in [ci, ci+1)

The last interval may be shorter. Bounds are milliseconds since 1970, the first inclusive, the second exclusive. Days of
windows on a zone's clock are days of that clock, so an interval of one day may have 23 or 25 hours.
"""

from __future__ import annotations

from itertools import pairwise

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.windows.grid import FixedGrid, Grid, grid, newest_start, next_start

#: Airflow makes no more tasks of one by default than 1024.
MOST_INTERVALS = 1000


class IntervalsError(ValueError):
    """A range that cannot be cut as requested; `bound` is the wrong value: `start`, `end` or `every`."""

    def __init__(self, bound: str, message: str) -> None:
        super().__init__(message)
        self.bound = bound


def cut(start_ms: int, end_ms: int, every_ms: int, pipeline: Pipeline) -> list[tuple[int, int]]:
    """Cut [start_ms, end_ms) into intervals of `every_ms`, the oldest first. Raises IntervalsError."""
    starts, period_ms = _starts(pipeline)
    for bound, at in (("start", start_ms), ("end", end_ms)):
        _require_start(bound, at, starts)
    if every_ms < period_ms or every_ms % period_ms:
        raise IntervalsError(
            "every",
            f"found {format_duration(every_ms)}, but windows begin every {format_duration(period_ms)}; "
            "write a multiple of this",
        )
    first, last, step = starts.number(start_ms), starts.number(end_ms - 1), every_ms // period_ms
    count = (last - first) // step + 1
    if count > MOST_INTERVALS:
        raise IntervalsError(
            "every",
            f"found {format_duration(every_ms)}, which makes {count:,} intervals of this range, and at most "
            f"{MOST_INTERVALS:,} are allowed; write a longer one, or a shorter range",
        )
    cuts = [start_ms, *(starts.start(number) for number in range(first + step, last + 1, step)), end_ms]
    # If a zone's clock skips a day, two numbers have one start.
    return [(start, end) for start, end in pairwise(cuts) if start < end]


def _starts(pipeline: Pipeline) -> tuple[Grid, int]:
    """Return where windows start, and how far apart they are. Without a grid, each millisecond is a start."""
    windows = pipeline.windows
    return (grid(windows), windows.period_ms) if windows.kind.has_grid else (FixedGrid(1), 1)


def _require_start(bound: str, at: int, starts: Grid) -> None:
    below = newest_start(at, starts)
    if below != at:
        above = format_duration(next_start(below, starts) - at)
        raise IntervalsError(
            bound, f"cuts a window, which begins {format_duration(at - below)} earlier; the next begins {above} later"
        )
