"""The context of a run: what its results are plausible or implausible beside, and its staged tables do not contain.

It is measured by the audit step, where the lake and the census of the run are at hand. The suite `plausibility` judges
it. Without a context nothing is implausible.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds


@dataclass(frozen=True)
class RunContext:
    """What surrounds a run.

    - `is_whole`: the run covers all of time, from the first row on;
    - `timed_rows`: valid rows with a time of arrival;
    - `far_behind_rows`: those whose event time is earlier than their arrival by more than `quality.max_arrival_lag`;
    - `newest_event_ms`, `newest_arrival_ms`: of the timed rows, since 1970; None without such a row;
    - `replaced_rows`: rows (for a join, pairs) in the published results that the run replaces; None without results;
    - `untouched_rows`: those in the other published results, if the run computes only what changes affect;
    - `stretches`: the parts of time of a run that leaves windows between them alone, in order; none for other runs.
    """

    is_whole: bool = False
    timed_rows: int = 0
    far_behind_rows: int = 0
    newest_event_ms: int | None = None
    newest_arrival_ms: int | None = None
    replaced_rows: int | None = None
    untouched_rows: int = 0
    stretches: tuple[Interval, ...] = ()

    def stretch_end(self, window_start: Column) -> Column:
        """Return the end of the stretch of the window, a TIMESTAMP; null in the last one if it is open, or without any.

        The window belongs to a stretch.
        """
        ends = [F.lit(stretch.end) for stretch in self.stretches if stretch.end is not None]
        if not ends:
            return F.lit(None).cast("timestamp")
        return F.array_min(F.filter(F.array(*ends), lambda end: end > window_start))

    def covers(self, window_start: str) -> Column:
        """Return whether no stretch leaves out the window that starts at `window_start`, a TIMESTAMP as SQL."""
        return holds(Interval(stretches=self.stretches), window_start)

    def columns(self) -> dict[str, Column]:
        """Return the columns that a suite adds to its one row: LONG, with null for None; `is_whole` is BOOLEAN."""
        numbers = (
            *("timed_rows", "far_behind_rows", "newest_event_ms", "newest_arrival_ms"),
            *("replaced_rows", "untouched_rows"),
        )
        return {
            "is_whole": F.lit(self.is_whole),
            **{name: F.lit(getattr(self, name)).cast("long") for name in numbers},
        }
