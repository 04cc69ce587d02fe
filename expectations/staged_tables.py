"""What a run has staged, reduced to the columns that invariants look at.

Those of the reduced tables that are small and read by several suites Spark keeps, from the first look until `release`.
A key is one struct column, so that a null in it is a value like any other wherever rows are grouped,
and so that no name of the user's can meet a name of ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Self, TypeVar

from pyspark.sql import DataFrame

from expectations.errors import AuditError
from spark_jobs.pipeline.model import Pipeline

WINDOW = ("window_start", "window_end")
R = TypeVar("R")


class StagedTables(ABC):
    """The reduced tables of a run, its pipeline, and the counts that its steps reported."""

    def __init__(
        self,
        tables: Mapping[str, DataFrame],
        pipeline: Pipeline,
        counts: Mapping[str, int],
        run_id: str | None = None,
        earlier: Sequence[Mapping[str, int]] = (),
    ) -> None:
        """Take the staged tables by name, the run that has staged them, if it is known, and the counts of earlier ones.

        Raises AuditError for a table, column or count that is not there.
        """
        self.pipeline = pipeline
        self.counts = counts
        self.run_id = run_id
        self.earlier = earlier
        self._tables = tables
        self._kept: list[DataFrame] = []
        self._found: dict[object, Future[Any]] = {}
        self._finding = Lock()
        for table, names in self._columns.items():
            if table not in tables:
                raise AuditError(
                    f"asked for the staged table {table}, found only {', '.join(sorted(tables)) or 'none'}"
                )
            there = {name.lower() for name in tables[table].columns}
            if missing := [name for name in names if name.lower() not in there]:
                raise AuditError(f"the staged table {table} has no column {', '.join(missing)}; stage the run again")
        if missing := [name for name in self._needed_counts if name not in counts]:
            raise AuditError(f"the replay reported no {' and no '.join(missing)}; run the replay step again")

    @property
    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table that are looked at."""

    @property
    @abstractmethod
    def _needed_counts(self) -> Iterable[str]:
        """The counts that invariants need."""

    def once(self, find: Callable[[Self], R]) -> R:
        """What `find` finds in these tables; of several threads that ask, the first one looks and the others wait."""
        with self._finding:
            is_first = find not in self._found
            found: Future[R] = self._found.setdefault(find, Future())
        if is_first:
            try:
                found.set_result(find(self))
            except BaseException as problem:
                found.set_exception(problem)
                raise
        return found.result()

    def release(self) -> None:
        """Let Spark forget what it kept."""
        for table in self._kept:
            table.unpersist()
        self._kept.clear()

    def _keep(self, reduced: DataFrame) -> DataFrame:
        self._kept.append(reduced.persist())
        return self._kept[-1]
