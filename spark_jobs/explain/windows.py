"""The life of one key's window, or of its sessions around an instant, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.explain.arrived import Around, Arrived
from spark_jobs.explain.explanations import LifeStep, Step, WindowLife
from spark_jobs.explain.life_steps import LifeSteps, RowFacts
from spark_jobs.explain.lives import Lives
from spark_jobs.explain.streams import Stream, key_column
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners


def explain_window(stream: Stream, start_ms: int, key: Mapping[str, str | None]) -> WindowLife | None:
    """Explain the window of a key that starts at `start_ms`; None for a window without rows.

    `key` contains the key columns by name, as text of any type; None: null. Of sessions, all of one component are
    explained: that of the session with the instant `start_ms`. A row lasts from its event time to a gap behind it.
    """
    arrived, spec = Arrived(stream), stream.pipeline.windows
    ts, at = F.col(c.TS_MS), F.lit(start_ms)
    if spec.is_session:
        is_inside = (ts > at - F.lit(spec.gap_ms)) & (ts <= at)
    else:
        is_inside = (ts >= at) & (ts < window_assigners.end_ms(at, spec))
    chosen = arrived.first(reduce(Column.__and__, is_key(stream, key), is_inside))
    around = arrived.around(chosen)
    if not around:
        return None
    ((number, each),) = around.items()
    lives = Lives(arrived, stream, around)
    if not each.is_whole:
        return WindowLife(dict(key), each.size, None)
    steps = _steps(stream, lives, number, each, None if spec.is_session else start_ms)
    return WindowLife(dict(key), sum(step.step is Step.ROW for step in steps), steps) if steps else None


def is_key(stream: Stream, key: Mapping[str, str | None]) -> Iterator[Column]:
    """Yield the conditions that rows of `Stream.filling` have a key, which is text of any type; None: null."""
    for number, name in enumerate(stream.key):
        column, text = F.col(key_column(number)), key[name]
        yield column.isNull() if text is None else column.cast("string") == F.lit(text)


def _steps(stream: Stream, lives: Lives, number: int, around: Around, start_ms: int | None) -> list[LifeStep]:
    """Return the steps of the window that starts at `start_ms` around a chosen row, or of all sessions for None."""
    sources = [RowFacts(stream.values(row), row[c.CLOCK_US], stream.input_of(row)) for row in around.sources]
    steps = LifeSteps(
        lives.of[number],
        sources,
        stream.pipeline.windows,
        start_ms,
        pane=lambda fired: lives.pane(number, fired),
        closings=lives.closings,
        repaired=stream.repaired,
    )
    return list(steps.all())
