"""What a plan reads of the sources and of the lake, by delta-rs: without a Java, in a second.

It reads tables in folders and in object stores. Where only Spark knows the answer it raises NeedsSparkError, and the
caller plans with `spark_tables`. Law: a plan that is made here is the plan that Spark makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from spark_jobs.jobs.plan import arrival_slices, remembered_checks, source_changes
from spark_jobs.jobs.plan.changed_windows import ChangedWindows
from spark_jobs.jobs.plan.delta_rs_source import DeltaRsSource, NeedsSparkError, opened, struct_of
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.windows.grid import grid, newest_start, next_start
from spark_jobs.tables import commit_files, run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.run import Run
from spark_jobs.tables.source import RowChanges, row_changes_of
from spark_jobs.tables.source_tables import absolute_path, is_path, tables_of

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True)
class DeltaRsTables:
    """The tables of a plan, read by delta-rs (`plan_tables.PlanTables`); every method may raise NeedsSparkError.

    `fits` is the check of a pipeline whose check is not remembered: whether it fits these columns of its sources, by
    their names. Without it, such a pipeline needs Spark.
    """

    pipeline: Pipeline
    lake: Lake
    fits: Callable[[Mapping[str, T.StructType]], bool] | None = None

    def __post_init__(self) -> None:
        if self.pipeline.replay.by_commit:
            raise NeedsSparkError("replay.order commit needs all commits of the source")
        for table in tables_of(self.pipeline).values():
            if not is_path(table):
                raise NeedsSparkError(f"the table {table} has a name of a catalog")

    @classmethod
    def without_spark(cls, pipeline: Pipeline, lake: Lake) -> DeltaRsTables:
        """Return the tables of a plan without Spark. Raises NeedsSparkError for names in a catalog too."""
        if pipeline.publish_to is not None:
            raise NeedsSparkError("the catalog of publish_to is checked")
        return cls(pipeline, lake)

    def runs(self) -> Sequence[Run]:
        """Return all runs of the ledger."""
        try:
            if run_history.has_begun(self.lake):
                return run_history.every(self.lake)
        except LakeError as problem:
            raise NeedsSparkError(str(problem)) from problem
        if self.fits is None:
            raise NeedsSparkError("the pipeline has no ledger yet")
        return []

    def checked_versions(self) -> dict[str, int]:
        """Return the newest version of each source, if the pipeline fits it; remembers a check that passes."""
        if not remembered_checks.is_remembered(self.lake, self.check):
            if self.fits is None or not self.fits({name: source.struct for name, source in self.sources.items()}):
                raise NeedsSparkError("the pipeline was not checked with these columns yet")
            remembered_checks.remember(self.lake, self.check)
        return self.newest_versions

    @property
    def newest_versions(self) -> dict[str, int]:
        """The newest version of each source."""
        return {name: source.version for name, source in self.sources.items()}

    @property
    def check(self) -> str:
        """The key of the pipeline's check with the newest columns of its sources (`remembered_checks`)."""
        return remembered_checks.key_of(self.pipeline, {name: source.schema for name, source in self.sources.items()})

    def table_ids(self, versions: Mapping[str, int]) -> dict[str, str]:
        """Return Delta's id of each source at its version."""
        return {name: self._source(name, version).table_id for name, version in versions.items()}

    def rewritten(self, since: int, until: int, covered: datetime) -> str | None:
        """Return the change of rows that arrived before `covered`, in words; None without one."""
        source = self._source("", until)
        actions_by_version = _changes(source.path, since, until)
        if actions_by_version is None:
            return arrival_slices.log_is_gone(since, until)
        changed = row_changes_of(actions_by_version, until)
        if changed.removed:
            return arrival_slices.files_rewritten(changed, since)
        actions = [action for of_version in actions_by_version.values() for action in of_version]
        if any("metaData" in action for action in actions):
            raise NeedsSparkError("the settings or columns of the source have changed")
        files = {path for paths in changed.added.values() for path in paths}
        added = [action["add"] for action in actions if action.get("add", {}).get("path") in files]
        if self.pipeline.source.arrival_time is not None and not all(source.arrived(add, covered) for add in added):
            raise NeedsSparkError("rows may have come later than they arrived")
        return None

    def row_changes(self, table: str, since: int, until: int) -> RowChanges | None:
        """Return the changes of a source; None if their log is deleted."""
        actions_by_version = _changes(absolute_path(table), since, until)
        return None if actions_by_version is None else row_changes_of(actions_by_version, until)

    def changed_windows(self, base: Run, run: Run, other_parts: Sequence[Interval]) -> ChangedWindows:
        """Raise NeedsSparkError: rows are compared."""
        raise NeedsSparkError("the rows of changed files are compared")

    def count_changed_rows(self, since: Run, run: Run) -> int:
        """Raise NeedsSparkError: rows are compared."""
        raise NeedsSparkError("the rows of changed files are compared")

    def require_types(self, latest: Run, versions: Mapping[str, int]) -> None:
        """Raise InputError if a source's column has another type than in the tables that `latest` has published."""
        if "late_events" in latest.versions:
            published = struct_of(opened(self.lake.path("late_events"), latest.versions["late_events"]))
            schemas = {name: self._source(name, version).struct for name, version in versions.items()}
            source_changes.require_same_types(self.pipeline, published, schemas, versions)

    def resumption(self, last: Run, covered_us: int) -> Resumption | None:
        """Return the state from which a run resumes after `last`, the run published last."""
        emissions = opened(self.lake.path("advances"), last.versions["advances"])
        until = f"emitted_at <= {_timestamp(covered_us)}"
        of_newest = f"SELECT max(watermark) AS watermark FROM t WHERE {until}"  # noqa: S608  a number alone
        newest = _rows(emissions, of_newest)[0]["watermark"]
        if newest is None:
            return None
        windows, starts = self.pipeline.windows, grid(self.pipeline.windows)
        closed = _millis(newest) - windows.lateness_ms
        oldest_ms = next_start(self._latest_with_last(closed), starts)
        last_ms = self._last(oldest_ms)
        before = _rows(
            emissions,
            f"SELECT emitted_at, partition_watermarks FROM t WHERE {until} "  # noqa: S608  numbers alone
            f"AND watermark < {_timestamp(last_ms * 1000)} ORDER BY watermark DESC, emitted_at DESC LIMIT 1",
        )
        if not before or before[0]["partition_watermarks"] is None:
            return None
        partitions = [
            (entry["source_partition"], _millis(entry["watermark"]))
            for entry in before[0]["partition_watermarks"]
            if entry["watermark"] is not None
        ]
        return Resumption(covered_us, oldest_ms, _micros(before[0]["emitted_at"]), partitions)

    def _latest_with_last(self, watermark_ms: int) -> int:
        """Return the start of the latest window that a watermark fires (`window_assigners.latest_with_last_ms`)."""
        windows = self.pipeline.windows
        if windows.are_local:
            raise NeedsSparkError("windows by the clock of a zone")
        return newest_start(watermark_ms - (windows.size_ms - 1), grid(windows))

    def _last(self, start_ms: int) -> int:
        return start_ms + self.pipeline.windows.span_ms - 1

    @cached_property
    def sources(self) -> dict[str, DeltaRsSource]:
        """The sources at their newest versions, by name; without a name the only source."""
        declared = {united.name: united.source for united in self.pipeline.sources}
        return {
            name: DeltaRsSource(declared.get(name, self.pipeline.source), table)
            for name, table in tables_of(self.pipeline).items()
        }

    def _source(self, name: str, version: int) -> DeltaRsSource:
        source = self.sources[name]
        if source.version != version:
            raise NeedsSparkError(f"version {version} is not the newest of {source.path}")
        return source


def remember_check(pipeline: Pipeline, lake: Lake, versions: Mapping[str, int]) -> None:
    """Remember that a pipeline fits its sources at `versions`, if delta-rs can read them and finds no newer ones."""
    with suppress(NeedsSparkError):
        tables = DeltaRsTables(pipeline, lake)
        if tables.newest_versions == versions:
            remembered_checks.remember(lake, tables.check)


def _changes(path: str, since: int, until: int) -> dict[int, list[dict[str, Any]]] | None:
    try:
        return commit_files.changes(Objects(path), since, until)
    except LakeError as problem:
        raise NeedsSparkError(str(problem)) from problem


def _rows(delta: DeltaTable, query: str) -> list[dict[str, Any]]:
    from spark_jobs.tables.delta_rs import Table

    try:
        return Table(delta).select(query)
    except Exception as problem:
        raise NeedsSparkError(f"delta-rs cannot read the emissions: {problem}") from problem


def _timestamp(micros: int) -> str:
    return f"arrow_cast({micros}, 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _micros(moment: datetime) -> int:
    return (moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def _millis(moment: datetime) -> int:
    return _micros(moment) // 1000
