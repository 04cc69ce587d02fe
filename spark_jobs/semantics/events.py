"""An event is a source row with what a replay needs to know of it: its times, validity, partition, and position.

A row is invalid (it has a reason), or filtered (`where` is not true), or it fills windows. Invalid rows neither move
the watermark nor take a position. Filtered rows do both under `placement: source`, and under `after_where` they do not
exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.semantics.arrival_order import Comparable, position
from spark_jobs.semantics.event_time import TimeReader, invalid_reason
from spark_jobs.semantics.expressions import Expression, column
from spark_jobs.semantics.instants import floor_to_ms
from spark_jobs.semantics.partitions import label

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Pipeline

Row = Mapping[str, Any]
Predicate = Callable[[Row], object]


@dataclass(frozen=True)
class Event:
    """A valid row. `clock_us` orders it and dates what it causes: arrival, or event time with `order: event_time`."""

    row: Row
    event_us: int
    arrival_us: int
    clock_us: int
    partition: str
    is_kept: bool
    position: Comparable

    @property
    def ts(self) -> int:
        """Event time in milliseconds."""
        return floor_to_ms(self.event_us)


class EventReader:
    """Reads a pipeline's rows; `where` stands in for a condition that the reference cannot read."""

    def __init__(self, pipeline: Pipeline, where: Predicate | None = None) -> None:
        source = pipeline.source
        self._source = source
        self._event_time = TimeReader(source.event_time)
        self._arrival_time = None if source.arrival_time is None else TimeReader(source.arrival_time)
        self._in_event_time_order = pipeline.replay.order.value == "event_time"
        self._order = (*source.source_partition.columns, *source.tie_break)
        if where is None and source.where is not None:
            where = Expression(source.where).evaluate
        self._where = where
        if self._arrival_time is None and not self._in_event_time_order:
            raise ValueError(
                "asked for a replay in arrival order, found no source.arrival_time; "
                "declare it, or set replay.order to event_time"
            )

    def read(self, row: Row) -> Event | str:
        """Give the row as an event, or the reason why it is invalid."""
        event_us = self._event_time.micros(row)
        arrival_us = None if self._arrival_time is None else self._arrival_time.micros(row)
        reason = invalid_reason(
            event_us,
            arrival_us,
            arrival_is_declared=self._arrival_time is not None,
            future_guard_ms=self._source.future_guard_ms,
        )
        if reason is not None or event_us is None:
            return str(reason)
        known_us = event_us if arrival_us is None else arrival_us
        clock_us = event_us if self._in_event_time_order else known_us
        return Event(
            row=row,
            event_us=event_us,
            arrival_us=known_us,
            clock_us=clock_us,
            partition=label(column(row, name) for name in self._source.source_partition.columns),
            is_kept=self._where is None or bool(self._where(row)),
            position=position(row, clock_us, self._order),
        )
