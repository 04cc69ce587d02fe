"""A pane is the output of one firing of a window; a trigger determines when a window fires (`triggers`).

    early pane     fired before the watermark reaches `last`, or by that very advance for an instant before `last`
    on-time pane   when the watermark reaches `last`, if a row came before that: all rows so far
    late pane      behind that; by default at once for each row with last <= W < cleanup, W the watermark before it
    discarding     each pane contains only the rows since the pane before, and an empty pane is not emitted
    gathering      late rows fire no pane each: the late rows of one epoch and window fire one, when the epoch ends

Panes of a (key, window) are numbered from 0 as they fire. At `cleanup` the state is dropped and nothing is emitted; a
row that comes later is too late. Rules 51, 60-70.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from spark_jobs.semantics.panes.timers import Timers
from spark_jobs.semantics.panes.triggers import Answer, EventTime, Memory, Trigger
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time, is_complete, judge
from spark_jobs.semantics.windows.window_assigners import TimeWindow, WindowAssigner

K = TypeVar("K")
E = TypeVar("E")


class Timing(Enum):
    """Where a firing stands against the window's last instant."""

    EARLY = "early"
    ON_TIME = "on_time"
    LATE = "late"


@dataclass(frozen=True)
class Pane(Generic[K, E]):
    """One firing: its rows in the order in which they came, and the operator's watermark at that moment.

    `replaces` are the sessions that this one has absorbed and whose panes no other has replaced; other windows absorb
    nothing. `instant` is that of the timer that fired it; None if a row did.
    """

    key: K
    window: TimeWindow
    index: int
    timing: Timing
    watermark: int
    rows: Sequence[E]
    replaces: tuple[TimeWindow, ...] = ()
    instant: int | None = None


@dataclass(frozen=True)
class Verdict(Generic[K, E]):
    """The lateness of a row for one window of its key, and the pane that the row fired, if any."""

    key: K
    window: TimeWindow
    lateness: Lateness
    pane: Pane[K, E] | None = None


@dataclass
class State(Generic[E]):
    """The state of a (key, window): its numbered rows, the number of its panes, and the sessions that it replaces.

    `memory` is the state of its trigger.
    """

    rows: list[tuple[int, E]] = field(default_factory=list)
    fired: int = 0
    replaces: tuple[TimeWindow, ...] = ()
    memory: Memory = field(default_factory=Memory)


class PaneOperator(Generic[K, E]):
    """What the operators of all kinds of windows do alike: hold rows, fire panes, forget at cleanup.

    Fed with rows and watermarks in arrival order. How a row finds its window is the operator's own. With `shows_empty`
    a discarding operator also emits the panes that have no row since the one before.
    """

    def __init__(
        self, *, allowed_lateness_ms: int, discarding: bool, trigger: Trigger | None = None, shows_empty: bool = False
    ) -> None:
        if allowed_lateness_ms < 0:
            raise ValueError(f"found an allowed lateness of {allowed_lateness_ms} ms; it must be at least 0")
        self._allowed_lateness_ms = allowed_lateness_ms
        self._discarding = discarding
        self._trigger = trigger or EventTime()
        self._shows_empty = shows_empty
        self._watermark = MIN
        self._states: dict[tuple[K, TimeWindow], State[E]] = {}
        self._gathered: dict[tuple[K, TimeWindow], None] | None = None
        self._timers: Timers[K] = Timers()
        self._rows_seen = 0

    @property
    def watermark(self) -> int:
        """The watermark that the next row is judged by."""
        return self._watermark

    @property
    def open_windows(self) -> int:
        """How many (key, window) pairs hold state."""
        return len(self._states)

    def on_watermark(self, watermark: int) -> list[Pane[K, E]]:
        """Take a larger watermark; give the panes that it fires, in time order."""
        # First the new value, then the timers: a pane shows the watermark that fired it (rule 61).
        before, self._watermark = self._watermark, watermark
        panes = []
        for instant, key, window in self._timers.due(watermark):
            # The timers of a session that another one has absorbed have no effect.
            if (key, window) in self._states:
                panes += self._at(instant, key, window, before)
        return panes

    def on_epoch_end(self) -> list[Pane[K, E]]:
        """Fire what late rows were gathered for, in the order of their first rows, before the watermark moves on."""
        if not self._gathered:
            return []
        gathered, self._gathered = self._gathered, {}
        return [self._fire(key, window, Timing.LATE) for key, window in gathered]

    def _judge(self, window: TimeWindow) -> Lateness:
        return judge(window, self._allowed_lateness_ms, self._watermark)

    def _accept(self, key: K, window: TimeWindow, lateness: Lateness, ts: int, row: E) -> Verdict[K, E]:
        state = self._states.setdefault((key, window), State())
        state.rows.append((self._rows_seen, row))
        self._rows_seen += 1
        self._timers.register(cleanup_time(window, self._allowed_lateness_ms), key, window)
        answer = self._trigger.on_row(ts, window, self._watermark, state.memory)
        self._wait(answer, key, window)
        if not answer.fires:
            return Verdict(key, window, lateness)
        if lateness is not Lateness.LATE:
            return Verdict(key, window, lateness, self._fire(key, window, Timing.EARLY))
        return Verdict(key, window, lateness, self._late_pane(key, window))

    def _wait(self, answer: Answer, key: K, window: TimeWindow) -> None:
        for instant in answer.timers:
            self._timers.register(instant, key, window)

    def _late_pane(self, key: K, window: TimeWindow) -> Pane[K, E] | None:
        if self._gathered is None:
            return self._fire(key, window, Timing.LATE)
        self._gathered[key, window] = None
        return None

    def _forget(self, key: K, window: TimeWindow) -> None:
        del self._states[key, window]

    def _at(self, instant: int, key: K, window: TimeWindow, before: int) -> list[Pane[K, E]]:
        """Run a timer; `before` is the watermark that was reached before the one that runs it."""
        state = self._states[key, window]
        answer = self._trigger.on_timer(instant, window, state.memory)
        self._wait(answer, key, window)
        is_shown = answer.fires and (state.rows or self._shows_empty)
        panes = [self._fire(key, window, _timing(instant, window, before), instant)] if is_shown else []
        # Without allowed lateness both are one timer: fire, then forget (rule 65).
        if instant == cleanup_time(window, self._allowed_lateness_ms):
            self._forget(key, window)
        return panes

    def _fire(self, key: K, window: TimeWindow, timing: Timing, instant: int | None = None) -> Pane[K, E]:
        state = self._states[key, window]
        rows = tuple(row for _, row in state.rows)
        pane = Pane(key, window, state.fired, timing, self._watermark, rows, state.replaces, instant)
        state.fired += 1
        if self._discarding:
            state.rows.clear()
        return pane


def _timing(instant: int, window: TimeWindow, before: int) -> Timing:
    if is_complete(window, before):
        return Timing.LATE
    return Timing.ON_TIME if instant == window.last else Timing.EARLY


class WindowOperator(PaneOperator[K, E]):
    """The windows of all keys that a row's event time alone assigns it to."""

    def __init__(
        self,
        assigner: WindowAssigner,
        *,
        allowed_lateness_ms: int,
        discarding: bool,
        trigger: Trigger | None = None,
        gathering: bool = False,
    ) -> None:
        super().__init__(allowed_lateness_ms=allowed_lateness_ms, discarding=discarding, trigger=trigger)
        self._assigner = assigner
        self._gathered = {} if gathering else None

    def on_row(self, key: K, ts: int, row: E) -> tuple[Verdict[K, E], ...]:
        """Put a row into its windows; give the verdict of each."""
        return tuple(self._into(window, key, ts, row) for window in self._assigner.assign(ts))

    def _into(self, window: TimeWindow, key: K, ts: int, row: E) -> Verdict[K, E]:
        lateness = self._judge(window)
        if lateness is Lateness.TOO_LATE:
            return Verdict(key, window, lateness)
        return self._accept(key, window, lateness, ts, row)
