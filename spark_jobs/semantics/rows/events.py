"""An event is a source row with what a replay needs to know of it: its times, validity, partition, and position.

A row is invalid (it has a reason), or filtered (`where` is not true), or it fills windows. Invalid rows neither move
the watermark nor take a position. Filtered rows do both under `placement: source`, and under `after_where` they do not
exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION, Comparable, position
from spark_jobs.semantics.rows.event_time import OFFSET_MISSING, TimeReader, invalid_reason
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.rows.instants import floor_to_ms, micros
from spark_jobs.semantics.rows.partition_labels import label
from spark_jobs.semantics.spec import Order, ReplaySpec

Row = Mapping[str, Any]
Predicate = Callable[[Row], object]


class OffsetError(ValueError):
    """An offset that is no integer."""


@dataclass(frozen=True)
class Event:
    """A valid row. `clock_us` orders it and dates what it causes: the time that the arrival order begins with.

    In commit order `row` is without what Delta says of the commit, and arrival is the commit where none is declared. In
    the order of offsets an event has no clock, and its position none, before `rounds` gives it one; there arrival is
    None if none is declared.
    """

    row: Row
    event_us: int
    arrival_us: int | None
    clock_us: int
    partition: str
    is_kept: bool
    position: Comparable
    source: str = ""

    @property
    def ts(self) -> int:
        """Event time in milliseconds."""
        return floor_to_ms(self.event_us)


class EventReader:
    """Reads a pipeline's rows; `where` stands in for a condition that the reference cannot read."""

    def __init__(self, pipeline: ReplaySpec, where: Predicate | None = None) -> None:
        source = pipeline.source
        self._source = source
        self._event_time = TimeReader(source.event_time)
        self._arrival_time = None if source.arrival_time is None else TimeReader(source.arrival_time)
        self._order_by = pipeline.replay.order
        self._order = (*source.source_partition.columns, *source.tie_break)
        self._offset = None if source.offset is None else Expression(source.offset)
        if where is None and source.where is not None:
            where = Expression(source.where).evaluate
        self._where = where
        if self._arrival_time is None and self._order_by is Order.ARRIVAL:
            raise ValueError(
                "asked for a replay in arrival order, found no source.arrival_time; "
                "declare it, or set replay.order to commit or event_time"
            )

        if self._offset is None and self._order_by is Order.OFFSET:
            raise ValueError("asked for a replay in the order of offsets, found no source.offset; declare it")

    def columns(self, row: Row) -> Row:
        """Give the row's own columns, without what Delta says of its commit in commit order."""
        return _commit(row)[1] if self._order_by is Order.COMMIT else row

    def read(self, row: Row) -> Event | str:
        """Give the row as an event, or the reason why it is invalid."""
        commit = None
        if self._order_by is Order.COMMIT:
            commit, row = _commit(row)
        event_us = self._event_time.micros(row)
        if self._arrival_time is None:
            arrival_us = None if commit is None else commit.clock_us
        else:
            arrival_us = self._arrival_time.micros(row)
        reason = invalid_reason(
            event_us,
            arrival_us,
            arrival_is_declared=self._arrival_time is not None or commit is not None,
            future_guard_ms=self._source.future_guard_ms,
        )
        if reason is not None or event_us is None:
            return str(reason)
        if self._order_by is Order.OFFSET:
            return self._by_offset(row, event_us, arrival_us)
        known_us = event_us if arrival_us is None else arrival_us
        clock_us = event_us if self._order_by is Order.EVENT_TIME else known_us
        first: tuple[int, ...] = (clock_us,)
        if commit is not None:
            clock_us, first = commit.clock_us, (commit.clock_us, commit.version, event_us)
        return Event(
            row=row,
            event_us=event_us,
            arrival_us=known_us,
            clock_us=clock_us,
            partition=self._partition(row),
            is_kept=self._is_kept(row),
            position=position(row, first, self._order),
        )

    def _by_offset(self, row: Row, event_us: int, arrival_us: int | None) -> Event | str:
        found = None if self._offset is None else self._offset.evaluate(row)
        if found is None:
            return OFFSET_MISSING
        if not isinstance(found, int) or isinstance(found, bool):
            raise OffsetError(f"source.offset: '{self._source.offset}' gave {found!r}: expected an integer")
        partition = self._partition(row)
        return Event(
            row=row,
            event_us=event_us,
            arrival_us=arrival_us,
            clock_us=0,
            partition=partition,
            is_kept=self._is_kept(row),
            position=(partition, found, *position(row, (), self._order)),
        )

    def _partition(self, row: Row) -> str:
        return label(column(row, name) for name in self._source.source_partition.columns)

    def _is_kept(self, row: Row) -> bool:
        return self._where is None or bool(self._where(row))


class UnitedReader:
    """Reads the rows of several sources, each by its own; a row's column `source` says whose it is."""

    def __init__(self, pipeline: ReplaySpec, where: Predicate | None = None) -> None:
        self._readers = {
            united.name: (number, EventReader(pipeline.alone(united), where), united.source.source_partition.columns)
            for number, united in enumerate(pipeline.sources)
        }

    def columns(self, row: Row) -> Row:
        """Give the row's own columns."""
        return row

    def read(self, row: Row) -> Event | str:
        """Give the row as an event, or the reason why it is invalid."""
        name = column(row, "source")
        if name not in self._readers:
            known = ", ".join(self._readers)
            raise ValueError(f"found a row of the source {name!r}, the pipeline has {known}")
        number, reader, columns = self._readers[name]
        event = reader.read(row)
        if isinstance(event, str):
            return event
        partition = label((name, event.partition)) if columns else name
        clock, *rest = event.position
        return replace(event, source=name, partition=partition, position=(clock, number, *rest))


def event_reader(pipeline: ReplaySpec, where: Predicate | None = None) -> EventReader | UnitedReader:
    """Make the reader of a pipeline's rows. Raises ValueError for what cannot be read."""
    return UnitedReader(pipeline, where) if pipeline.sources else EventReader(pipeline, where)


@dataclass(frozen=True)
class _Commit:
    version: int
    clock_us: int


def _commit(row: Row) -> tuple[_Commit, Row]:
    """The commit that brought a row, and the row itself."""
    version, moment = row.get(COMMIT_VERSION), row.get(COMMIT_TIMESTAMP)
    if version is None or moment is None:
        raise ValueError(
            f"asked for a replay in commit order, found a row without {COMMIT_VERSION} and {COMMIT_TIMESTAMP}; "
            "read the rows from Delta's change data feed"
        )
    rest = {name: value for name, value in row.items() if name not in {COMMIT_VERSION, COMMIT_TIMESTAMP}}
    return _Commit(version, micros(moment)), rest
