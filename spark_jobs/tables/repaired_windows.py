"""Repaired windows: which windows in the tables are those of a repair, and which rows the repair has added to them.

Law: a window is that of the run published last whose interval contains its start. A repair accepts every row that had
arrived for it. A row that arrives later is judged as before: the window has long been closed.

Starts are milliseconds since 1970, clocks of arrival microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from spark_jobs.pipeline.model import LateData, Windows
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import REPAIR, ROLLBACK, Run


@dataclass(frozen=True)
class RepairedWindows:
    """The windows that a repair has computed. `runs` are published runs up to the one of the tables, oldest first."""

    runs: tuple[Run, ...] = ()

    @classmethod
    def after(cls, published: Iterable[Run]) -> RepairedWindows:
        """Return those in the tables after all `published` runs, which are ordered from the oldest to the newest."""
        effective, by_versions = cls(), dict[frozenset[tuple[str, int]], RepairedWindows]()
        for run in published:
            if run.kind == ROLLBACK:
                effective = by_versions.get(frozenset(run.source_versions.items()), cls())
            else:
                effective = cls((run,) if run.interval.whole else (*effective.runs, run))
            for step in run.version_steps:
                by_versions[frozenset(step.versions.items())] = effective
        return effective

    @cached_property
    def exist(self) -> bool:
        """Whether there may be such a window."""
        return any(run.kind == REPAIR for run in self.runs)

    def contains(self, start_ms: int) -> bool:
        """Return whether the window that starts then is that of a repair."""
        return self._repair(start_ms) is not None

    def until_us(self, start_ms: int) -> int | None:
        """Return the clock before which rows had arrived for the repair of a window; None: all rows had."""
        repair = self._repair(start_ms)
        return None if repair is None or repair.arrived_to is None else micros(repair.arrived_to)

    def spec(self, windows: Windows, start_ms: int) -> Windows:
        """Return the settings of a window: in a repair, late rows update it."""
        return replace(windows, late_data=LateData.UPDATE) if self.contains(start_ms) else windows

    def _repair(self, start_ms: int) -> Run | None:
        if not self.exist:
            return None
        newest = next((run for run in reversed(self.runs) if _starts_in(run.interval, start_ms)), None)
        return newest if newest is not None and newest.kind == REPAIR else None


def _starts_in(interval: Interval, start_ms: int) -> bool:
    return any(
        (piece.start is None or micros(piece.start) <= start_ms * 1000)
        and (piece.end is None or start_ms * 1000 < micros(piece.end))
        for piece in interval.pieces
    )
