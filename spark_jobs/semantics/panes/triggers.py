"""A trigger determines when a (key, window) fires: at a row, at one of its timers, or when sessions merge.

With `last` the window's last instant, W the watermark before a row, all in milliseconds:

    event time      at `last`; then at once for each row
    continuous i    at next = min(trunc(ts / i) * i + i, last) of the first row that comes before `last`, then at
                    next = min(next + i, last), and so on up to `last`, new rows or none; then at once for each row
    count n         at the n-th row since it fired; never by the watermark, nor when the input ends

`trunc` rounds towards zero, unlike the floor of window starts: at i = 1000 a row at -500 sets the timer 1000. A timer
in the past runs at the next advance of the watermark, and one advance runs all timers that it has reached. When
sessions merge the smaller `next` stays, and counts add. Rules 60, 62, 69, 70, 86.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, assert_never

from spark_jobs.semantics.spec import Trigger as Declared
from spark_jobs.semantics.spec import TriggerKind
from spark_jobs.semantics.windows.lateness import is_complete
from spark_jobs.semantics.windows.window_assigners import TimeWindow


class Answer(NamedTuple):
    """Whether the window fires now, and the instants of the timers to set."""

    fires: bool = False
    timers: tuple[int, ...] = ()


@dataclass
class Memory:
    """The state of a trigger for one (key, window): the next instant, or the rows since the last firing."""

    kept: int | None = None


class Trigger(Protocol):
    """When windows fire; the state of each (key, window) is in its `Memory`."""

    def on_row(self, ts: int, window: TimeWindow, watermark: int, memory: Memory) -> Answer:
        """Take a row of the window, at the watermark before it."""

    def on_timer(self, instant: int, window: TimeWindow, memory: Memory) -> Answer:
        """Take a timer of the window, set by the trigger or not."""

    def on_merge(self, absorbed: Sequence[Memory], memory: Memory) -> Answer:
        """Fill the memory of a session that merges others; the row that merged them comes next."""


class EventTime:
    """Fires when the watermark has passed the window, then at each row."""

    def on_row(self, ts: int, window: TimeWindow, watermark: int, memory: Memory) -> Answer:
        """Fire if the window is complete, else wait for its last instant."""
        return Answer(fires=True) if is_complete(window, watermark) else Answer(timers=(window.last,))

    def on_timer(self, instant: int, window: TimeWindow, memory: Memory) -> Answer:
        """Fire at the window's last instant."""
        return Answer(fires=instant == window.last)

    def on_merge(self, absorbed: Sequence[Memory], memory: Memory) -> Answer:
        """Leave the merged session to the row that comes next."""
        return Answer()


class Continuous:
    """Fires at every interval up to the window's last instant. Raises ValueError for an interval below 1 ms."""

    def __init__(self, interval_ms: int) -> None:
        if interval_ms <= 0:
            raise ValueError(f"found a trigger's interval of {interval_ms} ms; it must be longer than 0")
        self._interval_ms = interval_ms

    def on_row(self, ts: int, window: TimeWindow, watermark: int, memory: Memory) -> Answer:
        """Fire if the window is complete, else wait for its last instant and, at the first row, the next interval."""
        if is_complete(window, watermark):
            return Answer(fires=True)
        if memory.kept is not None:
            return Answer(timers=(window.last,))
        return Answer(timers=(window.last, self._next(truncated(ts, self._interval_ms), window, memory)))

    def on_timer(self, instant: int, window: TimeWindow, memory: Memory) -> Answer:
        """Fire at the window's last instant, and at the next interval, which makes way for the one behind it."""
        if instant == window.last:
            return Answer(fires=True)
        if instant != memory.kept:
            return Answer()
        return Answer(fires=True, timers=(self._next(instant, window, memory),))

    def on_merge(self, absorbed: Sequence[Memory], memory: Memory) -> Answer:
        """Keep the smallest next instant, which may be in the past."""
        memory.kept = min((other.kept for other in absorbed if other.kept is not None), default=None)
        return Answer() if memory.kept is None else Answer(timers=(memory.kept,))

    def _next(self, instant: int, window: TimeWindow, memory: Memory) -> int:
        memory.kept = min(instant + self._interval_ms, window.last)
        return memory.kept


class Count:
    """Fires at every n-th row, whatever the watermark. Raises ValueError for n below 1."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"found a trigger at every {n} rows; it must be at least 1")
        self._n = n

    def on_row(self, ts: int, window: TimeWindow, watermark: int, memory: Memory) -> Answer:
        """Fire if the row is the n-th, or merged sessions have brought more."""
        memory.kept = (memory.kept or 0) + 1
        if memory.kept < self._n:
            return Answer()
        memory.kept = None
        return Answer(fires=True)

    def on_timer(self, instant: int, window: TimeWindow, memory: Memory) -> Answer:
        """Never fire."""
        return Answer()

    def on_merge(self, absorbed: Sequence[Memory], memory: Memory) -> Answer:
        """Add the counts."""
        memory.kept = sum(other.kept or 0 for other in absorbed)
        return Answer()


def truncated(ts: int, interval_ms: int) -> int:
    """Return `ts` rounded towards zero to a multiple of the interval."""
    whole = abs(ts) // interval_ms * interval_ms
    return whole if ts >= 0 else -whole


def trigger(declared: Declared) -> Trigger:
    """Return the declared trigger. Raises ValueError for an interval or a count below 1."""
    match declared.kind:
        case TriggerKind.EVENT_TIME:
            return EventTime()
        case TriggerKind.CONTINUOUS:
            return Continuous(declared.interval_ms)
        case TriggerKind.COUNT:
            return Count(declared.n)
        case _:
            assert_never(declared.kind)
