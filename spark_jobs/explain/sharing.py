"""The operators of windows, with panes that share the rows of their window: each pane is a beginning of one list.

Law: the rows of a pane are those of the operator. A pane costs neither time nor memory for its rows, so a window with n
late panes costs n and not n * n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import eq
from typing import Generic, TypeVar, overload

from spark_jobs.semantics.panes.triggers import trigger
from spark_jobs.semantics.panes.window_operator import Pane, PaneOperator, Timing, WindowOperator
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.spec import Windows
from spark_jobs.semantics.windows.window_assigners import TimeWindow, assigner

K = TypeVar("K")
E = TypeVar("E")


class Beginning(Sequence[E]):
    """The first `length` rows of a list of numbered rows, which only grows."""

    def __init__(self, numbered: Sequence[tuple[int, E]], length: int) -> None:
        self._numbered, self._length = numbered, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> E: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[E]: ...
    def __getitem__(self, place: int | slice) -> E | Sequence[E]:
        if isinstance(place, slice):
            return [row for _, row in self._numbered[: self._length][place]]
        return self._numbered[range(self._length)[place]][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beginning) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __iter__(self) -> Iterator[E]:
        return (row for _, row in islice(self._numbered, self._length))


class _Sharing(PaneOperator[K, E], Generic[K, E]):
    def _fire(self, key: K, window: TimeWindow, timing: Timing, instant: int | None = None) -> Pane[K, E]:
        state = self._states[key, window]
        rows = Beginning(state.rows, len(state.rows))
        pane = Pane(key, window, state.fired, timing, self._watermark, rows, state.replaces, instant)
        state.fired += 1
        if self._discarding:
            # The pane keeps the list.
            state.rows = []
        return pane


class SharingWindows(_Sharing[K, E], WindowOperator[K, E]):
    """The windows of all keys that a row's event time alone assigns it to."""


class SharingSessions(_Sharing[K, E], SessionOperator[K, E]):
    """The sessions of all keys."""


def sharing_operator(declared: Windows) -> SharingWindows[K, E] | SharingSessions[K, E]:
    """Return the operator of the windows that a pipeline declares, as `streaming_job.operator` does."""
    lateness_ms, fires = declared.lateness_ms, trigger(declared.trigger)
    if declared.is_session:
        return SharingSessions(
            declared.gap_ms, allowed_lateness_ms=lateness_ms, discarding=declared.discards, trigger=fires
        )
    return SharingWindows(
        assigner(declared),
        allowed_lateness_ms=lateness_ms,
        discarding=declared.discards,
        trigger=fires,
        gathering=declared.per_epoch,
    )
