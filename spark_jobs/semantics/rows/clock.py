"""The arrival clock shows the arrival time that a replay has reached: the time of the last row or emission.

It is the only clock of a replay. Where streaming code uses processing time (a time lag, an idle timeout), a replay uses
this clock, in whole milliseconds. A replay therefore has the same results on any day. Rules 18, 34.
"""

from __future__ import annotations

from spark_jobs.semantics.rows.instants import floor_to_ms


class ArrivalClock:
    """Where the replay is, in microseconds since 1970; before the first row it shows 0, which no rule reads."""

    def __init__(self) -> None:
        self.now_us = 0

    @property
    def now_ms(self) -> int:
        """The same in milliseconds, floored."""
        return floor_to_ms(self.now_us)

    def advance_to(self, clock_us: int) -> None:
        """Move on to the next row or emission."""
        self.now_us = clock_us
