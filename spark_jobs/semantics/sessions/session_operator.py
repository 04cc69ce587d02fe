"""A session is a stretch of a key's rows, each at most the gap G behind the row before; it ends G after the last.

A row at ts brings the window [ts, ts + G). It merges with the sessions of its key in flight that it touches. Lateness
is judged on the merged window: a row far behind the watermark is on time if it bridges to an open session.

    too late       the merged window is closed: the row stands alone, goes, and leaves no session behind
    late pane      last <= W before the row: the merged session fires at once, with all its rows
    on-time pane   when W reaches `last`, with all rows so far, those of panes that fired before the merge included

That is the default trigger; another trigger fires by its own rule, and its state is merged with the sessions.

A session is in flight until its cleanup; at L = 0 that is its firing. A row next to a session that is gone starts
another one: panes of one key may overlap. Panes of one exact window are numbered from 0, so a session that grows starts
again at 0. Discarding panes contain only the rows since the last pane of any of the merged sessions. Rules 80-88.
"""

from __future__ import annotations

from typing import TypeVar

from spark_jobs.semantics.panes.triggers import Trigger
from spark_jobs.semantics.panes.window_operator import PaneOperator, State, Verdict
from spark_jobs.semantics.sessions.merging_windows import Merge, MergingWindows
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import TimeWindow

K = TypeVar("K")
E = TypeVar("E")


class SessionOperator(PaneOperator[K, E]):
    """The sessions of all keys."""

    def __init__(
        self,
        gap_ms: int,
        *,
        allowed_lateness_ms: int,
        discarding: bool,
        trigger: Trigger | None = None,
        shows_empty: bool = False,
    ) -> None:
        if gap_ms <= 0:
            raise ValueError(f"found a session gap of {gap_ms} ms; it must be longer than 0")
        super().__init__(
            allowed_lateness_ms=allowed_lateness_ms, discarding=discarding, trigger=trigger, shows_empty=shows_empty
        )
        self._gap_ms = gap_ms
        self._in_flight: dict[K, MergingWindows] = {}

    def on_row(self, key: K, ts: int, row: E) -> tuple[Verdict[K, E]]:
        """Put a row into its session; return the verdict of the merged session, or of the row's window if too late."""
        in_flight = self._in_flight.get(key, MergingWindows())
        merge = in_flight.merge(TimeWindow(ts, ts + self._gap_ms))
        lateness = self._judge(merge.hull)
        if lateness is Lateness.TOO_LATE:
            return (Verdict(key, merge.hull, lateness),)
        in_flight.apply(merge)
        self._in_flight[key] = in_flight
        self._absorb(key, merge)
        return (self._accept(key, merge.hull, lateness, ts, row),)

    def _absorb(self, key: K, merge: Merge) -> None:
        """Move the state of the absorbed sessions into the merged one."""
        if merge.absorbed == (merge.hull,):
            return
        absorbed = [(window, self._states.pop((key, window))) for window in merge.absorbed]
        rows = absorbed[0][1].rows if absorbed else []
        if len(absorbed) > 1:
            rows = sorted((row for _, state in absorbed for row in state.rows), key=lambda numbered: numbered[0])
        # The panes of a session have replaced what it had absorbed.
        replaces = (fired for window, state in absorbed for fired in ((window,) if state.fired else state.replaces))
        merged = State(rows=rows, replaces=tuple(replaces))
        self._states[key, merge.hull] = merged
        memories = [state.memory for _, state in absorbed]
        self._wait(self._trigger.on_merge(memories, merged.memory), key, merge.hull)

    def _forget(self, key: K, window: TimeWindow) -> None:
        super()._forget(key, window)
        self._in_flight[key].retire(window)
