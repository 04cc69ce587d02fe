"""The arrival clock shows the arrival time that a replay has reached: that of the last row or emission, never less.

It is the only clock there is. What streaming code does by processing time (a watermark that lags behind it, a source
that goes idle) is done by this clock, in whole milliseconds, so that a replay gives the same on any day. Rules 18, 34.
"""

from __future__ import annotations

from spark_jobs.semantics.rows.instants import floor_to_ms


class ArrivalClock:
    """Where the replay is, in microseconds since 1970; before the first row it shows 0 and nobody looks."""

    def __init__(self) -> None:
        self.now_us = 0

    @property
    def now_ms(self) -> int:
        """The same in milliseconds, floored."""
        return floor_to_ms(self.now_us)

    def advance_to(self, clock_us: int) -> None:
        """Move on to the next row or emission."""
        self.now_us = clock_us
