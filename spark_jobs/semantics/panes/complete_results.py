"""Complete results: the results of all rows of a window, as if none had come too late, and what the watermark cost.

    rows of w   all valid rows of the key with an event time in w, whenever they came; w has at least one
    a session   rows of a key, each at most the gap behind the one before; it ends the gap after its last row
    listed      the windows that the last watermark has passed: last(w) <= W; others wait, as in the results
    shown       the faithful results whose window lies in w: w itself; for sessions maybe several shorter ones
    missed      the rows of w that no pane of such a window contains

Triggers, lateness and accumulation do not change a complete result. A row belongs to its own windows only, so a row
between two windows is missed by none. Sessions of a key lie apart (semantics B6), and every session that a job has
fired contains rows of only one of them. Rules 2, 40, 41, 44.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from spark_jobs.semantics.panes.window_operator import Pane
from spark_jobs.semantics.spec import Windows
from spark_jobs.semantics.windows.lateness import is_complete
from spark_jobs.semantics.windows.window_assigners import TimeWindow, assigner

K = TypeVar("K")
E = TypeVar("E")


@dataclass(frozen=True)
class CompleteWindow(Generic[K, E]):
    """A (key, window) with all of its rows, in the order in which they were given."""

    key: K
    window: TimeWindow
    rows: tuple[E, ...]

    def panes_inside(self, panes: Iterable[Pane[K, E]]) -> list[Pane[K, E]]:
        """Return the panes, of the same key, whose window lies in this one, by start."""
        inside = (p for p in panes if self.window.start <= p.window.start and p.window.end <= self.window.end)
        return sorted(inside, key=lambda pane: pane.window)

    def missed_rows(self, panes: Iterable[Pane[K, E]]) -> int:
        """Return how many of the rows no pane of the same key contains in this window."""
        # Two rows may be equal: they are compared by identity.
        in_panes = {id(row) for pane in self.panes_inside(panes) for row in pane.rows}
        return sum(id(row) not in in_panes for row in self.rows)


def complete_windows(rows: Iterable[tuple[K, int, E]], declared: Windows, watermark: int) -> list[CompleteWindow[K, E]]:
    """Return the windows that `watermark`, the last one, has passed, by start.

    `rows` are keys, event times in milliseconds and rows, in any order. Raises ValueError for windows of no known kind.
    """
    by_key: dict[K, list[tuple[int, E]]] = defaultdict(list)
    for key, ts, row in rows:
        by_key[key].append((ts, row))
    windows = (
        CompleteWindow(key, window, tuple(members))
        for key, timed in by_key.items()
        for window, members in _windows(timed, declared).items()
    )
    return sorted((w for w in windows if is_complete(w.window, watermark)), key=lambda w: w.window)


def _windows(timed: Sequence[tuple[int, E]], declared: Windows) -> dict[TimeWindow, list[E]]:
    """Return the windows of one key, each with its rows."""
    of_sessions = declared.is_session
    assign = _sessions((ts for ts, _ in timed), declared.gap_ms) if of_sessions else assigner(declared).assign
    rows_of: dict[TimeWindow, list[E]] = defaultdict(list)
    for ts, row in timed:
        for window in assign(ts):
            rows_of[window].append(row)
    return rows_of


def _sessions(instants: Iterable[int], gap_ms: int) -> Callable[[int], tuple[TimeWindow, ...]]:
    """Gaps and islands: a distance of exactly the gap does not part two rows (rule 81)."""
    stretches: list[list[int]] = []
    for ts in sorted(set(instants)):
        if stretches and ts - stretches[-1][-1] <= gap_ms:
            stretches[-1].append(ts)
        else:
            stretches.append([ts])
    sessions = {ts: (TimeWindow(part[0], part[-1] + gap_ms),) for part in stretches for ts in part}
    return sessions.__getitem__
