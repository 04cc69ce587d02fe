"""A window join pairs rows of two inputs with one key and one window; a co-group keeps both sides as they are.

    input    the rows of both sides in one keyed window operator, each under its side's name; one watermark for both
    group    one firing of a (key, window): its rows by side, in the order in which they came; one side may be empty
    pairs    every left row of the group with every right one, so none where a side is empty
    time     the window's last instant, of a group and of its pairs

Groups fire, are late and are discarded as panes do: with allowed lateness each late row fires the whole group again,
with all its pairs. A row that no window takes is dropped; sessions are those of both sides together. Rules 95-97.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.panes.window_operator import Pane, Timing, Verdict, WindowOperator
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.windows.lateness import Lateness, fate
from spark_jobs.semantics.windows.window_assigners import TimeWindow

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")

Sided = tuple[Side, E]


@dataclass(frozen=True)
class Group(Generic[K, E]):
    """One firing; `index`, `timing` and `watermark` are those of the pane that it is."""

    key: K
    window: TimeWindow
    index: int
    timing: Timing
    watermark: int
    left: tuple[E, ...]
    right: tuple[E, ...]

    @property
    def ts(self) -> int:
        """The event time of the group and of its pairs."""
        return self.window.last

    @property
    def pairs(self) -> tuple[tuple[E, E], ...]:
        """The pairs of the window join for this group."""
        return tuple(product(self.left, self.right))


@dataclass(frozen=True)
class GroupOutcome(Generic[K, E]):
    """The groups that a row fired, and its fate; None if the row has no window (rule 53)."""

    groups: tuple[Group[K, E], ...]
    fate: Lateness | None


class CoGroup(Generic[K, E]):
    """A window operator over both inputs, fed with rows and watermarks in arrival order."""

    def __init__(
        self, operator: WindowOperator[K, Sided[E]] | SessionOperator[K, Sided[E]], *, allowed_lateness_ms: int
    ) -> None:
        self._operator = operator
        self._allowed_lateness_ms = allowed_lateness_ms

    @property
    def watermark(self) -> int:
        """The watermark that the next row is judged by."""
        return self._operator.watermark

    def on_row(self, side: Side, key: K, ts: int, row: E) -> GroupOutcome[K, E]:
        """Put a row of one input into its windows."""
        verdicts: Iterable[Verdict[K, Sided[E]]] = self._operator.on_row(key, ts, (side, row))
        latenesses = [verdict.lateness for verdict in verdicts]
        fired = tuple(_group(verdict.pane) for verdict in verdicts if verdict.pane is not None)
        return GroupOutcome(fired, fate(latenesses, ts, self._allowed_lateness_ms, self._operator.watermark))

    def on_watermark(self, watermark: int) -> list[Group[K, E]]:
        """Take a larger watermark; return the groups that it fires, in time order."""
        return [_group(pane) for pane in self._operator.on_watermark(watermark)]


def _group(pane: Pane[K, Sided[E]]) -> Group[K, E]:
    left, right = (tuple(row for of, row in pane.rows if of is side) for side in Side)
    return Group(pane.key, pane.window, pane.index, pane.timing, pane.watermark, left, right)
