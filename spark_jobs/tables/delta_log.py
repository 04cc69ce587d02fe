"""Delta's transaction log: what Delta's public Python API cannot say.

Publishing adds files that are already written, and removes others, in one commit with an idempotent transaction id.
The public API only writes rows. This module is the one place that speaks to Delta's own classes, of the pinned version.
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
_ATTEMPTS = 10
_CONFLICTS = ("CONCURRENT", "METADATA_CHANGED", "PROTOCOL_CHANGED")


class CommitConflictError(RuntimeError):
    """Another writer committed to the table between this transaction's reading and its commit."""


def is_conflict(problem: Exception) -> bool:
    """Whether a write failed because another writer came first, so that nothing was written and it can be tried again.

    Two writers of a new table each find its protocol and metadata changed by the other.
    """
    kind, told = type(getattr(problem, "java_exception", problem)).__name__, str(problem)
    return "Concurrent" in kind or any(f"DELTA_{name}" in told for name in _CONFLICTS)


def tried_again(write: Callable[[], None]) -> None:
    """Call `write` again as long as another writer came first; raises its conflict when that has been so too often."""
    for attempt in reversed(range(_ATTEMPTS)):
        try:
            write()
            break
        except Exception as problem:
            if not attempt or not is_conflict(problem):
                raise


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a Delta table at `path`."""
    from delta.tables import DeltaTable

    return DeltaTable.isDeltaTable(spark, path)


def version(spark: SparkSession, path: str) -> int | None:
    """The newest version of the Delta table at `path`, None if there is no table; read without a Spark job."""
    log = _log(spark, path)
    newest = int(_updated(log).version())
    return newest if newest >= 0 else None


def state(spark: SparkSession, path: str) -> tuple[str, int, int] | None:
    """What tells one state of the Delta table at `path` from others: its id, newest version and when that was written.

    None if there is no table. Read without a Spark job.
    """
    newest = _updated(_log(spark, path))
    if int(newest.version()) < 0:
        return None
    return str(newest.metadata().id()), int(newest.version()), int(newest.timestamp())


def actions(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    """Every action of the table at `path`, oldest first: for tables of a few commits, read without a Spark job."""
    return [action for commit in reversed([*commits(spark, path)]) for action in commit]


def commits(spark: SparkSession, path: str) -> Iterator[list[dict[str, Any]]]:
    """The actions of each commit to the table at `path`, the newest first, each read when it is asked for."""
    log = _log(spark, path)
    for version in range(int(log.unsafeVolatileSnapshot().version()), -1, -1):
        yield _read(spark, log, version)


def applications(spark: SparkSession, path: str, after: int, newest: int) -> dict[int, list[str]]:
    """Give the transaction ids of each version in `(after, newest]` of the table at `path`, oldest first.

    Versions whose log file Delta has cleaned away are left out.
    """
    log = _log(spark, path)
    found: dict[int, list[str]] = {}
    for version in range(after + 1, newest + 1):
        if files.exists(spark, _commit_file(spark, log, version).toString()):
            actions = _read(spark, log, version)
            found[version] = [action["txn"]["appId"] for action in actions if "txn" in action]
    return found


def changes(spark: SparkSession, path: str, after: int, newest: int) -> dict[int, list[dict[str, Any]]] | None:
    """The actions of each version in `(after, newest]` of the table at `path`, by version, oldest first.

    None if the log of one of them has been cleaned away.
    """
    log = _log(spark, path)
    versions = range(after + 1, newest + 1)
    if not all(files.exists(spark, _commit_file(spark, log, version).toString()) for version in versions):
        return None
    return {version: _read(spark, log, version) for version in versions}


def state_at(spark: SparkSession, path: str, version: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The table at `version`: the actions that add its files, and that which describes it. Costs a Spark job."""
    snapshot = _snapshot(spark, path, version)
    found = snapshot.allFiles().collectAsList()
    added = [json.loads(found.get(i).json()) for i in range(found.size())]
    return added, [json.loads(snapshot.metadata().json())]


def sizes(spark: SparkSession, path: str, version: int) -> dict[str, int]:
    """The bytes of each file of the table at `version`. Costs a Spark job."""
    snapshot = _snapshot(spark, path, version)
    found = DataFrame(snapshot.allFiles().toDF(), spark).select("path", "size").collect()
    return {row.path: row.size for row in found}


def held(spark: SparkSession, path: str, versions: Collection[int]) -> set[str] | None:
    """The files (as the log writes their names) of the newest version of the table at `path` and of all `versions`.

    None if the log no longer tells one of these versions. Costs a Spark job, whatever the number of versions.
    """
    newest = int(_updated(_log(spark, path)).version())
    oldest = min(versions, default=newest)
    told = changes(spark, path, oldest - 1, newest)
    if told is None:
        return None
    live = set(sizes(spark, path, oldest))
    found = set(live)
    for version, actions in list(told.items())[1:]:
        live -= {action["remove"]["path"] for action in actions if "remove" in action}
        live |= {action["add"]["path"] for action in actions if "add" in action}
        if version in versions or version == newest:
            found |= live
    return found


def rearranged(actions: Iterable[dict[str, Any]]) -> bool:
    """Whether commits of these actions have left the rows as they were."""
    return not any(action[kind]["dataChange"] for action in actions for kind in ("add", "remove") if kind in action)


def schema(spark: SparkSession, path: str) -> StructType:
    """The columns of the table at `path`, read without a Spark job."""
    told = _log(spark, path).unsafeVolatileSnapshot().metadata().schemaString()
    return StructType.fromJson(json.loads(told))


def live_files(actions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files that a table of these actions holds, as they were added."""
    live: dict[str, dict[str, Any]] = {}
    for action in actions:
        if "remove" in action:
            live.pop(action["remove"]["path"], None)
        elif "add" in action:
            live[action["add"]["path"]] = action["add"]
    return list(live.values())


def optimize(spark: SparkSession, path: str, retain: timedelta) -> None:
    """Compact the table at `path`, and delete what its newest version has not named for `retain`, by Delta's own means.

    For tables that are read at their newest version alone.
    """
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(spark, path)
    table.optimize().executeCompaction()
    table.vacuum(retain / timedelta(hours=1))


class Transaction:
    """One commit to the table at `path`, which need not exist yet."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._jvm = _jvm(spark)
        self._log = _log(spark, path)
        _updated(self._log)
        self._transaction = self._log.startTransaction()

    @property
    def read_version(self) -> int:
        """The version that this transaction sees; -1 where there is no table yet."""
        return int(self._transaction.readVersion())

    def applied(self, application: str) -> bool:
        """Whether a transaction of this id has been committed before."""
        return int(self._transaction.txnVersion(application)) >= 0

    def files(self, condition: str | None = None) -> list[Any]:
        """All files of the table, or those whose `path` and `stats` meet a condition in SQL. Costs a Spark job.

        The transaction then conflicts with every concurrent change of any file.
        """
        self._transaction.readWholeTable()
        held = self._transaction.snapshot().allFiles()
        found = (held if condition is None else held.filter(condition)).collectAsList()
        return [found.get(i) for i in range(found.size())]

    def described(self) -> dict[str, Any]:
        """The action that describes the table, which must be there."""
        told: dict[str, Any] = json.loads(self._transaction.metadata().json())
        return told

    def commit(
        self, removed: Iterable[Any], added: Iterable[dict[str, Any]], application: str, *, data_change: bool = True
    ) -> int:
        """Remove `removed` (of `files`) and take up `added` (actions as read by `actions`); returns the new version.

        `added` may hold protocol and metaData actions, which a new table needs; a table that is there stays the same
        one, whatever describes it. Without `data_change` the rows stay the same, and so say the actions in `added`.
        Raises CommitConflictError.
        """
        now = int(time.time() * 1000)
        listed = self._jvm.java.util.ArrayList()
        for file in removed:
            listed.add(file.removeWithTimestamp(now, data_change))
        marker = {"txn": {"appId": application, "version": 0, "lastUpdated": now}}
        for action in [*added, marker]:
            if "metaData" in action:
                self._transaction.updateMetadata(self._action(self._same_table(action)), False)
            elif "protocol" not in action:
                listed.add(self._action(action))
        sequence = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(listed).toSeq()
        try:
            return int(self._transaction.commit(sequence, self._manual_update()))
        except Exception as problem:
            if is_conflict(problem):
                raise CommitConflictError(str(problem)) from problem
            raise

    def _same_table(self, action: dict[str, Any]) -> dict[str, Any]:
        """With the id that the table has, by which its readers know it."""
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
    return _jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)


def _snapshot(spark: SparkSession, path: str, version: int) -> Any:
    log = _log(spark, path)
    _updated(log)
    return log.getSnapshotAt(version, *(getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)))


def _updated(log: Any) -> Any:
    """The newest snapshot; a log is cached for a session and may be behind."""
    return log.update(*(getattr(log, f"update$default${i}")() for i in (1, 2, 3)))


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
