"""An event is a source row with what a replay needs: its times, validity, source partition and position.

A row is invalid (it has a reason), or left out (`left_out`), or it fills windows. Invalid rows do not move the
watermark and have no position. Rows that are left out move the watermark and have a position if the placement is
SOURCE; with AFTER_WHERE the job does not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.semantics.rows import time_faults
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION, Comparable, position
from spark_jobs.semantics.rows.event_time import OFFSET_MISSING, TimeReader, invalid_reason, may_count
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.rows.instants import floor_to_ms, micros
from spark_jobs.semantics.rows.left_out import LeftOut, RowFilter, Verdict, identity, repeated
from spark_jobs.semantics.rows.partition_labels import of_row, of_source
from spark_jobs.semantics.rows.used_columns import carried, narrows, used
from spark_jobs.semantics.spec import Order, ReplaySpec

Row = Mapping[str, Any]
Predicate = Callable[[Row], object]


class OffsetError(ValueError):
    """An offset that is not an integer."""


@dataclass(frozen=True)
class Event:
    """A valid row. `clock_us` is the first field of its position, and the clock of everything that the row causes.

    In commit order `row` lacks the columns of the commit, and arrival is the commit's time unless one is declared. In
    the order of offsets `watermark.rounds` adds the clock to event and position; arrival is None unless declared.
    """

    row: Row
    event_us: int
    arrival_us: int | None
    clock_us: int
    partition: str
    verdict: Verdict
    position: Comparable
    source: str = ""
    identity: Comparable | None = None

    @property
    def is_kept(self) -> bool:
        """True if the row fills windows."""
        return self.verdict.left_out is None

    @property
    def ts(self) -> int:
        """Event time in milliseconds."""
        return floor_to_ms(self.event_us)


class EventReader:
    """Reads the rows of one source.

    `condition` replaces a `where` that the reference cannot evaluate, `columns` and `rules` do so for computed columns
    and rules of quarantine by name.
    """

    def __init__(
        self,
        spec: ReplaySpec,
        condition: Predicate | None = None,
        columns: Mapping[str, Predicate] | None = None,
        rules: Mapping[str, Predicate] | None = None,
    ) -> None:
        source = spec.source
        self._spec, self._source = spec, source
        self._event_time = TimeReader(source.event_time)
        self._arrival_time = None if source.arrival_time is None else TimeReader(source.arrival_time)
        self._order_by = spec.replay.order
        self._order = (*source.source_partition.columns, *source.tie_break)
        self._offset = None if source.offset is None else Expression(source.offset)
        self._filter = RowFilter(source, condition, rules)
        self._columns = {
            computed.name: (columns or {}).get(computed.name) or Expression(computed.expression).evaluate
            for computed in source.columns
        }
        if self._arrival_time is None and self._order_by is Order.ARRIVAL:
            raise ValueError(
                "replay.order arrival: found no source.arrival_time; "
                "declare it, or set replay.order to commit or event_time"
            )

        if self._offset is None and self._order_by is Order.OFFSET:
            raise ValueError("replay.order offset: found no source.offset; declare it")

    def completed(self, row: Row) -> Row:
        """Return a row of the table with its computed columns. Raises ValueError for a name that the table has."""
        names = {name.lower() for name in row}
        if repeated := [computed.name for computed in self._source.columns if computed.name.lower() in names]:
            raise ValueError(f"source.columns: found the name '{repeated[0]}', which is a column of the row")
        return {**row, **{name: compute(row) for name, compute in self._columns.items()}}

    def columns(self, row: Row) -> Row:
        """Return the source's columns of a row that the replay uses, without the columns of a commit."""
        row = _commit(row)[1] if self._order_by is Order.COMMIT else row
        return {name: row[name] for name in used(row, self._spec)} if narrows(self._source) else row

    def carried(self, row: Row) -> Row:
        """Return the columns of a row that late and invalid events carry."""
        return {name: row[name] for name in carried(row, self._spec)} if narrows(self._source) else row

    def read(self, row: Row) -> Event | str:
        """Return the row as an event, or the reason why it is invalid."""
        commit = None
        if self._order_by is Order.COMMIT:
            commit = _commit(row)[0]
        row = self.columns(row)
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
            arrival_may_count=may_count(self._source.arrival_time),
            event_fault=time_faults.MISSING if event_us is not None else self._event_time.fault(row),
            arrival_fault=self._arrival_fault(row, arrival_us),
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
            verdict=self._filter.judge(row),
            position=position(row, first, self._order),
            identity=identity(row, self._source.deduplicate),
        )

    def _by_offset(self, row: Row, event_us: int, arrival_us: int | None) -> Event | str:
        offset = None if self._offset is None else self._offset.evaluate(row)
        if offset is None:
            return OFFSET_MISSING
        if not isinstance(offset, int) or isinstance(offset, bool):
            raise OffsetError(f"source.offset: '{self._source.offset}' gave {offset!r}: expected an integer")
        partition = self._partition(row)
        return Event(
            row=row,
            event_us=event_us,
            arrival_us=arrival_us,
            clock_us=0,
            partition=partition,
            verdict=self._filter.judge(row),
            position=(partition, offset, *position(row, (), self._order)),
        )

    def _arrival_fault(self, row: Row, arrival_us: int | None) -> str:
        is_read = self._arrival_time is None or arrival_us is not None
        return time_faults.MISSING if is_read or self._arrival_time is None else self._arrival_time.fault(row)

    def _partition(self, row: Row) -> str:
        return of_row((name, column(row, name)) for name in self._source.source_partition.columns)


class UnitedReader:
    """Reads the rows of several sources; the column `source` holds the name of a row's source."""

    def __init__(
        self,
        spec: ReplaySpec,
        condition: Predicate | None = None,
        columns: Mapping[str, Predicate] | None = None,
        rules: Mapping[str, Predicate] | None = None,
    ) -> None:
        self._readers = {
            united.name: (
                number,
                EventReader(spec.alone(united), condition, columns, rules),
                united.source.source_partition.columns,
            )
            for number, united in enumerate(spec.sources)
        }
        self._computed = {computed.name for united in spec.sources for computed in united.source.columns}
        self._names: dict[str, None] = {}

    def completed(self, row: Row) -> Row:
        """Return a row of a table with its computed columns; those of the other sources are null."""
        _, reader, _ = self._reader(row)
        completed = {**dict.fromkeys(self._computed), **reader.completed(row)}
        self._names |= dict.fromkeys(completed)
        return completed

    def columns(self, row: Row) -> Row:
        """Return the columns of a row that the replay of its source uses; those of other sources are null."""
        _, reader, _ = self._reader(row)
        return self._together(reader.columns(row), EventReader.columns)

    def carried(self, row: Row) -> Row:
        """Return the columns of a row that late and invalid events carry; those of other sources are null."""
        _, reader, _ = self._reader(row)
        return self._together(reader.carried(row), EventReader.carried)

    def _together(self, own: Row, of: Callable[[EventReader, Row], Row]) -> Row:
        readers = [reader for _, reader, _ in self._readers.values()]
        names = {name for reader in readers for name in of(reader, dict.fromkeys(self._names))}
        return {name: own.get(name) for name in self._names if name in names}

    def read(self, row: Row) -> Event | str:
        """Return the row as an event, or the reason why it is invalid."""
        name = column(row, "source")
        number, reader, columns = self._reader(row)
        event = reader.read(row)
        if isinstance(event, str):
            return event
        partition = of_source(name, event.partition) if columns else name
        clock, *rest = event.position
        own_identity = None if event.identity is None else (number, event.identity)
        placed = (clock, number, *rest)
        return replace(event, source=name, partition=partition, position=placed, identity=own_identity)

    def _reader(self, row: Row) -> tuple[int, EventReader, tuple[str, ...]]:
        """Return the number of the row's source, its reader and its partition columns."""
        name = column(row, "source")
        if name not in self._readers:
            names = ", ".join(self._readers)
            raise ValueError(f"found a row of the source {name!r}, the pipeline has {names}")
        return self._readers[name]


def event_reader(
    spec: ReplaySpec,
    condition: Predicate | None = None,
    columns: Mapping[str, Predicate] | None = None,
    rules: Mapping[str, Predicate] | None = None,
) -> EventReader | UnitedReader:
    """Return the reader of the rows. Raises ValueError for an order without its time or offset."""
    kind = UnitedReader if spec.sources else EventReader
    return kind(spec, condition, columns, rules)


def without_duplicates(events: Iterable[Event]) -> list[Event]:
    """Return the events in the order of arrival, each kept event with an earlier one of its identity left out."""
    arrived = sorted(events, key=lambda event: event.position)
    are_repeated = repeated(event.identity if event.is_kept else None for event in arrived)
    return [
        replace(event, verdict=Verdict(LeftOut.DUPLICATES)) if is_repeated else event
        for event, is_repeated in zip(arrived, are_repeated, strict=True)
    ]


@dataclass(frozen=True)
class _Commit:
    version: int
    clock_us: int


def _commit(row: Row) -> tuple[_Commit, Row]:
    """Return the commit that added a row, and the row without the columns of the commit."""
    version, moment = row.get(COMMIT_VERSION), row.get(COMMIT_TIMESTAMP)
    if version is None or moment is None:
        raise ValueError(
            f"replay.order commit: found a row without {COMMIT_VERSION} and {COMMIT_TIMESTAMP}; "
            "read the rows from Delta's change data feed"
        )
    rest = {name: value for name, value in row.items() if name not in {COMMIT_VERSION, COMMIT_TIMESTAMP}}
    return _Commit(version, micros(moment)), rest
