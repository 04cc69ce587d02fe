"""The staged tables of a run, reduced to the columns that invariants use.

Spark persists the small tables that several suites read, from the first use until `release`. The key is one struct
column. So null is a key value when rows are grouped, and no column of the user can clash with a column of this project.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Self, TypeVar

from pyspark.sql import DataFrame

from expectations.errors import AuditError
from expectations.run_context import RunContext
from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Pipeline

WINDOW = ("window_start", "window_end")
R = TypeVar("R")


class StagedTables(ABC):
    """The reduced tables of a run, with its pipeline and the counts that its steps reported."""

    def __init__(
        self,
        tables: Mapping[str, DataFrame],
        pipeline: Pipeline,
        counts: Mapping[str, int],
        run_id: str | None = None,
        earlier: Sequence[Mapping[str, int]] = (),
        context: RunContext = RunContext(),  # noqa: B008
    ) -> None:
        """Take the staged tables by name, the counts of the run, and the counts of earlier runs, oldest first.

        `run_id` is None if the run is not known. `context` is what surrounds the run. Raises AuditError for a table,
        column or count that is missing.
        """
        self.pipeline = pipeline
        self.counts = counts
        self.run_id = run_id
        self.earlier = earlier
        self.context = context
        self.tables = tables
        self._persisted: list[DataFrame] = []
        self._results: dict[object, Future[Any]] = {}
        self._results_lock = Lock()
        for table, names in self._columns.items():
            if table not in tables:
                raise AuditError(
                    f"the staged table {table} is missing, found {', '.join(sorted(tables)) or 'no table'}; "
                    "stage the run again",
                    code=ErrorCode.STAGED_TABLES_MISSING,
                )
            staged_names = {name.lower() for name in tables[table].columns}
            if missing := [name for name in names if name.lower() not in staged_names]:
                raise AuditError(
                    f"the staged table {table} has no column {', '.join(missing)}; stage the run again",
                    code=ErrorCode.STAGED_TABLES_MISSING,
                )
        if missing := [name for name in self._needed_counts if name not in counts]:
            raise AuditError(
                f"the replay reported no {' and no '.join(missing)}; run the replay step again",
                code=ErrorCode.STAGED_TABLES_MISSING,
            )

    @property
    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[str]]:
        """The columns that invariants use, by table."""

    @property
    @abstractmethod
    def _needed_counts(self) -> Iterable[str]:
        """The counts that invariants need."""

    def once(self, compute: Callable[[Self], R]) -> R:
        """Return `compute(self)`, computed once. If several threads call at once, one computes and the others wait."""
        with self._results_lock:
            is_first = compute not in self._results
            result: Future[R] = self._results.setdefault(compute, Future())
        if is_first:
            try:
                result.set_result(compute(self))
            except BaseException as problem:
                result.set_exception(problem)
                raise
        return result.result()

    def release(self) -> None:
        """Unpersist all tables that `keep` has persisted."""
        for table in self._persisted:
            table.unpersist()
        self._persisted.clear()

    def keep(self, reduced: DataFrame) -> DataFrame:
        """Persist a table until `release`."""
        self._persisted.append(reduced.persist())
        return self._persisted[-1]
