"""Publishing: one Delta commit for each table, which adds a run's staged files and removes the rows that they replace.

Nothing is copied: staged files lie below the table that they are added to. If a file has rows inside and outside the
replaced range, the rows outside are carried over into new files of the same commit. A run publishes into a table at
most once, even if its process is killed at any time.

A run publishes on the base: the versions of the published runs in the ledger. A later commit of a run that is not
published in the ledger belongs to an unfinished publishing. Another process has to finish that one first.

If the table has a change data feed, the feed of a commit has the rows that it replaced and the rows that it added. It
has no row that was carried over. Where data files alone would show other changes, there are also `change_files`.

The commit is the fence: a process whose lease another has taken over finds that out between the reading of a table and
its commit. A process that takes over a lease commits a mark (`fence`), so that a commit on an earlier version fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Results
from spark_jobs.tables import (
    columns,
    commit_files,
    commit_metadata,
    delta_log,
    delta_transaction,
    staging,
    table_metadata,
)
from spark_jobs.tables.change_files import ChangeFiles
from spark_jobs.tables.commit_metadata import CommitMetadata
from spark_jobs.tables.errors import PublishError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, behind_folder, staged_folder
from spark_jobs.tables.leases import Lease, Tenure
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.replaced_rows import ReplacedRows, relative

_MAX_ATTEMPTS = 5
_APPLICATION, _FENCE = "tidemark/", "tidemark-fence/"


class OvertakenError(RuntimeError):
    """Another run, `run_id`, has begun to publish and has not finished."""

    code = ErrorCode.OVERTAKEN

    def __init__(self, table: str, run_id: str) -> None:
        super().__init__(f"{table}: found a commit of the run {run_id}, whose publishing has not finished")
        self.run_id = run_id


@dataclass(frozen=True)
class Base:
    """The state in the ledger: the published runs, and the version of every table after the last of them.

    A table may exist without a version here: an earlier run published into it, the last run did not. `tenure` is the
    lease under which this process publishes, None without one. `results` are what published tables offer, and
    `aggregates` those of the run that publishes, by name as SQL: the comments of their columns. `awaits` is called when
    a table is prepared, right before its commit, which does not happen if it raises an error.
    """

    versions: Mapping[str, int] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()
    tenure: Tenure | None = None
    results: Results = field(default_factory=Results)
    aggregates: Mapping[str, str] = field(default_factory=dict)
    awaits: Callable[[], None] | None = None


def publish(
    spark: SparkSession,
    lake: Lake,
    run_id: str,
    table: str,
    interval: Interval | None,
    base: Base,
    *,
    behind: bool = False,
) -> int:
    """Replace the rows of `interval` in the published `table` by the run's staged rows, and return the new version.

    - If `interval` is None, nothing is replaced;
    - with `behind`, the rows that the run staged for windows closed before it are added. In `window_results` they
      replace all rows of their windows;
    - a table without a version in the base is replaced as a whole;
    - a table with the source's columns gets the columns of both, if they differ;
    - the commit also gives the table the comments that it lacks;
    - if the run has already published into the table, nothing happens;
    - if another writer commits in between, it tries again.

    Raises OvertakenError if that writer is a run. Raises PublishError if the staged rows have columns that clash with
    the rest of the table. Raises LeaseLostError if another process has taken over the windows.
    """
    replaced = interval if table in base.versions or interval is None else Interval()

    def commit(transaction: delta_transaction.Transaction, application: str) -> int:
        publishing = _Publishing(spark, transaction, lake, run_id, table, base)
        return publishing.commit(replaced, application, behind=behind)

    return _once(spark, lake, run_id, table, base, commit)


def restore(spark: SparkSession, lake: Lake, run_id: str, table: str, version: int | None, base: Base) -> int:
    """Restore the published `table` to `version`, or to an empty table for None, and return its new version.

    Repetition and other writers are handled as in `publish`. Raises PublishError if files of that version are deleted.
    """

    def commit(transaction: delta_transaction.Transaction, application: str) -> int:
        path = lake.path(table)
        live_files = {file.path(): file for file in transaction.files()}
        actions, metadata = ([], []) if version is None else delta_log.state_at(spark, path, version)
        missing = [action for action in actions if action["add"]["path"] not in live_files]
        if deleted := _deleted(path, missing):
            raise PublishError(
                f"{table}: cannot restore version {version}: {len(deleted)} of its files are deleted, "
                f"{deleted[0]} first",
                code=ErrorCode.PUBLISHED_FILES_DELETED,
            )
        restored_paths = {action["add"]["path"] for action in actions}
        removed = [file for name, file in live_files.items() if name not in restored_paths]
        restored = commit_metadata.restored(table, base.results, transaction.metadata_action(), metadata)
        changes: list[dict[str, Any]] | None = []
        if table_metadata.has_feed(restored):
            names = [file.path() for file in removed], [action["add"]["path"] for action in missing]
            schemas = table_metadata.schema(transaction.metadata_action()), table_metadata.schema(restored)
            changes = ChangeFiles(spark, lake, run_id, table, transaction.read_version).of_files(*names, schemas)
        has_changes = changes is not None
        added = [{"add": {**action["add"], "dataChange": has_changes}} for action in missing]
        return transaction.commit(removed, [restored, *(changes or []), *added], application, data_change=has_changes)

    return _once(spark, lake, run_id, table, base, commit)


def deleted_file_counts(spark: SparkSession, lake: Lake, versions: Mapping[str, int]) -> dict[str, int]:
    """Return how many files of these versions are deleted, for each published table that lacks some."""
    counts = {}
    for table, version in versions.items():
        added, _ = delta_log.state_at(spark, lake.path(table), version)
        if deleted := _deleted(lake.path(table), added):
            counts[table] = len(deleted)
    return counts


def _deleted(path: str, added: list[dict[str, Any]]) -> list[str]:
    names = [action["add"]["path"] for action in added]
    existing = {entry.name for entry in Objects(path).below()} if names else set()
    return [name for name in names if unquote(name) not in existing]


def fence(spark: SparkSession, lake: Lake, table: str, lost: Lease) -> None:
    """Commit to the published `table` that a lease was taken over: its owner cannot commit on an earlier version.

    A table that does not exist gets no mark: its first commit is that of the owner or of another, never of both. If it
    is the owner's, which then was about to make it, the process that took over finds it and finishes that run first. So
    it does with a commit before the mark.
    """
    for _ in range(_MAX_ATTEMPTS):
        transaction = delta_transaction.Transaction(spark, lake.path(table))
        if transaction.read_version < 0:
            return
        try:
            transaction.commit([], [], _FENCE + lost.id, data_change=False)
        except delta_transaction.CommitConflictError as conflict:
            last = conflict
        else:
            return
    raise last


def unfinished_run(spark: SparkSession, lake: Lake, table: str, base: Base) -> str | None:
    """Return a run that committed to a table after the base and is not published in the ledger; None without one."""
    newest = delta_log.version(spark, lake.path(table))
    if newest is None:
        return None
    ids_by_version = commit_files.applications(Objects(lake.path(table)), base.versions.get(table, -1), newest)
    return min((run for ids in ids_by_version.values() for run in _unpublished_runs(ids, base)), default=None)


def _unpublished_runs(ids: list[str], base: Base) -> set[str]:
    """Return the runs among the transaction ids of a commit that are not published in the ledger."""
    return {name.removeprefix(_APPLICATION) for name in ids if name.startswith(_APPLICATION)} - base.runs


def _once(
    spark: SparkSession,
    lake: Lake,
    run_id: str,
    table: str,
    base: Base,
    commit: Callable[[delta_transaction.Transaction, str], int],
) -> int:
    """Commit on the base, unless the run has already committed. Return the version of the run's commit."""
    application = _APPLICATION + run_id
    for _ in range(_MAX_ATTEMPTS):
        transaction = delta_transaction.Transaction(spark, lake.path(table), base.awaits)
        base_version = base.versions.get(table, -1)
        ids_by_version = commit_files.applications(Objects(lake.path(table)), base_version, transaction.read_version)
        if base.tenure is not None:
            base.tenure.require()
        for version, ids in ids_by_version.items():
            if application in ids:
                return version
            if base.tenure is not None and _FENCE + base.tenure.lease.id in ids:
                raise base.tenure.lost()
            if unpublished := _unpublished_runs(ids, base):
                raise OvertakenError(table, min(unpublished))
        try:
            return commit(transaction, application)
        except delta_transaction.CommitConflictError as conflict:
            last = conflict
    raise last


class _Publishing:
    """One attempt to publish a run's staged rows into one table."""

    def __init__(
        self,
        spark: SparkSession,
        transaction: delta_transaction.Transaction,
        lake: Lake,
        run_id: str,
        table: str,
        base: Base,
    ) -> None:
        self._spark, self._transaction = spark, transaction
        self._lake, self._run_id, self._table = lake, run_id, table
        self._metadata = CommitMetadata(table, transaction, base.results, base.aggregates)
        self._replaced = ReplacedRows(spark, transaction, lake, run_id, table)

    def commit(self, interval: Interval | None, application: str, *, behind: bool) -> int:
        """Replace the rows of `interval` by the staged files, and return the new version."""
        added, metadata = self._staged(self._run_id) if interval is not None else ([], [])
        if behind:
            behind_files, behind_metadata = self._staged(behind_folder(self._run_id))
            added, metadata = [*added, *behind_files], metadata or behind_metadata
        if self._transaction.read_version < 0:
            return self._transaction.commit([], [*self._metadata.created(metadata), *added], application)
        before = self._replaced.schema
        after = table_metadata.schema(next(action for action in metadata if "metaData" in action))
        same_columns = columns.described(before) == columns.described(after)
        if interval is not None and interval.whole:
            replaced = self._transaction.files()
            changed = self._metadata.commented() if same_columns else self._metadata.mapped(metadata)
            return self._transaction.commit(replaced, [*self._metadata.settled(changed), *added], application)
        if same_columns:
            changed = self._metadata.commented()
        else:
            widened = self._metadata.widened(before, metadata, interval or Interval())
            changed = self._metadata.mapped([self._metadata.with_comments(widened)])
        removed, carried = self._replaced.of(interval, behind=behind, feed=self._metadata.feed)
        return self._transaction.commit(removed, [*self._metadata.settled(changed), *carried, *added], application)

    def _staged(self, folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the `add` actions of the files staged in a folder, and the `metaData` and `protocol` actions."""
        actions = staging.staged_actions(self._lake, folder, self._table)
        metadata = [
            self._metadata.with_comments(table_metadata.published_action(action))
            for action in actions
            if "metaData" in action or "protocol" in action
        ]
        return relative(delta_log.live_files(actions), staged_folder(folder)), metadata
