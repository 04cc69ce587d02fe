"""What a plan reads of the sources and of the lake, by Spark: any table that Spark reads, in any file system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.jobs.plan import arrival_slices, changed_windows, delta_rs_tables, source_changes
from spark_jobs.jobs.plan.changed_windows import ChangedWindows
from spark_jobs.jobs.plan.check import checked
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.session import interpreting
from spark_jobs.tables import ledger, source
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_as_of
from spark_jobs.tables.run import Run
from spark_jobs.tables.source import RowChanges


@dataclass(frozen=True)
class SparkTables:
    """The tables of a plan, read by Spark (`plan_tables.PlanTables`).

    With `remembers`, the lake remembers a check that passes, for plans without Spark (`delta_rs_tables`), and what the
    run itself needs again.
    """

    spark: SparkSession
    pipeline: Pipeline
    lake: Lake
    remembers: bool = False

    def runs(self) -> Sequence[Run]:
        """Return all runs of the ledger."""
        return ledger.runs(self.spark, self.lake)

    def checked_versions(self) -> dict[str, int]:
        """Return the newest version of each source. Raises InputError if the pipeline does not fit the sources."""
        versions = checked(self.spark, self.pipeline)
        if self.remembers:
            delta_rs_tables.remember_check(self.pipeline, self.lake, versions)
        return versions

    def table_ids(self, versions: Mapping[str, int]) -> dict[str, str]:
        """Return Delta's id of each source at its version. Raises SourceError for a version that is gone."""
        return source.table_ids(self.spark, self.pipeline, versions)

    def rewritten(self, since: int, until: int, covered: datetime) -> str | None:
        """Return the change of rows that arrived before `covered`, in words; None without one."""
        return arrival_slices.rewritten(self.spark, self.pipeline, since, until, covered)

    def row_changes(self, table: str, since: int, until: int) -> RowChanges | None:
        """Return the changes of a source; None if their log is deleted."""
        return source.row_changes(self.spark, table, since, until)

    def changed_windows(self, base: Run, run: Run, other_parts: Sequence[Interval]) -> ChangedWindows:
        """Return the windows whose results may differ between `base` and `run`. Raises UnknownChangesError."""
        return changed_windows.changed_windows(
            self.spark, self.pipeline, self.lake, base, run, other_parts, keeps=self.remembers
        )

    def count_changed_rows(self, since: Run, run: Run) -> int:
        """Return the number of rows by which the inputs of two runs differ. Raises UnknownChangesError."""
        return changed_windows.count_changed_rows(self.spark, self.pipeline, since, run)

    def require_types(self, latest: Run, versions: Mapping[str, int]) -> None:
        """Raise InputError if a source's column has another type than in the tables that `latest` has published."""
        source_changes.require_types(self.spark, self.pipeline, self.lake, latest, versions)

    def resumption(self, last: Run, covered_us: int) -> Resumption | None:
        """Return the state from which a run resumes after `last`, the run published last."""
        kept_emissions = read_as_of(interpreting(self.spark), self.lake, last, "advances")
        return resume.resumption(kept_emissions, covered_us, self.pipeline)
