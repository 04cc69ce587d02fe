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

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Results
from spark_jobs.pipeline.published_tables import BY_NAME
from spark_jobs.tables import (
    clustering,
    columns,
    commit_files,
    data_files,
    delta_log,
    pruning,
    staging,
    stored_names,
    table_metadata,
)
from spark_jobs.tables.change_files import ChangeFiles
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, behind_folder, carried_folder, staged_folder
from spark_jobs.tables.leases import Lease, Tenure
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.staging import read_staged

_MAX_ATTEMPTS = 5
_APPLICATION, _FENCE = "tidemark/", "tidemark-fence/"
_FILE, _TOUCHED = "__tm_file", "__tm_touched"


class PublishError(ValueError):
    """A staged table cannot be published into the published table."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.COLUMNS_CHANGED) -> None:
        super().__init__(message)
        self.code = code


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
    `aggregates` those of the run that publishes, by name as SQL: the comments of their columns.
    """

    versions: Mapping[str, int] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()
    tenure: Tenure | None = None
    results: Results = field(default_factory=Results)
    aggregates: Mapping[str, str] = field(default_factory=dict)


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

    def commit(transaction: delta_log.Transaction, application: str) -> int:
        publishing = _Publishing(spark, transaction, lake, run_id, table, base)
        return publishing.commit(replaced, application, behind=behind)

    return _once(spark, lake, run_id, table, base, commit)


def restore(spark: SparkSession, lake: Lake, run_id: str, table: str, version: int | None, base: Base) -> int:
    """Restore the published `table` to `version`, or to an empty table for None, and return its new version.

    Repetition and other writers are handled as in `publish`. Raises PublishError if files of that version are deleted.
    """

    def commit(transaction: delta_log.Transaction, application: str) -> int:
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
        restored = _restored_metadata(table, base.results, transaction.metadata_action(), metadata)
        changes: list[dict[str, Any]] | None = []
        if table_metadata.has_feed(restored):
            names = [file.path() for file in removed], [action["add"]["path"] for action in missing]
            schemas = table_metadata.schema(transaction.metadata_action()), table_metadata.schema(restored)
            changes = ChangeFiles(spark, lake, run_id, table, transaction.read_version).of_files(*names, schemas)
        has_changes = changes is not None
        added = [{"add": {**action["add"], "dataChange": has_changes}} for action in missing]
        return transaction.commit(removed, [restored, *(changes or []), *added], application, data_change=has_changes)

    return _once(spark, lake, run_id, table, base, commit)


def _restored_metadata(
    table: str, results: Results, current: dict[str, Any], earlier: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the `metaData` action that restores a table to an earlier one; with none, that of an emptied table.

    What the table offers, and the mapping of its columns, stay as they are.
    """
    commented = table_metadata.with_comments(earlier[0] if earlier else current, BY_NAME[table], {})
    action = table_metadata.with_retention_settings(commented)
    return table_metadata.mapped(table_metadata.with_feed(action, on=_has_feed(results, current)), current)


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

    A table that does not exist needs no mark: its first commit is that of the owner or of another, never of both.
    """
    for _ in range(_MAX_ATTEMPTS):
        transaction = delta_log.Transaction(spark, lake.path(table))
        if transaction.read_version < 0:
            return
        try:
            transaction.commit([], [], _FENCE + lost.id, data_change=False)
        except delta_log.CommitConflictError as conflict:
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
    commit: Callable[[delta_log.Transaction, str], int],
) -> int:
    """Commit on the base, unless the run has already committed. Return the version of the run's commit."""
    application = _APPLICATION + run_id
    for _ in range(_MAX_ATTEMPTS):
        transaction = delta_log.Transaction(spark, lake.path(table))
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
        except delta_log.CommitConflictError as conflict:
            last = conflict
    raise last


class _Publishing:
    """One attempt to publish a run's staged rows into one table."""

    def __init__(
        self,
        spark: SparkSession,
        transaction: delta_log.Transaction,
        lake: Lake,
        run_id: str,
        table: str,
        base: Base,
    ) -> None:
        self._spark, self._transaction = spark, transaction
        self._lake, self._run_id, self._table, self._base = lake, run_id, table, base

    def commit(self, interval: Interval | None, application: str, *, behind: bool) -> int:
        """Replace the rows of `interval` by the staged files, and return the new version."""
        added, metadata = self._staged(self._run_id) if interval is not None else ([], [])
        if behind:
            behind_files, behind_metadata = self._staged(behind_folder(self._run_id))
            added, metadata = [*added, *behind_files], metadata or behind_metadata
        if self._transaction.read_version < 0:
            feed = self._base.results.change_data_feed is True
            created = [table_metadata.mapped(table_metadata.with_feed(action, on=feed)) for action in metadata]
            return self._transaction.commit([], [*self._clustered(created), *added], application)
        folder = self._run_id if interval is not None else behind_folder(self._run_id)
        same_columns = _columns(read_staged(self._spark, self._lake, folder, self._table).schema) == _columns(
            self._published.schema
        )
        if interval is not None and interval.whole:
            replaced = self._transaction.files()
            changed = self._settled(self._commented() if same_columns else self._mapped(metadata))
            return self._transaction.commit(replaced, [*changed, *added], application)
        if same_columns:
            widened = self._commented()
        else:
            widened = self._mapped([self._with_comments(self._widened(metadata, interval or Interval()))])
        removed, carried = self._replaced(interval, behind=behind)
        return self._transaction.commit(removed, [*self._settled(widened), *carried, *added], application)

    @cached_property
    def _feed(self) -> bool:
        """Whether the table has a change data feed after the commit."""
        return _has_feed(self._base.results, self._transaction.metadata_action())

    def _settled(self, changed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions of changed columns, with the settings of the table; these alone if they change alone."""
        current = self._transaction.metadata_action()
        if not changed and table_metadata.has_feed(current) != self._feed:
            changed = [current]
        return self._clustered([table_metadata.with_feed(action, on=self._feed) for action in changed])

    def _clustered(self, changed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions of changed columns and settings, with the clustering of the table if it changes."""
        if self._base.results.clustered is None:
            return changed
        is_new = self._transaction.read_version < 0
        metadata = next((action for action in changed if "metaData" in action), None)
        if metadata is None:
            if is_new:
                return changed
            metadata = self._transaction.metadata_action()
        columns = clustering.time_column(_schema(metadata)["fields"]) if self._base.results.clustered else []
        if columns == clustering.columns_of([] if is_new else self._transaction.domains()):
            return changed
        rest = [action for action in changed if action is not metadata]
        return [clustering.with_features(metadata), *rest, clustering.action(columns)]

    def _commented(self) -> list[dict[str, Any]]:
        """Return the `metaData` action of the existing table with its comments; none if it has them."""
        current = self._transaction.metadata_action()
        commented = self._with_comments(current)
        return [] if _schema(commented) == _schema(current) else [commented]

    def _with_comments(self, action: dict[str, Any]) -> dict[str, Any]:
        return table_metadata.with_comments(action, BY_NAME[self._table], self._base.aggregates)

    def _mapped(self, actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions with the mapping of columns that the table has or needs.

        A table that begins to map its columns does so in a separate commit, as Delta demands. Raises
        CommitConflictError after that commit: the transaction has to begin again.
        """
        current = self._transaction.metadata_action()
        mapped = [table_metadata.mapped(action, current) for action in actions]
        if any(map(table_metadata.is_mapped, mapped)) and not table_metadata.is_mapped(current):
            self._transaction.commit([], [table_metadata.with_mapping(current)], uuid4().hex, data_change=False)
            raise delta_log.CommitConflictError(f"{self._table}: its columns are mapped now")
        return mapped

    def _widened(self, actions: list[dict[str, Any]], span: Interval) -> dict[str, Any]:
        """Return the `metaData` action with the columns of the published and of the staged rows.

        Only a table with the source's columns can be widened. Raises PublishError.
        """
        metadata = next(action["metaData"] for action in actions if "metaData" in action)
        before, after = self._published.schema, T.StructType.fromJson(json.loads(metadata["schemaString"]))
        clashes = columns.clashes(before, after)
        by_window = ["window_start" in names for names in (before.names, after.names)]
        if clashes or by_window[0] != by_window[1] or not BY_NAME[self._table].holds_source_columns:
            difference = "; ".join(map(str, clashes)) or f"found {_columns(before)}, not {_columns(after)}"
            raise PublishError(
                f"{self._table}: cannot replace the windows from {span.start} to {span.end} by rows with other "
                f"columns: {difference}. Replay without --from and --to to change the columns."
            )
        return {"metaData": {**metadata, "schemaString": columns.merged_schema(before, after).json()}}

    @cached_property
    def _published(self) -> DataFrame:
        reader = self._spark.read.format("delta").option("versionAsOf", self._transaction.read_version)
        return reader.load(self._lake.path(self._table))

    def _staged(self, folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the `add` actions of the files staged in a folder, and the `metaData` and `protocol` actions."""
        actions = staging.staged_actions(self._lake, folder, self._table)
        metadata = [
            self._with_comments(table_metadata.published_action(action))
            for action in actions
            if "metaData" in action or "protocol" in action
        ]
        return _relative(delta_log.live_files(actions), staged_folder(folder)), metadata

    def _replaced(self, interval: Interval | None, *, behind: bool) -> tuple[list[Any], list[dict[str, Any]]]:
        """Return the files with replaced rows, and `add` actions of new files with the other rows of these files.

        With a change data feed there are also `cdc` actions: derived from the files, the feed would have the rows that
        are carried over.
        """
        touched, conditions = None, []
        if interval is not None:
            conditions.append(
                pruning.overlap_condition(_time_columns(self._table, self._published), interval.start, interval.end)
            )
        if behind and self._table == "window_results":
            touched = read_staged(self._spark, self._lake, behind_folder(self._run_id), self._table)
            actions = staging.staged_actions(self._lake, behind_folder(self._run_id), self._table)
            conditions += [
                pruning.overlap_condition(["window_start"], *span) for span in pruning.spans("window_start", actions)
            ]
        if not conditions:
            return [], []
        # Delta's own search would take several jobs and read all files.
        candidates = {_file_name(file): file for file in self._transaction.files(" or ".join(conditions))}
        if not candidates:
            return [], []
        is_touched = None if touched is None else pruning.is_among("window_start", touched)
        rows, is_replaced = self._mark_replaced(self._rows_of(candidates.values()), interval, touched, is_touched)
        counted = (
            rows.groupBy(_FILE)
            .agg(F.count_if(is_replaced).alias("replaced"), F.count(F.lit(1)).alias("rows"))
            .collect()
        )
        removed = [candidates[row[_FILE]] for row in counted if row.replaced]
        partly = [candidates[row[_FILE]] for row in counted if 0 < row.replaced < row["rows"]]
        if not partly:
            return removed, []
        rows, is_replaced = self._mark_replaced(self._rows_of(partly), interval, touched, is_touched)
        remaining = self._only_published(rows.where(~F.coalesce(is_replaced, F.lit(False))))
        changes = []
        if self._feed:
            rows, is_replaced = self._mark_replaced(self._rows_of(removed), interval, touched, is_touched)
            inserts = self._staged_rows(of_interval=interval is not None, behind=behind)
            changes = self._change_files.of_rows(self._only_published(rows.where(is_replaced)), inserts)
        return removed, [*self._carried_over(remaining), *changes]

    @property
    def _change_files(self) -> ChangeFiles:
        version = self._transaction.read_version
        return ChangeFiles(self._spark, self._lake, self._run_id, self._table, version)

    def _only_published(self, rows: DataFrame) -> DataFrame:
        """Return rows of the table without columns for the work itself."""
        return rows.drop(*(name for name in rows.columns if name not in self._published.columns))

    def _staged_rows(self, *, of_interval: bool, behind: bool) -> list[DataFrame]:
        """Return the rows that the commit adds."""
        folders = [self._run_id] * of_interval + [behind_folder(self._run_id)] * behind
        return [read_staged(self._spark, self._lake, folder, self._table) for folder in folders]

    def _rows_of(self, live_files: Iterable[Any]) -> DataFrame:
        """Return the rows of files of the table, each with the name of its file."""
        paths = [f"{self._lake.path(self._table)}/{unquote(file.path())}" for file in live_files]
        return data_files.read(self._spark, self._published.schema, paths, file_name=_FILE)

    def _mark_replaced(
        self, rows: DataFrame, interval: Interval | None, touched: DataFrame | None, is_touched: Column | None
    ) -> tuple[DataFrame, Column]:
        """Return published rows, and the condition that a row is replaced.

        The rows of `interval` and all rows of the windows of `touched` are replaced. `is_touched` is the condition for
        these windows; None if they are too many for a condition.
        """
        is_replaced = F.lit(False) if interval is None else interval.holds(_replaced_by(self._table, rows))
        if touched is None:
            return rows, is_replaced
        if is_touched is not None:
            return rows, is_replaced | is_touched
        marked = touched.select("window_start").distinct().withColumn(_TOUCHED, F.lit(True))
        return rows.join(F.broadcast(marked), "window_start", "left"), is_replaced | F.col(_TOUCHED).isNotNull()

    def _carried_over(self, remaining: DataFrame) -> list[dict[str, Any]]:
        """Write the remaining rows of removed files into new files, and return their `add` actions.

        Several processes may publish one run. Each writes into a separate folder, and one commit succeeds.
        """
        folder = carried_folder(self._run_id, self._transaction.read_version)
        target = self._lake.staged(self._table, folder)
        statistics = staging.statistics_option(self._table, remaining.columns)
        try:
            stored = stored_names.stored(remaining)
            stored.write.format("delta").mode("append").option(*statistics).save(target)
        except Exception:
            with suppress(LakeError):
                Objects(self._lake.path(self._table)).remove(staged_folder(folder))
            raise
        return _relative(delta_log.live_files(commit_files.actions(Objects(target))), staged_folder(folder))


def _has_feed(results: Results, current: dict[str, Any]) -> bool:
    """Return whether a table has a change data feed after a commit; `current` is its `metaData` action before it."""
    return table_metadata.has_feed(current) if results.change_data_feed is None else results.change_data_feed


def _replaced_by(table: str, rows: DataFrame) -> Column:
    """Return the time that decides whether an interval replaces a row: the start of its window, or its event time.

    The event time is for rows without a window: late events between two windows, and the rows of an interval join.
    """
    return F.coalesce(*map(F.col, _time_columns(table, rows)))


def _time_columns(table: str, rows: DataFrame) -> list[str]:
    if "window_start" not in rows.columns:
        return ["event_time"]
    return ["window_start", "event_time"] if table == "late_events" else ["window_start"]


def _file_name(file: Any) -> str:
    """Return the name of a file of the log as in Spark's `_metadata.file_name`."""
    return unquote(file.path()).rsplit("/", 1)[-1]


def _relative(added: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """Return `add` actions with paths relative to the published table."""
    return [{"add": {**entry, "path": f"{folder}/{entry['path']}", "dataChange": True}} for entry in added]


def _schema(action: dict[str, Any]) -> Any:
    return json.loads(action["metaData"]["schemaString"])


def _columns(schema: T.StructType) -> list[str]:
    return [f"{f.name} {f.dataType.simpleString()}" for f in schema]
