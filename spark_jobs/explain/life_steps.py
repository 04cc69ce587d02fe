"""The steps of a window: its rows in the order of arrival, the panes that fire, and the end of its state.

Law: a window with state is closed by the first emission with `cleanup <= watermark` (rule 51). The step comes before
the first row that finds such a watermark. A session that absorbs others takes over their state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.explain.explanations import ExplainedPane, LifeStep, Step
from spark_jobs.explain.life import ArrivedRow, Life, LifePane
from spark_jobs.explain.moments import Emission, time_us
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.spec import Windows
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time
from spark_jobs.semantics.windows.window_assigners import TimeWindow
from spark_jobs.tables.repaired_windows import RepairedWindows


@dataclass(frozen=True)
class RowFacts:
    """What an explanation shows of a row: its columns, its clock in microseconds, and its input (None without a join).

    The clock is None where rows have no clock.
    """

    values: Mapping[str, Any]
    clock_us: int | None
    input: str | None = None


class LifeSteps:
    """The steps of the window that starts at `start_ms`, or of all sessions for None.

    `sources` are the rows behind those of the life, by number - 1. `pane` explains a pane of the life. `closings`
    returns the emission that reaches each of some watermarks (ms), without those that no emission reaches. The state of
    a repaired window has no end.
    """

    def __init__(
        self,
        lived: Life,
        sources: Sequence[RowFacts],
        windows: Windows,
        start_ms: int | None,
        *,
        pane: Callable[[LifePane], ExplainedPane],
        closings: Callable[[Collection[int]], Mapping[int, Emission]],
        repaired: RepairedWindows,
    ) -> None:
        self._lived, self._sources, self._pane_of = lived, sources, pane
        self._start_ms, self._windows, self._repaired = start_ms, windows, repaired
        owned = [v.window for verdicts in lived.verdicts.values() for v in verdicts if self._has(v.window)]
        self._closings = closings({self._cleanup(window) for window in owned})
        # Windows with state.
        self._open: dict[TimeWindow, None] = {}

    def all(self) -> Iterator[LifeStep]:
        """Yield all steps in order; to be called once."""
        for step in self._lived.steps:
            if isinstance(step, LifePane):
                if self._has(step.pane.window):
                    yield self._pane(step)
            else:
                yield from self._closed(step.watermark)
                yield from self._row(step)
        yield from self._closed(None)

    def _has(self, window: TimeWindow) -> bool:
        return self._start_ms is None or window.start == self._start_ms

    def _cleanup(self, window: TimeWindow) -> int:
        return cleanup_time(window, self._repaired.spec(self._windows, window.start).lateness_ms)

    def _row(self, row: ArrivedRow) -> Iterator[LifeStep]:
        source = self._sources[row.number - 1]
        for verdict in self._lived.verdicts[row.number]:
            if not self._has(verdict.window):
                continue
            yield _step(
                Step.ROW,
                verdict.window,
                time_us(source.clock_us),
                table_time(row.watermark),
                row=source.values,
                input=source.input,
                event_time=table_time(row.ts),
                verdict=verdict.lateness.value,
            )
            if verdict.lateness is not Lateness.TOO_LATE:
                window = verdict.window
                absorbed = [other for other in self._open if window.start <= other.start and other.end <= window.end]
                for other in absorbed:
                    del self._open[other]
                self._open[window] = None

    def _pane(self, fired: LifePane) -> LifeStep:
        pane = self._pane_of(fired)
        return _step(Step.PANE, fired.pane.window, pane.fired_at, pane.watermark, pane=pane)

    def _closed(self, watermark: int | None) -> Iterator[LifeStep]:
        """Yield the end of each window that a watermark closes; None: of all that are ever closed."""
        due = [window for window in self._open if watermark is None or self._cleanup(window) <= watermark]
        for window in sorted(due, key=self._cleanup):
            del self._open[window]
            emission = self._closings.get(self._cleanup(window))
            if emission is not None:
                yield _step(Step.CLOSED, window, time_us(emission.clock_us), table_time(emission.watermark))


def _step(step: Step, window: TimeWindow, at: datetime | None, watermark: datetime | None, **more: Any) -> LifeStep:
    bounds = table_time_us(window.start * 1000), table_time_us(window.end * 1000)
    return LifeStep(step, at, watermark, *bounds, **more)
