"""Commits to Delta tables that Delta's public Python API cannot make.

Publishing adds files that are already written and removes others, in one commit with an idempotent transaction id. The
public API can only write rows. Only this module and `delta_log`, which reads, call Delta's internal classes, of the
pinned version.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

import spark_jobs
from spark_jobs.session import interpreting
from spark_jobs.tables import commit_files
from spark_jobs.tables.delta_log import activate, jvm_of, log_of, newest_snapshot
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.objects import Objects

_MAX_ATTEMPTS = 10
# Compiling a plan over so small a checkpoint, of about ten thousand files, takes longer than running it.
_SMALL_CHECKPOINT = 4 * 2**20
_CONFLICTS = ("CONCURRENT", "METADATA_CHANGED", "PROTOCOL_CHANGED")
_MANUAL_UPDATE = "org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$"
#: Settings of Delta's writer for files that a commit adds to another table: they have the names of its columns,
#: whatever names the session sets for new tables.
PLAIN_NAMES: Mapping[str, str] = MappingProxyType({"delta.columnMapping.mode": "none"})
_TIMED = "delta.enableInCommitTimestamps"


class CommitConflictError(RuntimeError):
    """Another writer committed to the table between the read and the commit of this transaction."""


def is_conflict(problem: Exception) -> bool:
    """Return whether a write failed because another writer committed first. Nothing was written: it can be retried.

    If two writers create a table at once, the second one fails with changed metadata or a changed protocol.
    """
    kind, message = type(getattr(problem, "java_exception", problem)).__name__, str(problem)
    return "Concurrent" in kind or any(f"DELTA_{name}" in message for name in _CONFLICTS)


def retry_on_conflict(write: Callable[[], None]) -> None:
    """Call `write`, and retry while another writer commits first. Raises the conflict of the last attempt."""
    for attempt in reversed(range(_MAX_ATTEMPTS)):
        try:
            write()
            break
        except Exception as problem:
            if not attempt or not is_conflict(problem):
                raise


def write(rows: DataFrame, path: str, part: str, settings: Mapping[str, str]) -> None:
    """Add `rows` to the table at `path` by Delta's writer as `part`, once, whatever types of columns they have.

    `settings` are those of a new table.
    """
    added: list[dict[str, Any]] | None = None
    for attempt in reversed(range(_MAX_ATTEMPTS)):
        transaction = Transaction(rows.sparkSession, path)
        if transaction.applied(part):
            break
        try:
            transaction.create(rows, settings)
            added = transaction.write(rows) if added is None else added
            _require_files(path, added)
            transaction.commit([], added, part)
            break
        except CommitConflictError:
            if not attempt:
                raise


def _require_files(path: str, added: Iterable[dict[str, Any]]) -> None:
    """Raise LakeError if files of a part are deleted: the process that took over these windows may have done so."""
    names = {unquote(action["add"]["path"]) for action in added if "add" in action}
    deleted = names - {entry.name for entry in Objects(path).below()}
    if deleted:
        raise LakeError(f"{path}: {len(deleted)} of {len(names)} new files are deleted, {min(deleted)} first")


class Transaction:
    """One commit to the table at `path`, which may not exist yet.

    `awaits` is called right before a commit, which does not happen if it raises an error.
    """

    def __init__(self, spark: SparkSession, path: str, awaits: Callable[[], None] | None = None) -> None:
        self._spark, self._jvm, self._path, self._awaits = spark, jvm_of(spark), path, awaits
        self._log = log_of(spark, path)
        newest_snapshot(self._log)
        self._transaction = self._log.startTransaction()

    @property
    def read_version(self) -> int:
        """The version that this transaction reads; -1 if there is no table yet."""
        return int(self._transaction.readVersion())

    def applied(self, application: str) -> bool:
        """Return whether a transaction with this id has been committed."""
        return int(self._transaction.txnVersion(application)) >= 0

    def files(self, condition: str | None = None) -> list[Any]:
        """Return the files of the table that satisfy a SQL condition over `path` and `stats`. Costs a Spark job.

        Without a condition, it returns all files. The transaction then conflicts with every concurrent change.
        """
        self._transaction.readWholeTable()
        snapshot = self._transaction.snapshot()
        has_few_files = snapshot.checkpointProvider().effectiveCheckpointSizeInBytes() <= _SMALL_CHECKPOINT
        activate(interpreting(self._spark) if has_few_files else self._spark)
        try:
            all_files = snapshot.allFiles()
            selected = (all_files if condition is None else all_files.filter(condition)).collectAsList()
        finally:
            activate(self._spark)
        return [selected.get(i) for i in range(selected.size())]

    def create(self, rows: DataFrame, settings: Mapping[str, str]) -> None:
        """Let the commit make the table for `rows`, unless it exists."""
        if self.read_version >= 0:
            return
        columns = {
            "id": str(uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": rows._jdf.schema().asNullable().json(),
            "partitionColumns": [],
            "configuration": dict(settings),
            "createdTime": int(time.time() * 1000),
        }
        self._set_metadata({"metaData": columns})

    def write(self, rows: DataFrame) -> list[dict[str, Any]]:
        """Write files of the table, which exists or is to be made (`create`); return their `add` actions."""
        files = self._transaction.writeFiles(rows._jdf)
        return [json.loads(files.apply(i).json()) for i in range(files.size())]

    def metadata_action(self) -> dict[str, Any]:
        """Return the `metaData` action of the table, which must exist."""
        action: dict[str, Any] = json.loads(self._transaction.metadata().json())
        return action

    def domains(self) -> list[dict[str, Any]]:
        """Return what features of Delta store for the table, in JSON: its `domainMetadata`."""
        stored = self._transaction.snapshot().domainMetadata()
        return [json.loads(stored.apply(i).json())["domainMetadata"] for i in range(stored.size())]

    def commit(
        self, removed: Iterable[Any], added: Iterable[dict[str, Any]], application: str, *, data_change: bool = True
    ) -> int:
        """Remove the files `removed` (from `files`), apply the actions `added`, and return the new version.

        A new table needs `protocol` and `metaData` actions in `added`. An existing table keeps its id. Without
        `data_change` the commit changes no row; the actions in `added` must have `dataChange` false. Raises
        CommitConflictError.
        """
        if self._awaits is not None:
            self._awaits()
        now = int(time.time() * 1000)
        commit_actions = self._jvm.java.util.ArrayList()
        for file in removed:
            commit_actions.add(file.removeWithTimestamp(now, data_change))
        marker = {"txn": {"appId": application, "version": 0, "lastUpdated": now}}
        for action in [*added, marker]:
            if "metaData" in action:
                self._set_metadata(self._with_table_id(action))
            elif "protocol" not in action:
                commit_actions.add(self._action(action))
        return self._write(self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(commit_actions).toSeq())

    def _write(self, actions: Any) -> int:
        """Create the next version's file of the log; returns the version.

        Delta prepares the actions: it checks them, and adds the protocol that a table's settings need. Delta's commit
        would go past versions that other writers have made since, and Hadoop's S3 file system has no conditional write.
        """
        prepared = self._transaction.prepareCommit(actions, self._manual_update())
        now = int(time.time() * 1000)
        info: dict[str, Any] = {
            "timestamp": now,
            "operation": "Manual Update",
            "operationParameters": {},
            "readVersion": self.read_version,
            "isolationLevel": "Serializable",
            "isBlindAppend": False,
            "engineInfo": f"Tidemark/{spark_jobs.__version__}",
            # Different for each attempt, as `commit_files.create` demands.
            "txnId": str(uuid4()),
        }
        if self._is_timed():
            # Each commit of such a table has its time, which is later than that of the commit before.
            earlier = int(self._transaction.snapshot().timestamp())
            info = {"inCommitTimestamp": max(now, earlier + 1), **info}
        lines = [json.dumps({"commitInfo": info}), *(prepared.apply(i).json() for i in range(prepared.size()))]
        new_version = self.read_version + 1
        if not commit_files.create(Objects(self._path), new_version, lines):
            raise CommitConflictError(f"{self._path}: another writer has committed version {new_version}")
        snapshot = newest_snapshot(self._log)
        if new_version and new_version % int(self._log.checkpointInterval(snapshot.metadata())) == 0:
            self._log.checkpoint(snapshot, self._jvm.scala.Option.empty())
        return new_version

    def _is_timed(self) -> bool:
        """Return whether the table keeps the times of its commits in the log, which its owner may have enabled."""
        if self.read_version < 0:
            return False
        settings: dict[str, str] = self.metadata_action()["metaData"]["configuration"]
        return settings.get(_TIMED, "").lower() == "true"

    def _set_metadata(self, action: dict[str, Any]) -> None:
        """Let the commit set the `metaData` action as it is.

        Settings of the session for new tables are left out: staged files already have the names of their columns, and
        a table that maps columns to other names would show nulls in their place.
        """
        ignores_defaults = True
        self._transaction.updateMetadata(self._action(action), ignores_defaults)

    def _with_table_id(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return the `metaData` action with the id of the existing table: readers refuse another id."""
        if self.read_version < 0:
            return action
        return {"metaData": {**action["metaData"], "id": self._transaction.metadata().id()}}

    def _action(self, action: dict[str, Any]) -> Any:
        return self._jvm.org.apache.spark.sql.delta.actions.Action.fromJson(json.dumps(action))

    def _manual_update(self) -> Any:
        return (
            self._jvm.org.apache.spark.util.Utils.classForName(_MANUAL_UPDATE, True, False)
            .getField("MODULE$")
            .get(None)
        )
