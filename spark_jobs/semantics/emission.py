"""An emission is when all partitions show their watermark; an epoch is the stretch of rows between two of them.

    every D, phase P   epoch = floor((clock_ms - P) / D); epoch k ends at (k + 1) * D + P, before the rows of that clock
    per_event          each row is an epoch, which ends at the row's clock
    every_n n          epoch = floor(rank / n), rank from 0; ends at the clock of its n-th row

Clocks are microseconds and never go back from row to row. No tick follows the last row unless the clock is known to
have gone on to it; a last group of fewer than n rows has no emission. Emissions of epochs without rows are left out: a
generator that looks at rows alone repeats itself there. Page section B3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spark_jobs.semantics.instants import floor_to_ms

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Emit


class EmissionClock(Protocol):
    """When emissions happen, asked row by row; every answer is the emission's clock in microseconds, or None."""

    def before(self, clock_us: int) -> int | None:
        """Give the emission between the row before and this one, at `clock_us`."""

    def after(self, clock_us: int) -> int | None:
        """Give the emission right after this row."""

    def at_end(self, until_us: int | None) -> int | None:
        """Give the emission after the last row, if the clock went on to `until_us` (inclusive)."""


class PerEvent:
    """An emission after each row."""

    def before(self, clock_us: int) -> int | None:
        """None: the row before has had its own."""
        return None

    def after(self, clock_us: int) -> int | None:
        """Emit at the row's clock."""
        return clock_us

    def at_end(self, until_us: int | None) -> int | None:
        """None: the clock alone emits nothing."""
        return None


class EveryN:
    """An emission after every n-th row."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"found an emission every {n} rows; it must be at least 1")
        self._n = n
        self._rows = 0

    def before(self, clock_us: int) -> int | None:
        """None: emissions follow rows."""
        return None

    def after(self, clock_us: int) -> int | None:
        """Emit if the row completes a group."""
        self._rows += 1
        return clock_us if self._rows % self._n == 0 else None

    def at_end(self, until_us: int | None) -> int | None:
        """None: a partial group has no emission."""
        return None


class Every:
    """An emission at each tick of a clock: `phase + k * interval`, in milliseconds."""

    def __init__(self, interval_ms: int, phase_ms: int) -> None:
        if interval_ms < 1:
            raise ValueError(f"found an emission every {interval_ms} ms; it must be at least 1 ms")
        self._interval_ms = interval_ms
        self._phase_ms = phase_ms
        self._epoch: int | None = None

    def before(self, clock_us: int) -> int | None:
        """Emit at the end of the earlier rows' epoch if this row is in a later one."""
        earlier, self._epoch = self._epoch, self.epoch(clock_us)
        return None if earlier is None or earlier == self._epoch else self._end_us(earlier)

    def after(self, clock_us: int) -> int | None:
        """None: ticks come before rows."""
        return None

    def at_end(self, until_us: int | None) -> int | None:
        """Emit at the end of the last row's epoch if the clock went that far."""
        if self._epoch is None or until_us is None or self.epoch(until_us) == self._epoch:
            return None
        return self._end_us(self._epoch)

    def epoch(self, clock_us: int) -> int:
        """Number the epoch that a clock lies in."""
        return (floor_to_ms(clock_us) - self._phase_ms) // self._interval_ms

    def _end_us(self, epoch: int) -> int:
        return ((epoch + 1) * self._interval_ms + self._phase_ms) * 1000


def emission_clock(declared: Emit) -> EmissionClock:
    """Make the clock that a pipeline declares. Raises ValueError for an unknown kind."""
    if declared.kind.value == "every":
        return Every(declared.interval_ms, declared.phase_ms)
    if declared.kind.value == "every_n":
        return EveryN(declared.n)
    if declared.kind.value == "per_event":
        return PerEvent()
    raise ValueError(f"found emission kind '{declared.kind.value}', known: every, every_n, per_event")
