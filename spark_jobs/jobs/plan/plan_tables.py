"""What a plan reads of the sources and of the lake, from whatever reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from spark_jobs.jobs.plan.changed_windows import ChangedWindows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run
from spark_jobs.tables.source import RowChanges


class PlanTables(Protocol):
    """The source tables of a pipeline and its lake, as a plan reads them.

    Versions and ids are by the names of sources, as in `source_tables.tables_of`.
    """

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""

    @property
    def lake(self) -> Lake:
        """The lake with the published results."""

    def runs(self) -> Sequence[Run]:
        """Return all runs of the ledger, ordered by when they were published or else last worked on."""

    def checked_versions(self) -> dict[str, int]:
        """Return the newest version of each source. Raises InputError if the pipeline does not fit the sources."""

    def table_ids(self, versions: Mapping[str, int]) -> dict[str, str]:
        """Return Delta's id of each source at its version. Raises SourceError for a version that is gone."""

    def rewritten(self, since: int, until: int, covered: datetime) -> str | None:
        """Return the change of rows that arrived before `covered`, in words; None without one.

        Reads the commits of the only source after the version `since`, up to `until`.
        """

    def row_changes(self, table: str, since: int, until: int) -> RowChanges | None:
        """Return the changes of a source by the commits after `since`, up to `until`; None if their log is deleted."""

    def changed_windows(self, base: Run, run: Run, other_parts: Sequence[Interval]) -> ChangedWindows:
        """Return the windows whose results may differ between `base` and `run` (`changed_windows.changed_windows`).

        Raises UnknownChangesError if the changes cannot be found out.
        """

    def count_changed_rows(self, since: Run, run: Run) -> int:
        """Return the number of rows by which the inputs of two runs differ. Raises UnknownChangesError."""

    def require_types(self, latest: Run, versions: Mapping[str, int]) -> None:
        """Raise InputError if a source's column has another type than in the tables that `latest` has published."""

    def resumption(self, last: Run, covered_us: int) -> Resumption | None:
        """Return the state from which a run resumes after `last`, the run published last.

        Returns None if its kept emissions begin too late.
        """
