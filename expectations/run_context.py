"""The context of a run: what its results are plausible or implausible beside, and its staged tables do not contain.

It is measured by the audit step, where the lake and the census of the run are at hand. The suite `plausibility` judges
it. Without a context nothing is implausible.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True)
class RunContext:
    """What surrounds a run.

    - `is_whole`: the run covers all of time, from the first row on;
    - `timed_rows`: valid rows with a time of arrival;
    - `far_behind_rows`: those whose event time is earlier than their arrival by more than `quality.max_arrival_lag`;
    - `newest_event_ms`, `newest_arrival_ms`: of the timed rows, since 1970; None without such a row;
    - `replaced_rows`: rows (for a join, pairs) in the published results that the run replaces; None without results;
    - `untouched_rows`: those in the other published results, if the run computes only what changes affect.
    """

    is_whole: bool = False
    timed_rows: int = 0
    far_behind_rows: int = 0
    newest_event_ms: int | None = None
    newest_arrival_ms: int | None = None
    replaced_rows: int | None = None
    untouched_rows: int = 0

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
