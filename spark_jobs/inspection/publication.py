"""A publication: the tables that a run has published, each at the version of the run, read by delta-rs.

A table is opened once a minute, and files are read as a query needs them. Columns of the source are hidden by default.
A page then shows the columns that every pipeline has, and those of the key and of the source partition. Results and
`watermarks` contain these values too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

from spark_jobs.inspection import value_texts
from spark_jobs.inspection.run_settings import RunSettings
from spark_jobs.pipeline.published_tables import BY_NAME, PAIRS, PANES
from spark_jobs.semantics.rows.carried_columns import carried_name
from spark_jobs.tables import delta_rs, run_history
from spark_jobs.tables.delta_rs import Table
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import HASTY
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import Run, in_order

#: For so long a table that was removed and made anew may be taken for the old one.
_KEPT_OPEN_S = 60
# The log has times in whole milliseconds, without the rest.
_TRUNCATED = timedelta(milliseconds=1)
#: The column with the name of a row's source or input.
_SOURCE = "source"


class NoPublicationError(ValueError):
    """A run without the published table that an inspection needs."""


@dataclass(frozen=True)
class Span:
    """Rows whose time in `column` is from `first` to `last`, both inclusive."""

    column: str
    first: datetime
    last: datetime

    @classmethod
    def of_window(cls, start: datetime) -> Span:
        """Return the rows of the window that starts at `start`."""
        return cls("window_start", start, start)

    def may_have(self, file: Mapping[str, Any]) -> bool:
        """Return whether a file may have such a row, by the statistics of its log."""
        least, most = file[f"min.{self.column}"], file[f"max.{self.column}"]
        if least is None or most is None:
            return True
        return bool(least <= self.last and self.first <= most + _TRUNCATED)


@dataclass(frozen=True)
class PublishedTable:
    """A published table at the version of a run; `columns` in the order of the table."""

    path: str
    table: Table

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        return tuple(field.name for field in self.table.delta.schema().fields)

    def carried(self, name: str) -> str | None:
        """Return the name in the table of a column of the source; None if the table does not carry it."""
        stored = carried_name(self.table.delta.schema().fields, name)
        return next((column for column in self.columns if column.lower() == stored.lower()), None)

    def select(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query over `t`. Raises LakeError."""
        try:
            return self.table.select(query)
        except Exception as problem:
            raise LakeError(f"{self.path} cannot be read: {delta_rs.one_line(problem)}") from problem

    def file_rows(self, span: Span | None = None) -> int | None:
        """Return the number of rows by the log of the table; None if a file has no statistics.

        With `span`, only files count that may have a row in it.
        """
        if span is None:
            files = self.table.files("num_records")
        else:
            names = ("num_records", f"min.{span.column}", f"max.{span.column}")
            files = [file for file in self.table.files(*names) if span.may_have(file)]
        counts = [file["num_records"] for file in files]
        return None if None in counts else sum(counts)


@dataclass(frozen=True)
class Publication:
    """What a run has published."""

    lake: Lake
    run: Run

    @property
    def settings(self) -> RunSettings:
        """The settings of the run."""
        return RunSettings.of(self.run)

    @cached_property
    def repaired(self) -> RepairedWindows:
        """The windows of the tables that a repair has computed. Raises LakeError."""
        published = in_order(run_history.every(self.lake))
        own = next((place for place, run in enumerate(published) if run.run_id == self.run.run_id), None)
        return RepairedWindows.after([self.run] if own is None else published[: own + 1])

    def table(self, name: str) -> PublishedTable:
        """Return a table. Raises NoPublicationError if the run has none, and LakeError."""
        version = self.run.versions.get(name)
        if version is None:
            raise NoPublicationError(f"run {self.run.run_id} has published no table {name}")
        path = self.lake.path(name)
        return PublishedTable(path, _opened(path, version, int(time.monotonic() // _KEPT_OPEN_S)))

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns of the key, by the settings of the run, or else by the columns of its results."""
        if self.settings.joins:
            return ()
        if self.settings.are_known:
            return self.settings.names("windows.key")
        columns = self.table(PANES.name if PANES.name in self.run.versions else PAIRS.name).columns
        own = {column.name for column in PANES.own_columns}
        return tuple(_until(columns, own))

    @cached_property
    def partition(self) -> tuple[str, ...]:
        """The columns of the source partition; the name of the source is the first one of several sources."""
        names = self.settings.names("source.source_partition.columns")
        return (_SOURCE, *names) if self.settings.is_united or self.settings.joins else names

    def visible(self, table: PublishedTable, name: str, *, shows_source: bool) -> list[str]:
        """Return the columns of a table that a page may show, in the order of the table.

        `name` is that of the table. Without `shows_source` these are the table's own columns, those of the key, and
        those of the source partition.
        """
        if shows_source:
            return list(table.columns)
        named = (*self.key, *self.partition)
        names = {*BY_NAME[name].names, *(carried for each in named if (carried := table.carried(each)) is not None)}
        return [column for column in table.columns if column in names]


def columns_of(table: PublishedTable, names: Sequence[str]) -> dict[str, str]:
    """Return the names in the table by names of the source, without columns that the table does not carry."""
    return {name: carried for name in names if (carried := table.carried(name)) is not None}


def are_values(columns: Mapping[str, str], values: Mapping[str, str]) -> list[str]:
    """Return a condition for each value; `columns` are the names in the table."""
    return [value_texts.sql_is(columns[name], text) for name, text in values.items() if name in columns]


def _until(columns: Sequence[str], own: set[str]) -> list[str]:
    """Return the columns before the first one that every pipeline has."""
    first = next((place for place, column in enumerate(columns) if column in own), len(columns))
    return list(columns[:first])


@lru_cache(maxsize=64)
def _opened(path: str, version: int, _minute: int) -> Table:
    return delta_rs.at_version(path, version, HASTY)
