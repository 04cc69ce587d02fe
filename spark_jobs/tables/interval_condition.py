"""The condition that an interval contains a window, on a column of window starts."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.tables.interval import Interval


def holds(interval: Interval, window_start: Column) -> Column:
    """Return the condition that `interval` contains the window that starts at `window_start`, a TIMESTAMP."""
    return reduce(Column.__or__, (_holds(piece, window_start) for piece in interval.pieces))


def _holds(piece: Interval, window_start: Column) -> Column:
    is_inside = F.lit(True)
    if piece.start is not None:
        is_inside = is_inside & (window_start >= F.lit(piece.start))
    if piece.end is not None:
        is_inside = is_inside & (window_start < F.lit(piece.end))
    return is_inside
