"""A session is a stretch of a key's rows in which none is more than the gap G from the next; it ends G after its last.

A row at ts brings the window [ts, ts + G). It merges with the sessions of its key in flight that it touches, and
lateness is judged on the result: a row long behind the watermark is on time if it bridges to a session still open.

    too late       the merged window is closed: the row stands alone, goes, and leaves no session behind
    late pane      last <= W before the row: the merged session fires at once, with all its rows
    on-time pane   when W reaches `last`, with all rows so far, those of panes that fired before the merge included

A session is in flight until its cleanup; at L = 0 that is its firing. A row that comes next to a session which has gone
starts another: panes of one key may overlap. Panes of one exact window are numbered from 0, so a session that grows
starts again at 0. Discarding panes hold only the rows since the last pane of any of the merged sessions. Rules 80-88.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from spark_jobs.semantics.instants import MIN
from spark_jobs.semantics.lateness import Lateness, cleanup_time, judge
from spark_jobs.semantics.merging import Merge, MergingWindows
from spark_jobs.semantics.panes import Pane, Verdict
from spark_jobs.semantics.timers import Timers
from spark_jobs.semantics.windows import TimeWindow

K = TypeVar("K")
E = TypeVar("E")


@dataclass
class _Session(Generic[E]):
    """The rows in the order of their numbers, the panes of this exact window, and the windows that fired before."""

    rows: list[tuple[int, E]] = field(default_factory=list)
    fired: int = 0
    replaces: tuple[TimeWindow, ...] = ()


class SessionOperator(Generic[K, E]):
    """The sessions of all keys, fed with rows and watermarks in arrival order."""

    def __init__(self, gap_ms: int, *, allowed_lateness_ms: int, discarding: bool) -> None:
        if gap_ms <= 0:
            raise ValueError(f"found a session gap of {gap_ms} ms; it must be longer than 0")
        if allowed_lateness_ms < 0:
            raise ValueError(f"found an allowed lateness of {allowed_lateness_ms} ms; it must be at least 0")
        self._gap_ms = gap_ms
        self._allowed_lateness_ms = allowed_lateness_ms
        self._discarding = discarding
        self._watermark = MIN
        self._in_flight: dict[K, MergingWindows] = {}
        self._sessions: dict[tuple[K, TimeWindow], _Session[E]] = {}
        self._timers: Timers[K] = Timers()
        self._rows_seen = 0

    @property
    def watermark(self) -> int:
        """The watermark that the next row is judged by."""
        return self._watermark

    @property
    def open_windows(self) -> int:
        """How many sessions are in flight."""
        return len(self._sessions)

    def on_row(self, key: K, ts: int, row: E) -> tuple[Verdict[K, E]]:
        """Put a row into its session; give the verdict of the merged session, or of its own window if too late."""
        in_flight = self._in_flight.get(key, MergingWindows())
        merge = in_flight.merge(TimeWindow(ts, ts + self._gap_ms))
        lateness = judge(merge.hull, self._allowed_lateness_ms, self._watermark)
        if lateness is Lateness.TOO_LATE:
            return (Verdict(key, merge.hull, lateness),)
        in_flight.apply(merge)
        self._in_flight[key] = in_flight
        self._keep(key, merge, row)
        self._timers.register(cleanup_time(merge.hull, self._allowed_lateness_ms), key, merge.hull)
        if lateness is Lateness.LATE:
            return (Verdict(key, merge.hull, lateness, self._fire(key, merge.hull, lateness)),)
        self._timers.register(merge.hull.last, key, merge.hull)
        return (Verdict(key, merge.hull, lateness),)

    def on_watermark(self, watermark: int) -> list[Pane[K, E]]:
        """Take a larger watermark; give the panes that it fires, in time order."""
        self._watermark = watermark
        panes = []
        for instant, key, window in self._timers.due(watermark):
            # The timers of a session that another has absorbed run for nobody.
            if (key, window) in self._sessions:
                panes += self._at(instant, key, window)
        return panes

    def _keep(self, key: K, merge: Merge, row: E) -> None:
        if merge.absorbed != (merge.hull,):
            absorbed = [(window, self._sessions.pop((key, window))) for window in merge.absorbed]
            self._sessions[key, merge.hull] = _Session(
                rows=sorted((r for _, session in absorbed for r in session.rows), key=lambda numbered: numbered[0]),
                replaces=tuple(
                    fired
                    for window, session in absorbed
                    for fired in (*session.replaces, *([window] if session.fired else []))
                ),
            )
        self._sessions[key, merge.hull].rows.append((self._rows_seen, row))
        self._rows_seen += 1

    def _at(self, instant: int, key: K, window: TimeWindow) -> list[Pane[K, E]]:
        panes = [self._fire(key, window, Lateness.ON_TIME)] if instant == window.last else []
        if instant == cleanup_time(window, self._allowed_lateness_ms):
            del self._sessions[key, window]
            self._in_flight[key].retire(window)
        return panes

    def _fire(self, key: K, window: TimeWindow, timing: Lateness) -> Pane[K, E]:
        session = self._sessions[key, window]
        rows = tuple(row for _, row in session.rows)
        pane = Pane(key, window, session.fired, timing, self._watermark, rows, session.replaces)
        session.fired += 1
        if self._discarding:
            session.rows.clear()
        return pane
