"""The life of one key's window, or of its sessions around an instant, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.explain.arrived import Around, Arrived, Emission
from spark_jobs.explain.explanations import LifeStep, Step, WindowLife
from spark_jobs.explain.life import ArrivedRow, LifePane
from spark_jobs.explain.lives import Lives, time_us
from spark_jobs.explain.streams import Stream, key_column
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time
from spark_jobs.semantics.windows.window_assigners import TimeWindow


def explain_window(stream: Stream, start_ms: int, key: Mapping[str, str | None]) -> WindowLife | None:
    """Explain the window of a key that starts at `start_ms`; None for a window without rows.

    `key` contains the key columns by name, as text of any type; None: null. Of sessions, all of the component are
    explained that the instant `start_ms` lies in.
    """
    arrived, spec = Arrived(stream), stream.pipeline.windows
    ts, at = F.col(c.TS_MS), F.lit(start_ms)
    length = F.lit(spec.gap_ms) if spec.is_session else window_assigners.end_ms(at, spec) - at
    before = length if spec.is_session else F.lit(0)
    chosen = arrived.first(reduce(Column.__and__, is_key(stream, key), (ts >= at - before) & (ts < at + length)))
    around = arrived.around(chosen)
    if not around:
        return None
    ((number, each),) = around.items()
    lives = Lives(arrived, stream.pipeline, around)
    if not each.is_whole:
        return WindowLife(dict(key), each.size, None)
    steps = list(_Steps(stream, lives, number, each, None if spec.is_session else start_ms).all())
    return WindowLife(dict(key), sum(step.step is Step.ROW for step in steps), steps)


def is_key(stream: Stream, key: Mapping[str, str | None]) -> Iterator[Column]:
    """Yield the conditions that rows of `Stream.filling` have a key, which is text of any type; None: null."""
    for number, name in enumerate(stream.key):
        column, text = F.col(key_column(number)), key[name]
        yield column.isNull() if text is None else column.cast("string") == F.lit(text)


class _Steps:
    """The steps of the window that starts at `start_ms`, or of all sessions for None."""

    def __init__(self, stream: Stream, lives: Lives, number: int, around: Around, start_ms: int | None) -> None:
        self._stream, self._lives, self._number, self._around = stream, lives, number, around
        self._start_ms, self._lateness_ms = start_ms, stream.pipeline.windows.lateness_ms
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
                row=self._stream.values(source),
                input=self._stream.input_of(source),
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
