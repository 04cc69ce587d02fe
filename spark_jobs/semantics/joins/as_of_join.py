"""An as-of join gives each row of the left input the version of the right input that is valid at the row's event time.

With a the event time of a left row, b of a right one (a version), W the watermark before a row, in milliseconds:

    version   the kept right row of the key with the greatest b <= a; of equal b the last to arrive
    late      ts <= W before the row; a late row of either input counts as far as state allows
    emitted   a left row, at the first advance after its arrival that reaches a; a late row, at the next advance
    timer     one a key: the least ts that has arrived since the key last fired, or of a left row that waits
    fires     at an advance that reaches the timer: left rows up to the new W are emitted, then versions are dropped
    dropped   versions below the greatest b <= W; a key that does not fire keeps all

W is the minimum over both inputs. A version ahead of the watermark loses its timer when its key fires for another row.
Rules 39, 100-104.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.windows.lateness import is_due, is_reached

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")


@dataclass(frozen=True)
class Match(Generic[E]):
    """A left row that is emitted, with its version; both `right` and `right_ts` are None without one."""

    left: E
    right: E | None
    left_ts: int
    right_ts: int | None

    @property
    def ts(self) -> int:
        """The event time of the match: that of the left row."""
        return self.left_ts


@dataclass
class _Key(Generic[E]):
    """The state of a key: left rows that wait in arrival order, kept versions by event time, and the timer."""

    waiting: list[tuple[int, E]] = field(default_factory=list)
    versions: dict[int, E] = field(default_factory=dict)
    timer: int | None = None

    def wake_at(self, ts: int) -> None:
        """Set the timer, unless it is earlier."""
        self.timer = ts if self.timer is None else min(self.timer, ts)


class AsOfJoin(Generic[K, E]):
    """The rows of both inputs that are kept, fed with rows and combined watermarks in arrival order.

    Every left row is returned once, with or without a version: an inner join leaves out those without.
    """

    def __init__(self) -> None:
        self._watermark = MIN
        self._keys: dict[K, _Key[E]] = {}

    @property
    def watermark(self) -> int:
        """The watermark that the next row is judged by."""
        return self._watermark

    def on_row(self, side: Side, key: K, ts: int, row: E) -> bool:
        """Keep a row; return True if it is late (rules 101, 104)."""
        state = self._keys.setdefault(key, _Key())
        if side is Side.LEFT:
            state.waiting.append((ts, row))
        else:
            state.versions[ts] = row
        state.wake_at(ts)
        return is_reached(ts, self._watermark)

    def on_watermark(self, watermark: int) -> list[Match[E]]:
        """Take a larger combined watermark; return the left rows that it emits, by key and in arrival order."""
        self._watermark = watermark
        due = [state for state in self._keys.values() if state.timer is not None and is_due(state.timer, watermark)]
        return [match for state in due for match in self._fire(state)]

    def versions(self, key: K) -> list[int]:
        """Return the event times of the kept versions of a key, sorted."""
        return sorted(self._keys[key].versions) if key in self._keys else []

    def _fire(self, state: _Key[E]) -> list[Match[E]]:
        """Emit the left rows of a key that are due, and drop the versions that newer ones have replaced."""
        emitted = [(ts, row) for ts, row in state.waiting if is_due(ts, self._watermark)]
        state.waiting = [(ts, row) for ts, row in state.waiting if not is_due(ts, self._watermark)]
        matches = [self._match(state, ts, row) for ts, row in emitted]
        newest = max((ts for ts in state.versions if is_due(ts, self._watermark)), default=MIN)
        state.versions = {ts: version for ts, version in state.versions.items() if ts >= newest}
        state.timer = min((ts for ts, _ in state.waiting), default=None)
        return matches

    def _match(self, state: _Key[E], ts: int, row: E) -> Match[E]:
        valid = max((version for version in state.versions if version <= ts), default=None)
        return Match(row, None if valid is None else state.versions[valid], ts, valid)
