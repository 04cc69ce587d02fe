"""The life of one key's window, or of its sessions around an instant, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.explain.arrived import Around, Arrived, Emission
from spark_jobs.explain.explanations import LifeStep, Step, WindowLife
from spark_jobs.explain.life import ArrivedRow, LifePane
from spark_jobs.explain.lives import Lives, time_us
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.prepare import fills_windows
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time
from spark_jobs.semantics.windows.window_assigners import TimeWindow


def explain_window(
    arrived: Arrived, pipeline: Pipeline, start_ms: int, of_key: Column, key: Mapping[str, Any]
) -> WindowLife | None:
    """Explain the window that starts at `start_ms` of the key for which `of_key` holds; None for a window without rows.

    Of sessions, all of the component are explained that the instant `start_ms` lies in.
    """
    ts, spec = F.col(c.TS_MS), pipeline.windows
    at = F.lit(start_ms)
    length = F.lit(spec.gap_ms) if spec.is_session else window_assigners.end_ms(at, spec) - at
    before = length if spec.is_session else F.lit(0)
    chosen = arrived.choose(fills_windows() & of_key & (ts >= at - before) & (ts < at + length), 1)
    around = arrived.around(chosen)
    if not around:
        return None
    ((number, each),) = around.items()
    lives = Lives(arrived, pipeline, around)
    if not each.is_whole:
        return WindowLife(dict(key), each.size, None)
    steps = list(_Steps(pipeline, lives, number, each, None if spec.is_session else start_ms).all())
    return WindowLife(dict(key), sum(step.step is Step.ROW for step in steps), steps)


class _Steps:
    """The steps of the window that starts at `start_ms`, or of all sessions for None."""

    def __init__(self, pipeline: Pipeline, lives: Lives, number: int, around: Around, start_ms: int | None) -> None:
        self._lives, self._number, self._around, self._start_ms = lives, number, around, start_ms
        self._lateness_ms, self._names = pipeline.windows.lateness_ms, around.sources[0].asDict().keys()
        self._lived = lives.of[number]
        windows = [v.window for verdicts in self._lived.verdicts.values() for v in verdicts if self._has(v.window)]
        self._closings = lives.closings({self._cleanup(window) for window in windows})
        # Windows with state.
        self._open: dict[TimeWindow, None] = {}

    def all(self) -> Iterator[LifeStep]:
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
        return cleanup_time(window, self._lateness_ms)

    def _row(self, row: ArrivedRow) -> Iterator[LifeStep]:
        source = self._around.sources[row.number - 1]
        for verdict in self._lived.verdicts[row.number]:
            if not self._has(verdict.window):
                continue
            yield _step(
                Step.ROW,
                verdict.window,
                time_us(source[c.CLOCK_US]),
                table_time(row.watermark),
                row={name: source[name] for name in self._names if not name.startswith(c.PREFIX)},
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
        pane = self._lives.pane(self._number, fired)
        return _step(Step.PANE, fired.pane.window, pane.fired_at, pane.watermark, pane=pane)

    def _closed(self, watermark: int | None) -> Iterator[LifeStep]:
        """Yield the end of each window that a watermark closes; None: of all that are ever closed."""
        due = [window for window in self._open if watermark is None or self._cleanup(window) <= watermark]
        for window in sorted(due, key=self._cleanup):
            del self._open[window]
            emission: Emission | None = self._closings.get(self._cleanup(window))
            if emission is not None:
                yield _step(Step.CLOSED, window, time_us(emission.clock_us), table_time(emission.watermark))


def _step(step: Step, window: TimeWindow, at: datetime | None, watermark: datetime | None, **more: Any) -> LifeStep:
    bounds = table_time_us(window.start * 1000), table_time_us(window.end * 1000)
    return LifeStep(step, at, watermark, *bounds, **more)
