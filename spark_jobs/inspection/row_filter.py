"""A filter of late or invalid rows: values of the key and of the source partition, a window, a range of lateness.

A filter comes from the address of a page, so it is no SQL: a condition is made of checked names and quoted texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_jobs.inspection import lateness_ranges
from spark_jobs.inspection.publication import PublishedTable, are_values, columns_of
from spark_jobs.inspection.sql_texts import instant, literal, quoted
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS
from spark_jobs.semantics.rows.instants import micros


class RowKind(StrEnum):
    """The rows of a page."""

    LATE = "late"
    INVALID = "invalid"

    @property
    def table(self) -> str:
        """The name of the published table."""
        return LATE_EVENTS.name if self is RowKind.LATE else INVALID_EVENTS.name


@dataclass(frozen=True)
class RowFilter:
    """Which rows a page shows.

    - `values`: texts by columns of the source, of the key and the partition, as in `value_texts`
    - `window_start`: the start of the newest window that a row missed; None: any
    - `lateness`: the label of a range; empty: any
    - `reason`: of invalid rows; empty: any
    """

    kind: RowKind = RowKind.LATE
    values: Mapping[str, str] = field(default_factory=dict)
    window_start: datetime | None = None
    lateness: str = ""
    reason: str = ""

    def condition(self, table: PublishedTable) -> str:
        """Return SQL that is true for the rows."""
        conditions = are_values(columns_of(table, list(self.values)), self.values)
        if self.window_start is not None and "window_start" in table.columns:
            conditions.append(f"{quoted('window_start')} = {instant(micros(self.window_start))}")
        chosen = lateness_ranges.find(self.lateness)
        if chosen is not None and "late_by_ms" in table.columns:
            conditions.append(chosen.condition)
        if self.reason and "reason" in table.columns:
            conditions.append(f"{quoted('reason')} = {literal(self.reason)}")
        return " AND ".join(conditions) or "TRUE"
