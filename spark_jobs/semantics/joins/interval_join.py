"""An interval join pairs rows of two inputs that have one key and event times near each other.

With a the event time of a left row, b of a right one, W the watermark before the row, in milliseconds:

    a joins b     a + lower <= b <= a + upper; an exclusive bound is the inclusive one a millisecond further in
    late          ts < W before the row, strictly: it joins nothing and is returned as late
    kept          left until W advances to a + max(upper, 0) or beyond, right until b + max(-lower, 0)

W is the minimum over the two inputs, even if the input of the row is further. A pair appears with the later of its
rows to arrive, and its event time is the greater of the two. A row at exactly W is not late, but its partner may have
gone. Rows are dropped at their last instant, and at an advance only. Rules 39, 90-93.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.windows.lateness import is_behind_strictly, is_due

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")


class Side(Enum):
    """An input of the join."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class JoinBounds:
    """How far the right row may lie from the left one. Raises ValueError for an upper bound below the lower."""

    lower_ms: int
    upper_ms: int
    lower_inclusive: bool = True
    upper_inclusive: bool = True

    def __post_init__(self) -> None:
        if self.lower_ms > self.upper_ms:
            raise ValueError(
                f"found a lower bound of {self.lower_ms} ms and an upper bound of {self.upper_ms} ms; "
                "the lower must not be greater"
            )

    @property
    def first_ms(self) -> int:
        """The least distance from left to right that joins."""
        return self.lower_ms if self.lower_inclusive else self.lower_ms + 1

    @property
    def last_ms(self) -> int:
        """The greatest distance from left to right that joins."""
        return self.upper_ms if self.upper_inclusive else self.upper_ms - 1

    def joins(self, left_ts: int, right_ts: int) -> bool:
        """Return True if two rows are near enough."""
        return self.first_ms <= right_ts - left_ts <= self.last_ms

    def expiry(self, side: Side, ts: int) -> int:
        """Return the watermark at which a row is dropped: no row on time can join it after that."""
        return ts + max(self.last_ms if side is Side.LEFT else -self.first_ms, 0)


@dataclass(frozen=True)
class Pair(Generic[E]):
    """Two rows that join, and the pair's event time."""

    left: E
    right: E
    left_ts: int
    right_ts: int

    @property
    def ts(self) -> int:
        """The greater event time."""
        return max(self.left_ts, self.right_ts)


@dataclass(frozen=True)
class JoinOutcome(Generic[E]):
    """The pairs that a row completed, or that the row is late."""

    pairs: tuple[Pair[E], ...] = ()
    is_late: bool = False


class IntervalJoin(Generic[K, E]):
    """The rows of both inputs that may still join, fed with rows and combined watermarks in arrival order."""

    def __init__(self, bounds: JoinBounds) -> None:
        self._bounds = bounds
        self._watermark = MIN
        self._rows: dict[Side, dict[K, list[tuple[int, E]]]] = {side: {} for side in Side}

    def on_row(self, side: Side, key: K, ts: int, row: E) -> JoinOutcome[E]:
        """Join a row with the kept rows of the other input, and keep it for later rows."""
        if is_behind_strictly(ts, self._watermark):
            return JoinOutcome(is_late=True)
        self._rows[side].setdefault(key, []).append((ts, row))
        if side is Side.LEFT:
            pairs = [Pair(row, other, ts, other_ts) for other_ts, other in self._rows[Side.RIGHT].get(key, ())]
        else:
            pairs = [Pair(other, row, other_ts, ts) for other_ts, other in self._rows[Side.LEFT].get(key, ())]
        return JoinOutcome(tuple(pair for pair in pairs if self._bounds.joins(pair.left_ts, pair.right_ts)))

    def on_watermark(self, watermark: int) -> None:
        """Take a larger combined watermark; drop the rows that have reached their last instant."""
        self._watermark = watermark
        for side, keys in self._rows.items():
            for key, rows in keys.items():
                keys[key] = [row for row in rows if not is_due(self._bounds.expiry(side, row[0]), watermark)]

    def open_rows(self, side: Side) -> list[int]:
        """Return the event times of an input's rows that may still join, sorted."""
        return sorted(ts for rows in self._rows[side].values() for ts, _ in rows)
