"""Stages write the tables of one slice of windows, step by step; every kind of windows has its own stages.

    first_panes          panes that do not need late rows, unless `awaits_late_rows`
    late_rows            rows behind the firing of a window, kept
    late_events          computes `late_rows`
    more_panes           all other panes; needs `first_panes` and `late_rows`
    write_results        needs all panes
    write_complete       needs the results

Writes of one list may run side by side: what they share is computed when the list is accessed. The caller decides about
threads and processes, and accesses lists and `late_rows` from one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

#: The last word of the names of parts of `panes` that hold retractions and no panes.
RETRACTIONS = "retractions"

#: Writes a part of a table, or several one after another.
Write = Callable[[], None]


class Stages(Protocol):
    """The steps of one slice."""

    @property
    def awaits_late_rows(self) -> bool:
        """Whether `first_panes` read the late rows."""

    @property
    def late_rows(self) -> DataFrame:
        """The rows behind the firing of one of their windows; computed and kept at the first access."""

    @property
    def first_panes(self) -> Sequence[Write]:
        """Writes of the panes of rows that are on time."""

    @property
    def more_panes(self) -> Sequence[Write]:
        """Writes of all other panes, and of retractions."""

    @property
    def late_events(self) -> Sequence[Write]:
        """Writes of the rows that no window of the slice took."""

    def write_results(self) -> None:
        """Write the latest pane of every (key, window)."""

    def write_complete(self) -> None:
        """Write the results that all rows of the windows give, late or not."""
