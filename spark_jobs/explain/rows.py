"""The explanation of rows that a condition holds for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, Row

from spark_jobs.explain.arrived import ID, Around, Arrived
from spark_jobs.explain.explanations import (
    INVALID,
    LEFT_OUT,
    RULES,
    UNASSIGNED,
    ExplainedRow,
    ExplainedWindow,
    PartitionWatermark,
)
from spark_jobs.explain.life import ArrivedRow, fate_of, least_bound_ms, least_lateness_ms
from spark_jobs.explain.lives import Lives, closing_time, time_ms, time_us
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.semantics.panes.window_operator import Verdict
from spark_jobs.semantics.rows.instants import table_time_us
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time


def explain_rows(arrived: Arrived, pipeline: Pipeline, condition: Column, most: int) -> list[ExplainedRow]:
    """Explain at most `most` rows that `condition` holds for, in the order of arrival."""
    chosen = arrived.choose(condition, most)
    rows = sorted(chosen.collect(), key=lambda row: int(row[ID]))
    if not rows:
        return []
    around = arrived.around(chosen)
    lives = Lives(arrived, pipeline, around)
    partitions, before = arrived.partitions(chosen), arrived.rows_before(chosen)
    explained = _Explained(arrived, pipeline, lives)
    return [explained.row(row, around.get(row[ID]), partitions.get(row[ID]), before.get(row[ID])) for row in rows]


class _Explained:
    def __init__(self, arrived: Arrived, pipeline: Pipeline, lives: Lives) -> None:
        self._arrived, self._pipeline, self._lives = arrived, pipeline, lives

    def row(
        self, row: Row, around: Around | None, partitions: Sequence[Row] | None, before: int | None
    ) -> ExplainedRow:
        fate, windows = self._judged(row, around)
        late_around = around if fate == Lateness.TOO_LATE.value else None
        watermark = row[c.WATERMARK_MS]
        # The clock of rounds is artificial: it is the time of emissions, not of rows.
        is_artificial = self._pipeline.replay.in_rounds or row[c.ARRIVAL_US] is not None
        return ExplainedRow(
            row={name: row[name] for name in self._arrived.source_columns},
            fate=fate,
            reason=row[c.REASON],
            event_time=time_us(row[c.EVENT_US]),
            arrival_time=time_us(row[c.ARRIVAL_US] if is_artificial else row[c.CLOCK_US]),
            source_partition=row[c.PARTITION],
            rows_before=before,
            watermark=time_ms(watermark),
            partitions=_partitions(partitions, watermark),
            windows=windows,
            least_bound_ms=self._least_bound(late_around) if late_around else None,
            least_lateness_ms=self._least_lateness(late_around) if late_around else None,
        )

    def _judged(self, row: Row, around: Around | None) -> tuple[str, list[ExplainedWindow]]:
        if around is None:
            return (LEFT_OUT if row[c.REASON] is None else INVALID), []
        lived, own = self._lives.of[row[ID]], around.row
        fate = fate_of(own, lived, self._pipeline.windows)
        windows = [self._window(row[ID], verdict, around) for verdict in lived.verdicts[own.number]]
        return (UNASSIGNED if fate is None else fate.value), windows

    def _window(self, number: int, verdict: Verdict[Any, ArrivedRow], around: Around) -> ExplainedWindow:
        window, spec = verdict.window, self._pipeline.windows
        # A session grows: its later panes have other bounds.
        panes = [
            self._lives.pane(number, fired)
            for fired in self._lives.of[number].panes
            if fired.contains(around.row.number) and (spec.is_session or fired.pane.window == window)
        ]
        return ExplainedWindow(
            window_start=table_time_us(window.start * 1000),
            window_end=table_time_us(window.end * 1000),
            verdict=verdict.lateness.value,
            rule=RULES[verdict.lateness.value],
            fires_at_watermark=time_ms(window.last),
            closes_at_watermark=closing_time(cleanup_time(window, spec.lateness_ms)),
            panes=panes if around.is_whole else None,
        )

    def _least_bound(self, around: Around) -> int | None:
        """Return the least bound or lag; None for a watermark that has neither, and for several sources."""
        watermark = self._pipeline.watermark
        if self._pipeline.is_united or not (watermark.is_bounded or watermark.follows_clock):
            return None
        more = least_bound_ms(around.row, around.rows, self._pipeline.windows)
        now = watermark.lag_ms if watermark.follows_clock else watermark.bound_ms
        return None if more is None else now + more

    def _least_lateness(self, around: Around) -> int | None:
        more = least_lateness_ms(around.row, around.rows, self._pipeline.windows)
        return None if more is None else self._pipeline.windows.allowed_lateness_ms + more


def _partitions(reached: Sequence[Row] | None, watermark_ms: int | None) -> list[PartitionWatermark] | None:
    if reached is None:
        return None
    return [
        PartitionWatermark(each.source_partition, time_ms(each.watermark_ms), each.watermark_ms == watermark_ms)
        for each in reached
    ]
