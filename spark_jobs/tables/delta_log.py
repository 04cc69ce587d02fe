"""Delta's transaction log: the operations that Delta's public Python API does not have.

Publishing adds files that are already written and removes others, in one commit with an idempotent transaction id. The
public API can only write rows. Only this module calls Delta's internal classes, of the pinned version.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.tables import files

_PACKAGE = "org.apache.spark.sql.delta"
_MAX_ATTEMPTS = 10
_CONFLICTS = ("CONCURRENT", "METADATA_CHANGED", "PROTOCOL_CHANGED")


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


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether `path` is a Delta table."""
    from delta.tables import DeltaTable

    return DeltaTable.isDeltaTable(spark, path)


def version(spark: SparkSession, path: str) -> int | None:
    """Return the newest version of the Delta table at `path`, without a Spark job; None if there is no table."""
    log = _log(spark, path)
    newest = int(_updated(log).version())
    return newest if newest >= 0 else None


def state(spark: SparkSession, path: str) -> tuple[str, int, int] | None:
    """Return what identifies the state of the Delta table at `path`: its id, newest version and commit time.

    The commit time is in milliseconds. Returns None if there is no table. Costs no Spark job.
    """
    newest = _updated(_log(spark, path))
    if int(newest.version()) < 0:
        return None
    return str(newest.metadata().id()), int(newest.version()), int(newest.timestamp())


def actions(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    """Return every action of the table at `path`, oldest first, without a Spark job. For tables with few commits."""
    return [action for commit in reversed([*commits(spark, path)]) for action in commit]


def commits(spark: SparkSession, path: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the actions of each commit to the table at `path`, the newest first. Each commit is read when needed."""
    log = _log(spark, path)
    for version in range(int(log.unsafeVolatileSnapshot().version()), -1, -1):
        yield _read(spark, log, version)


def applications(spark: SparkSession, path: str, after: int, newest: int) -> dict[int, list[str]]:
    """Return the transaction ids of each version in `(after, newest]` of the table at `path`, oldest first.

    Versions whose log file Delta has deleted are left out.
    """
    log = _log(spark, path)
    ids: dict[int, list[str]] = {}
    for version in range(after + 1, newest + 1):
        if files.exists(spark, _commit_file(spark, log, version).toString()):
            actions = _read(spark, log, version)
            ids[version] = [action["txn"]["appId"] for action in actions if "txn" in action]
    return ids


def changes(spark: SparkSession, path: str, after: int, newest: int) -> dict[int, list[dict[str, Any]]] | None:
    """Return the actions of each version in `(after, newest]` of the table at `path`, oldest first.

    Returns None if Delta has deleted the log of one of these versions.
    """
    log = _log(spark, path)
    versions = range(after + 1, newest + 1)
    if not all(files.exists(spark, _commit_file(spark, log, version).toString()) for version in versions):
        return None
    return {version: _read(spark, log, version) for version in versions}


def state_at(spark: SparkSession, path: str, version: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the `add` actions of the table at `version`, and its `metaData` action in a list. Costs a Spark job."""
    snapshot = _snapshot(spark, path, version)
    files_at = snapshot.allFiles().collectAsList()
    added = [json.loads(files_at.get(i).json()) for i in range(files_at.size())]
    return added, [json.loads(snapshot.metadata().json())]


def table_id(spark: SparkSession, path: str, version: int) -> str:
    """Return the id that the table at `path` has at `version`; another table at the same path has another id."""
    return str(_snapshot(spark, path, version).metadata().id())


def sizes(spark: SparkSession, path: str, version: int) -> dict[str, int]:
    """Return the size in bytes of each file of the table at `version`. Costs a Spark job."""
    snapshot = _snapshot(spark, path, version)
    rows = DataFrame(snapshot.allFiles().toDF(), spark).select("path", "size").collect()
    return {row.path: row.size for row in rows}


def referenced_files(spark: SparkSession, path: str, versions: Collection[int]) -> set[str] | None:
    """Return the files, named as in the log, of the newest version of the table at `path` and of all `versions`.

    Returns None if Delta has deleted the log of one of these versions. Costs one Spark job for all versions.
    """
    newest = int(_updated(_log(spark, path)).version())
    oldest = min(versions, default=newest)
    actions_by_version = changes(spark, path, oldest - 1, newest)
    if actions_by_version is None:
        return None
    live = set(sizes(spark, path, oldest))
    referenced = set(live)
    for version, actions in list(actions_by_version.items())[1:]:
        live -= {action["remove"]["path"] for action in actions if "remove" in action}
        live |= {action["add"]["path"] for action in actions if "add" in action}
        if version in versions or version == newest:
            referenced |= live
    return referenced


def keeps_rows(actions: Iterable[dict[str, Any]]) -> bool:
    """Return whether commits with these actions changed no row."""
    return not any(action[kind]["dataChange"] for action in actions for kind in ("add", "remove") if kind in action)


def schema(spark: SparkSession, path: str) -> StructType:
    """Return the schema of the table at `path`, without a Spark job."""
    schema_string = _log(spark, path).unsafeVolatileSnapshot().metadata().schemaString()
    return StructType.fromJson(json.loads(schema_string))


def live_files(actions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the `add` entries of the live files of a table with these actions."""
    live: dict[str, dict[str, Any]] = {}
    for action in actions:
        if "remove" in action:
            live.pop(action["remove"]["path"], None)
        elif "add" in action:
            live[action["add"]["path"]] = action["add"]
    return list(live.values())


def optimize(spark: SparkSession, path: str, retain: timedelta) -> None:
    """Compact the table at `path`, and delete the files that its newest version has not referenced for `retain`.

    This calls Delta's `optimize` and `vacuum`. For tables of which only the newest version is read.
    """
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(spark, path)
    table.optimize().executeCompaction()
    table.vacuum(retain / timedelta(hours=1))


class Transaction:
    """One commit to the table at `path`, which may not exist yet."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._jvm = _jvm(spark)
        self._log = _log(spark, path)
        _updated(self._log)
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
        all_files = self._transaction.snapshot().allFiles()
        selected = (all_files if condition is None else all_files.filter(condition)).collectAsList()
        return [selected.get(i) for i in range(selected.size())]

    def metadata_action(self) -> dict[str, Any]:
        """Return the `metaData` action of the table, which must exist."""
        action: dict[str, Any] = json.loads(self._transaction.metadata().json())
        return action

    def commit(
        self, removed: Iterable[Any], added: Iterable[dict[str, Any]], application: str, *, data_change: bool = True
    ) -> int:
        """Remove the files `removed` (from `files`), apply the actions `added`, and return the new version.

        A new table needs `protocol` and `metaData` actions in `added`. An existing table keeps its id. Without
        `data_change` the commit changes no row; the actions in `added` must have `dataChange` false. Raises
        CommitConflictError.
        """
        now = int(time.time() * 1000)
        commit_actions = self._jvm.java.util.ArrayList()
        for file in removed:
            commit_actions.add(file.removeWithTimestamp(now, data_change))
        marker = {"txn": {"appId": application, "version": 0, "lastUpdated": now}}
        for action in [*added, marker]:
            if "metaData" in action:
                self._transaction.updateMetadata(self._action(self._with_table_id(action)), False)
            elif "protocol" not in action:
                commit_actions.add(self._action(action))
        sequence = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(commit_actions).toSeq()
        try:
            return int(self._transaction.commit(sequence, self._manual_update()))
        except Exception as problem:
            if is_conflict(problem):
                raise CommitConflictError(str(problem)) from problem
            raise

    def _with_table_id(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return the `metaData` action with the id of the existing table: readers refuse another id."""
        if self.read_version < 0:
            return action
        return {"metaData": {**action["metaData"], "id": self._transaction.metadata().id()}}

    def _action(self, action: dict[str, Any]) -> Any:
        return self._jvm.org.apache.spark.sql.delta.actions.Action.fromJson(json.dumps(action))

    def _manual_update(self) -> Any:
        name = f"{_PACKAGE}.DeltaOperations$ManualUpdate$"
        return self._jvm.org.apache.spark.util.Utils.classForName(name, True, False).getField("MODULE$").get(None)


def _read(spark: SparkSession, log: Any, version: int) -> list[dict[str, Any]]:
    lines = log.store().read(_commit_file(spark, log, version), log.newDeltaHadoopConf())
    return [json.loads(lines.apply(i)) for i in range(lines.size())]


def _commit_file(spark: SparkSession, log: Any, version: int) -> Any:
    return _jvm(spark).org.apache.hadoop.fs.Path(log.logPath(), f"{version:020d}.json")


def _log(spark: SparkSession, path: str) -> Any:
    """Return Delta's log of the table at `path`, for this thread.

    Delta reads checkpoints by the active session of a thread. A thread that no query of PySpark has run in has none.
    """
    spark_sql = _jvm(spark).org.apache.spark.sql
    spark_sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    return spark_sql.delta.DeltaLog.forTable(spark._jsparkSession, path)


def _snapshot(spark: SparkSession, path: str, version: int) -> Any:
    log = _log(spark, path)
    _updated(log)
    return log.getSnapshotAt(version, *(getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)))


def _updated(log: Any) -> Any:
    """Return the newest snapshot. The session caches the log, which may be outdated."""
    return log.update(*(getattr(log, f"update$default${i}")() for i in (1, 2, 3)))


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
