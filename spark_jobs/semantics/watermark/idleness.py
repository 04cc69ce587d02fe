"""An idle partition has had no row for longer than a timeout; it does not hold the others back until it emits again.

With the timeout T > 0, in milliseconds of the arrival clock, checked only at emissions:

    a row since the last emission       active, the timer is off
    else, the timer is off              the timer starts, still active
    else                                idle if now - start > T

The first emission after the last row sees activity, and the second starts the timer. At an active emission the wrapped
generator emits. The first idle emission marks the output idle, once. A row resets the timer but does not make the
partition active. Only its next watermark does, and a punctuated generator may not emit for long. Rules 30-34.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.watermark.generators import WatermarkGenerator, WatermarkOutput


class IdlenessTimer:
    """Whether one partition is idle. Raises ValueError for a timeout that is not longer than 0."""

    def __init__(self, timeout_ms: int, clock: ArrivalClock) -> None:
        if timeout_ms <= 0:
            raise ValueError(f"found an idle timeout of {timeout_ms} ms; it must be longer than 0")
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._had_activity = False
        self._start_ms: int | None = None

    def activity(self) -> None:
        """Record a row."""
        self._had_activity = True

    def check(self) -> bool:
        """Return at an emission whether the partition is idle."""
        if self._had_activity:
            self._had_activity, self._start_ms = False, None
        elif self._start_ms is None:
            self._start_ms = self._clock.now_ms
        else:
            return has_timed_out(self._clock.now_ms - self._start_ms, self._timeout_ms)
        return False


class WithIdleness:
    """Any generator, kept from emitting and marked idle while its partition has no rows."""

    def __init__(self, generator: WatermarkGenerator, timer: IdlenessTimer) -> None:
        self._generator = generator
        self._timer = timer
        self._is_marked = False

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Pass the row to the generator and reset the timer."""
        self._generator.on_event(row, ts, output)
        self._timer.activity()
        self._is_marked = False

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Let the generator emit, or mark the output idle."""
        if not self._timer.check():
            self._generator.on_periodic_emit(output)
        elif not self._is_marked:
            output.mark_idle()
            self._is_marked = True


def has_timed_out(quiet_ms: int, timeout_ms: int) -> bool:
    """Return True if a partition has been quiet for longer than the timeout (strictly)."""
    return quiet_ms > timeout_ms
