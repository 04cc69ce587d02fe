"""The condition that an interval contains a window, on a column of window starts."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables.interval import Interval


def holds(interval: Interval, window_start: str) -> Column:
    """Return the condition that `interval` contains the window that starts at `window_start`, a TIMESTAMP as SQL.

    Built as one text: each part of a condition of columns is a call of Java, and an interval may have many stretches.
    """
    return F.expr(" or ".join(_holds(piece, window_start) for piece in interval.pieces))


def _holds(piece: Interval, window_start: str) -> str:
    edges = {">=": piece.start, "<": piece.end}
    inside = [
        f"{window_start} {sign} timestamp_micros({(edge - EPOCH) // timedelta(microseconds=1)}L)"
        for sign, edge in edges.items()
        if edge is not None
    ]
    return f"({' and '.join(inside) or 'true'})"
