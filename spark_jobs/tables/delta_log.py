"""Delta's transaction log, as it is read: what Delta's public Python API does not return.

Only this module and `delta_transaction`, which commits, call Delta's internal classes, of the pinned version.

A `table` is a path, or a name of a catalog. A name is never replaced by its path: the catalog may have the credentials
of the folder, and commits that the folder lacks.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.tables import commit_files
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.source_tables import absolute_path, is_path

_PACKAGE = "org.apache.spark.sql.delta"
# Paths that all writers spell alike: relative ones, or those of a whole URI.
_PLAIN_PATH = re.compile(r"(?:\w+:/{1,3})?[\w.=-][\w.=/-]*", re.ASCII)


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether `path` is a Delta table."""
    from delta.tables import DeltaTable

    return DeltaTable.isDeltaTable(spark, path)


def version(spark: SparkSession, path: str) -> int | None:
    """Return the newest version of the Delta table at `path`, without a Spark job; None if there is no table."""
    log = log_of(spark, path)
    newest = int(newest_snapshot(log).version())
    return newest if newest >= 0 else None


def state(spark: SparkSession, path: str) -> tuple[str, int, int] | None:
    """Return what identifies the state of the Delta table at `path`: its id, newest version and commit time.

    The commit time is in milliseconds. Returns None if there is no table. Costs no Spark job.
    """
    newest = newest_snapshot(log_of(spark, path))
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
    log, by_version = log_of(spark, table), {}
    for version in range(after + 1, newest + 1):
        try:
            by_version[version] = _read(spark, log, version)
        except Exception as problem:
            if "FileNotFoundException" in str(problem):
                return None
            raise
    return by_version


def rows_of_files(
    spark: SparkSession,
    table: str,
    version: int,
    paths: Collection[str],
    entries: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> DataFrame:
    """Return the rows of those files of `table` at `version` that its log names by `paths`; no other file is read.

    `entries` are `add` or `remove` entries of the log by path. A Spark job looks files up in the log unless each has an
    entry with all that a reader needs. Raises LookupError if the table lacks one of the files at this version.
    """
    snapshot, log = _snapshot(spark, table, version), log_of(spark, table)
    scala = jvm_of(spark).scala
    if all(_can_be_read(entries.get(path, {})) for path in paths):
        files = jvm_of(spark).java.util.ArrayList()
        for path in paths:
            files.add(_added(spark, entries[path]))
    else:
        names = {_as_in_snapshots(spark, log, path) for path in paths}
        files = snapshot.allFiles().filter(F.col("path").isin(*names)._jc).collectAsList()
        if files.size() < len(names):
            few = f"{files.size()} of {len(names)} files"
            raise LookupError(f"version {version} of {table} has {few}: {sorted(names)[:3]}")
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
    newest = int(newest_snapshot(log_of(spark, path)).version())
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
    schema_string = log_of(spark, path).unsafeVolatileSnapshot().metadata().schemaString()
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


def _can_be_read(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry has what a reader needs. Writers may leave it out of a `remove` entry."""
    return None not in (entry.get("partitionValues"), entry.get("size"))


def _added(spark: SparkSession, entry: Mapping[str, Any]) -> Any:
    """Return the file of an `add` or `remove` entry, as Delta reads it."""
    names = ("path", "partitionValues", "size", "stats", "tags", "deletionVector")
    file = {name: entry[name] for name in names if entry.get(name) is not None}
    file |= {"modificationTime": entry.get("modificationTime", 0), "dataChange": True}
    return jvm_of(spark).org.apache.spark.sql.delta.actions.Action.fromJson(json.dumps({"add": file}))


def _as_in_snapshots(spark: SparkSession, log: Any, path: str) -> str:
    """Return a path of the log as Delta's snapshots have it: writers differ in which characters they escape."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    jvm = jvm_of(spark)
    place = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    if place.isAbsoluteAndSchemeAuthorityNull():
        place = jvm.org.apache.hadoop.fs.FileSystem.get(log.newDeltaHadoopConf()).makeQualified(place)
    return str(place.toUri().toString())


def _read(spark: SparkSession, log: Any, version: int) -> list[dict[str, Any]]:
    lines = log.store().read(_commit_file(spark, log, version), log.newDeltaHadoopConf())
    return [json.loads(lines.apply(i)) for i in range(lines.size())]


def _commit_file(spark: SparkSession, log: Any, version: int) -> Any:
    return jvm_of(spark).org.apache.hadoop.fs.Path(log.logPath(), f"{version:020d}.json")


def log_of(spark: SparkSession, table: str) -> Any:
    """Return Delta's log of `table`, for this thread (`activate`)."""
    activate(spark)
    if not is_path(table):
        return _named_files(spark, table).deltaLog()
    return jvm_of(spark).org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, absolute_path(table))


def activate(spark: SparkSession) -> None:
    """Let Delta read logs in this thread by a session. A thread that no query of PySpark has run in has none."""
    jvm_of(spark).org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


def _named_files(spark: SparkSession, name: str, **options: int) -> Any:
    """Return Delta's index of the files of a table that a catalog opens."""
    plan = load(spark, name, **options)._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() == "SubqueryAlias":
        plan = plan.child()
    return plan.relation().location()


def _snapshot(spark: SparkSession, table: str, version: int) -> Any:
    if not is_path(table):
        return _named_files(spark, table, versionAsOf=version).getSnapshot()
    log = log_of(spark, table)
    newest_snapshot(log)
    return log.getSnapshotAt(version, *(getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)))


def newest_snapshot(log: Any) -> Any:
    """Return the newest snapshot. The session caches the log, which may be outdated."""
    return log.update(*(getattr(log, f"update$default${i}")() for i in (1, 2, 3)))


def jvm_of(spark: SparkSession) -> Any:
    """Return the JVM of a session, by which Delta's classes are called."""
    return spark._jvm
