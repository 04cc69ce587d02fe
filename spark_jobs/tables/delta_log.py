"""Delta's transaction log: the operations that Delta's public Python API does not have.

Publishing adds files that are already written and removes others, in one commit with an idempotent transaction id. The
public API can only write rows. Only this module calls Delta's internal classes, of the pinned version.

A `table` is a path, or a name of a catalog. A name is never replaced by its path: the catalog may have the credentials
of the folder, and commits that the folder lacks.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import spark_jobs
from spark_jobs.tables import commit_files
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.source_tables import absolute_path, is_path

_PACKAGE = "org.apache.spark.sql.delta"
_MAX_ATTEMPTS = 10
_CONFLICTS = ("CONCURRENT", "METADATA_CHANGED", "PROTOCOL_CHANGED")
#: Settings of Delta's writer for files that a commit adds to another table: they have the names of its columns,
#: whatever names the session sets for new tables.
PLAIN_NAMES: Mapping[str, str] = MappingProxyType({"delta.columnMapping.mode": "none"})
_TIMED = "delta.enableInCommitTimestamps"
# Paths that all writers spell alike: relative ones, or those of a whole URI.
_PLAIN_PATH = re.compile(r"(?:\w+:/{1,3})?[\w.=-][\w.=/-]*", re.ASCII)


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


def load(spark: SparkSession, table: str, **options: str | int) -> DataFrame:
    """Return the rows of `table`, with options of Delta such as `versionAsOf`."""
    reader = spark.read.format("delta").options(**options)
    return reader.load(absolute_path(table)) if is_path(table) else reader.table(table)


def changes(spark: SparkSession, table: str, after: int, newest: int) -> dict[int, list[dict[str, Any]]] | None:
    """Return the actions of each version in `(after, newest]` of `table`, oldest first.

    Returns None if the log of one of these versions is deleted, or is with the catalog alone. The table may be in any
    file system of Hadoop.
    """
    log, by_version = _log(spark, table), {}
    for version in range(after + 1, newest + 1):
        try:
            by_version[version] = _read(spark, log, version)
        except Exception as problem:
            if "FileNotFoundException" in str(problem):
                return None
            raise
    return by_version


def rows_of_files(spark: SparkSession, table: str, version: int, paths: Collection[str]) -> DataFrame:
    """Return the rows of those files of `table` at `version` that its log names by `paths`; no other file is read.

    Costs a Spark job over the log. Raises LookupError if the table lacks one of the files at this version.
    """
    snapshot, log = _snapshot(spark, table, version), _log(spark, table)
    names = {_as_in_snapshots(spark, log, path) for path in paths}
    files = snapshot.allFiles().filter(F.col("path").isin(*names)._jc).collectAsList()
    if files.size() < len(names):
        raise LookupError(f"version {version} of {table} has {files.size()} of {len(names)} files: {sorted(names)[:3]}")
    scala = _jvm(spark).scala
    added = scala.jdk.javaapi.CollectionConverters.asScala(files).toSeq()
    return DataFrame(log.createDataFrame(snapshot, added, False, scala.Option.empty()), spark)


def state_at(spark: SparkSession, path: str, version: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the `add` actions of the table at `version`, and its `metaData` action in a list. Costs a Spark job."""
    snapshot = _snapshot(spark, path, version)
    files_at = snapshot.allFiles().collectAsList()
    added = [json.loads(files_at.get(i).json()) for i in range(files_at.size())]
    return added, [json.loads(snapshot.metadata().json())]


def table_id(spark: SparkSession, table: str, version: int) -> str:
    """Return the id that `table` has at `version`; another table of the same path or name has another id."""
    return str(_snapshot(spark, table, version).metadata().id())


def sizes(spark: SparkSession, table: str, version: int) -> dict[str, int]:
    """Return the size in bytes of each file of `table` at `version`. Costs a Spark job."""
    snapshot = _snapshot(spark, table, version)
    rows = DataFrame(snapshot.allFiles().toDF(), spark).select("path", "size").collect()
    return {row.path: row.size for row in rows}


def sizes_of(spark: SparkSession, table: str, version: int, names: DataFrame) -> DataFrame:
    """Return the columns `path` and `size` of the files of `table` at `version` that have one of some names.

    `names` has one column: the last parts of paths, as in the log. The table may have any number of files: none of
    them becomes a Python object.
    """
    files = DataFrame(_snapshot(spark, table, version).allFiles().toDF(), spark).select("path", "size")
    last_part = F.element_at(F.split("path", "/"), -1)
    return files.join(names.toDF("name").distinct(), last_part == F.col("name"), "left_semi")


def referenced_files(spark: SparkSession, path: str, versions: Collection[int]) -> set[str] | None:
    """Return the files, named as in the log, of the newest version of the table at `path` and of all `versions`.

    Among them are the files of the change data feed since the oldest of these versions.

    Returns None if Delta has deleted the log of one of these versions. Costs one Spark job for all versions.
    """
    newest = int(_updated(_log(spark, path)).version())
    oldest = min(versions, default=newest)
    actions_by_version = commit_files.changes(Objects(path), oldest - 1, newest)
    if actions_by_version is None:
        return None
    live = set(sizes(spark, path, oldest))
    referenced = set(live)
    for version, actions in list(actions_by_version.items())[1:]:
        live -= {action["remove"]["path"] for action in actions if "remove" in action}
        live |= {action["add"]["path"] for action in actions if "add" in action}
        # A feed since the oldest version can be read as long as that version.
        referenced |= {action["cdc"]["path"] for action in actions if "cdc" in action}
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


def schema_at(spark: SparkSession, table: str, version: int) -> StructType:
    """Return the schema of `table` at a version, with what Delta notes of its columns."""
    return StructType.fromJson(json.loads(_snapshot(spark, table, version).metadata().schemaString()))


def live_files(actions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the `add` entries of the live files of a table with these actions."""
    live: dict[str, dict[str, Any]] = {}
    for action in actions:
        if "remove" in action:
            live.pop(action["remove"]["path"], None)
        elif "add" in action:
            live[action["add"]["path"]] = action["add"]
    return list(live.values())


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
    """One commit to the table at `path`, which may not exist yet."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm, self._path = _jvm(spark), path
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
        snapshot = _updated(self._log)
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
        name = f"{_PACKAGE}.DeltaOperations$ManualUpdate$"
        return self._jvm.org.apache.spark.util.Utils.classForName(name, True, False).getField("MODULE$").get(None)


def _as_in_snapshots(spark: SparkSession, log: Any, path: str) -> str:
    """Return a path of the log as Delta's snapshots have it: writers differ in which characters they escape."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    jvm = _jvm(spark)
    place = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    if place.isAbsoluteAndSchemeAuthorityNull():
        place = jvm.org.apache.hadoop.fs.FileSystem.get(log.newDeltaHadoopConf()).makeQualified(place)
    return str(place.toUri().toString())


def _read(spark: SparkSession, log: Any, version: int) -> list[dict[str, Any]]:
    lines = log.store().read(_commit_file(spark, log, version), log.newDeltaHadoopConf())
    return [json.loads(lines.apply(i)) for i in range(lines.size())]


def _commit_file(spark: SparkSession, log: Any, version: int) -> Any:
    return _jvm(spark).org.apache.hadoop.fs.Path(log.logPath(), f"{version:020d}.json")


def _log(spark: SparkSession, table: str) -> Any:
    """Return Delta's log of `table`, for this thread.

    Delta reads checkpoints by the active session of a thread. A thread that no query of PySpark has run in has none.
    """
    spark_sql = _jvm(spark).org.apache.spark.sql
    spark_sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    if not is_path(table):
        return _named_files(spark, table).deltaLog()
    return spark_sql.delta.DeltaLog.forTable(spark._jsparkSession, absolute_path(table))


def _named_files(spark: SparkSession, name: str, **options: int) -> Any:
    """Return Delta's index of the files of a table that a catalog opens."""
    plan = load(spark, name, **options)._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() == "SubqueryAlias":
        plan = plan.child()
    return plan.relation().location()


def _snapshot(spark: SparkSession, table: str, version: int) -> Any:
    if not is_path(table):
        return _named_files(spark, table, versionAsOf=version).getSnapshot()
    log = _log(spark, table)
    _updated(log)
    return log.getSnapshotAt(version, *(getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)))


def _updated(log: Any) -> Any:
    """Return the newest snapshot. The session caches the log, which may be outdated."""
    return log.update(*(getattr(log, f"update$default${i}")() for i in (1, 2, 3)))


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
