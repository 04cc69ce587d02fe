"""A source declares a table of events and the roles of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spark_jobs.semantics.spec.times import TimeField


@dataclass(frozen=True)
class SourcePartition:
    """The columns that name the source partition of a row; each source partition has its own watermark.

    Without columns there is one partition. `declared` partitions (each a tuple of values in column order) exist from
    the beginning, with the watermark MIN until their first one (rule 26). Any other partition joins with its first row.
    """

    columns: tuple[str, ...] = ()
    declared: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class ComputedColumn:
    """A column that the table lacks: a SQL expression over the columns of its row, under a name."""

    name: str
    expression: str


@dataclass(frozen=True)
class QuarantineRule:
    """A rule about single rows: a row for which the SQL condition `unexpected` is true is set apart under the name."""

    name: str
    unexpected: str


@dataclass(frozen=True)
class Source:
    """A table of events and the roles of its columns.

    `future_guard_ms`: a row whose event time is later than its arrival by more than this is invalid; None: no guard.
    `offset` belongs to the order OFFSET: an integer column or SQL expression, the row's place in its partition.

    `columns` are computed for each row, and then columns of the source like those of the table. `select` and `exclude`
    are patterns of the columns that late and invalid events carry; without both, these are all columns. Rows that break
    a rule of `quarantine` are invalid events. Of rows with the same values in the columns `deduplicate`, the first to
    arrive stays.
    """

    table: str
    event_time: TimeField
    arrival_time: TimeField | None = None
    source_partition: SourcePartition = SourcePartition()
    tie_break: tuple[str, ...] = ()
    where: str | None = None
    future_guard_ms: int | None = 86_400_000
    offset: str | None = None
    columns: tuple[ComputedColumn, ...] = ()
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quarantine: tuple[QuarantineRule, ...] = ()
    deduplicate: tuple[str, ...] = ()

    @property
    def leaves_out(self) -> bool:
        """True if rows may be left out for another reason than `where`."""
        return bool(self.quarantine or self.deduplicate)
