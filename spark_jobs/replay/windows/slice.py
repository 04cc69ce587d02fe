"""A slice is a stretch of windows that a replay computes alone: their panes depend on no other slice (semantics B7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.semantics.windows.grid import grid, previous_start


@dataclass(frozen=True)
class Slice:
    """Windows whose start is in `[start_ms, end_ms)`; None is without bound.

    With `stretches_ms`, only the windows of these parts of `[start_ms, end_ms)`, which are in order and do not touch.

    A row that lies in several windows fills windows of several slices. It is counted, and is a late event, in the slice
    of its newest window alone. A row without a window belongs to the slice of the window before it.
    """

    name: str
    start_ms: int | None
    end_ms: int | None
    stretches_ms: tuple[tuple[int | None, int | None], ...] = ()

    @property
    def pieces_ms(self) -> tuple[tuple[int | None, int | None], ...]:
        """The stretches, each without a gap."""
        return self.stretches_ms or ((self.start_ms, self.end_ms),)

    def holds(self, window_ms: str) -> Column:
        """Return whether the window that starts at `window_ms`, milliseconds as SQL, is in the slice.

        Built as one text: each part of a condition of columns is a call of Java.
        """
        return F.expr(" or ".join(_holds(*piece, window_ms) for piece in self.pieces_ms))

    def meets(self, first_ms: Column, last_ms: Column) -> Column:
        """Return whether a millisecond from `first_ms` to `last_ms` is in the slice."""
        return reduce(Column.__or__, (_meets(*piece, first_ms, last_ms) for piece in self.pieces_ms))

    def cuts_at(self, window_ms: int) -> bool:
        """Return whether windows lie on both sides of a cut before the window that starts at `window_ms`."""
        return (self.start_ms is None or self.start_ms < window_ms) and (self.end_ms is None or window_ms < self.end_ms)

    def reaches_row(self, spec: Windows) -> Column:
        """Return whether a window of a prepared row is in the slice, or the window before a row that has none."""
        return self._reaches(c.TS_MS, c.WINDOW_MS, spec)

    def reaches_group(self, spec: Windows) -> Column:
        """Return whether `reaches_row` holds for the rows of a census group."""
        return self._reaches("slice_ms", "window_ms", spec)

    def _reaches(self, ts_ms: str, newest_ms: str, spec: Windows) -> Column:
        if not spec.is_sliding:
            return self.holds(newest_ms)
        newest = F.col(newest_ms)
        return self.meets(F.least(window_assigners.oldest_ms(F.col(ts_ms), spec), newest), newest)

    def windows_between(self, oldest_ms: Column, newest_ms: Column, spec: Windows) -> Column:
        """Count the windows from `oldest_ms` to `newest_ms` that are in the slice."""
        counts = [_windows_between(*piece, oldest_ms, newest_ms, spec) for piece in self.pieces_ms]
        return reduce(Column.__add__, counts)


#: All windows in one slice.
EVERYTHING = Slice("all", None, None)


def oldest_window_ms(spec: Windows) -> Column:
    """Start of the oldest window of a prepared row; its newest is `WINDOW_MS`."""
    return window_assigners.oldest_ms(F.col(c.TS_MS), spec)


def _meets(start_ms: int | None, end_ms: int | None, first_ms: Column, last_ms: Column) -> Column:
    edges = [*([] if start_ms is None else [last_ms >= start_ms]), *([] if end_ms is None else [first_ms < end_ms])]
    return reduce(Column.__and__, edges) if edges else F.lit(True)


def _holds(start_ms: int | None, end_ms: int | None, window_ms: str) -> str:
    edges = {">=": start_ms, "<": end_ms}
    inside = [f"{window_ms} {sign} {edge}L" for sign, edge in edges.items() if edge is not None]
    return f"({' and '.join(inside) or 'true'})"


def _windows_between(
    start_ms: int | None, end_ms: int | None, oldest_ms: Column, newest_ms: Column, spec: Windows
) -> Column:
    oldest = oldest_ms if start_ms is None else F.greatest(oldest_ms, F.lit(start_ms))
    newest = newest_ms if end_ms is None else F.least(newest_ms, F.lit(previous_start(end_ms, grid(spec))))
    return window_assigners.count_between(oldest, newest, spec)
