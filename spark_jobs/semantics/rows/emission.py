"""An emission is when all partitions emit their watermark; an epoch is the stretch of rows between two emissions.

    every D, phase P   epoch = floor((clock_ms - P) / D); epoch k ends at (k + 1) * D + P, before the rows of that clock
    per_event          each row is an epoch, which ends at the row's clock
    every_n n          epoch = floor(rank / n), rank from 0; ends at the clock of its n-th row

Clocks are in microseconds and do not fall from row to row. A tick follows the last row only if the clock is known to
have reached it. A last group of fewer than n rows has no emission. With `every_tick`, epochs without rows have
emissions too. Without it they are left out, because a generator that follows rows alone repeats its watermark.
Semantics B3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from spark_jobs.semantics.rows.instants import floor_to_ms
from spark_jobs.semantics.spec import Emit, EmitKind


class EmissionClock(Protocol):
    """When emissions happen; each method returns the clocks of emissions in microseconds, in order."""

    def before(self, clock_us: int) -> Sequence[int]:
        """Return the emissions between the row before and this one, at `clock_us`."""

    def after(self, clock_us: int) -> Sequence[int]:
        """Return the emission right after this row."""

    def at_end(self, until_us: int | None) -> Sequence[int]:
        """Return the emissions after the last row, if the clock went on to `until_us` (inclusive)."""


class PerEvent:
    """An emission after each row."""

    def before(self, clock_us: int) -> Sequence[int]:
        """Return none: the row before had its emission."""
        return ()

    def after(self, clock_us: int) -> Sequence[int]:
        """Emit at the row's clock."""
        return (clock_us,)

    def at_end(self, until_us: int | None) -> Sequence[int]:
        """Return none: the clock alone emits nothing."""
        return ()


class EveryN:
    """An emission after every n-th row."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"found an emission every {n} rows; it must be at least 1")
        self._n = n
        self._rows = 0

    def before(self, clock_us: int) -> Sequence[int]:
        """Return none: emissions follow rows."""
        return ()

    def after(self, clock_us: int) -> Sequence[int]:
        """Emit if the row completes a group."""
        self._rows += 1
        return (clock_us,) if self._rows % self._n == 0 else ()

    def at_end(self, until_us: int | None) -> Sequence[int]:
        """Return none: a partial group has no emission."""
        return ()


class Every:
    """An emission at each tick of a clock: `phase + k * interval`, in milliseconds.

    Of the ticks between two rows only the first, unless it is `every_tick`.
    """

    def __init__(self, interval_ms: int, phase_ms: int, *, every_tick: bool = False) -> None:
        if interval_ms < 1:
            raise ValueError(f"found an emission every {interval_ms} ms; it must be at least 1 ms")
        self._interval_ms = interval_ms
        self._phase_ms = phase_ms
        self._every_tick = every_tick
        self._epoch: int | None = None

    def before(self, clock_us: int) -> Sequence[int]:
        """Emit at the end of the earlier rows' epoch if this row is in a later one."""
        earlier, self._epoch = self._epoch, self.epoch(clock_us)
        return () if earlier is None else self._ticks(earlier, self._epoch)

    def after(self, clock_us: int) -> Sequence[int]:
        """Return none: ticks come before rows."""
        return ()

    def at_end(self, until_us: int | None) -> Sequence[int]:
        """Emit at the end of the last row's epoch if the clock went that far."""
        if self._epoch is None or until_us is None:
            return ()
        return self._ticks(self._epoch, self.epoch(until_us))

    def epoch(self, clock_us: int) -> int:
        """Number the epoch that a clock lies in."""
        return (floor_to_ms(clock_us) - self._phase_ms) // self._interval_ms

    def _ticks(self, earlier: int, later: int) -> Sequence[int]:
        step_us = self._interval_ms * 1000
        first_us = (earlier + 1) * step_us + self._phase_ms * 1000
        ticks = range(first_us, first_us + (later - earlier) * step_us, step_us)
        return ticks if self._every_tick else ticks[:1]


def emission_clock(declared: Emit, *, every_tick: bool = False) -> EmissionClock:
    """Return the declared clock of emissions. Raises ValueError for an interval or a number of rows below 1."""
    match declared.kind:
        case EmitKind.EVERY:
            return Every(declared.interval_ms, declared.phase_ms, every_tick=every_tick)
        case EmitKind.EVERY_N:
            return EveryN(declared.n)
        case EmitKind.PER_EVENT:
            return PerEvent()
        case _:
            assert_never(declared.kind)
