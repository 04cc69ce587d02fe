"""Rows of a table with their commits: `_commit_version` and `_commit_timestamp`, as in a change data feed.

- Since the table's change data feed is on, rows come from the feed: inserted rows, and the new values of updated rows.
  A deleted row arrived once, so it stays.
- Before that, rows come from the table's history: a row belongs to the commit that added its file. Files that a
  compaction rewrote are read as they were before it. Columns have their newest names.

A commit that changed rows in files while no feed was on is refused: the log does not contain which rows it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.local_rows import local_rows
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION
from spark_jobs.tables import delta_log
from spark_jobs.tables.data_files import escaped
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.source_tables import absolute_path, is_path
from spark_jobs.tables.stored_names import PHYSICAL_NAME

_FEED = "delta.enableChangeDataFeed"
_ADDED, _ARRIVAL_CHANGES = "__tm_added_file", ("insert", "update_postimage")
_LOG = (
    "add struct<path: string, dataChange: boolean>, remove struct<path: string, dataChange: boolean>, "
    "metaData struct<configuration: map<string, string>>"
)


@dataclass(frozen=True)
class _Commit:
    """The effect of a commit on the table's files; `feed` is set if it turned the change data feed on or off."""

    version: int
    added: tuple[str, ...]
    changed_rows: bool
    compacted: bool
    feed: bool | None


def read(spark: SparkSession, table: str, version: int) -> DataFrame:
    """Return the rows that the commits up to `version` added.

    `table` is a path, or a name of a catalog. Raises SourceError if the log of a commit is deleted, or if rows were
    changed while no change data feed was on.
    """
    commits = _commits(spark, table, version)
    since = _feed_since(commits)
    parts = _of_history(spark, table, [c for c in commits if since is None or c.version < since])
    if since is not None:
        _require_additions(spark, table, [since, *(c.version for c in commits if _may_alter(c, since))])
        parts.append(_of_feed(spark, table, since, version))
    newest = _snapshot(spark, table, version)
    if not parts:
        return newest.limit(0).withColumns(
            {COMMIT_VERSION: F.lit(0).cast("long"), COMMIT_TIMESTAMP: F.lit(None).cast("timestamp")}
        )
    # A column may be younger than all rows.
    every = [*parts, newest.limit(0)]
    rows = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), every)
    return rows.drop(
        *(name for name in rows.columns if name not in (*newest.columns, COMMIT_VERSION, COMMIT_TIMESTAMP))
    )


def _commits(spark: SparkSession, table: str, version: int) -> list[_Commit]:
    """Return every commit from the first to `version`, from the log."""
    commits = _logged(spark, table, version) if is_path(table) else _logged_by_name(spark, table, version)
    versions = [commit.version for commit in commits]
    if versions != list(range(version + 1)):
        missing = next(v for v in range(version + 1) if v not in set(versions))
        raise SourceError(
            f"replay.order: the log of '{table}' no longer contains version {missing}, of the versions up to {version}."
            " Order by arrival, with a column that contains when a row was stored.",
            code=ErrorCode.COMMITS_UNKNOWN,
        )
    return commits


def _logged(spark: SparkSession, table: str, version: int) -> list[_Commit]:
    """Return the commits up to `version` whose log exists, for a table at a path: by one job."""
    # The pattern excludes checkpoints and checksums, whose names have more characters after the version.
    logged = spark.read.schema(_LOG).json(f"{escaped(absolute_path(table))}/_delta_log/{'[0-9]' * 20}.json")
    actions = logged.select(
        F.regexp_extract("_metadata.file_name", r"^(\d+)\.json$", 1).cast("long").alias("version"), "*"
    )
    rows = (
        actions.where(F.col("version") <= version)
        .groupBy("version")
        .agg(
            F.collect_list(F.when(F.col("add.dataChange"), F.col("add.path"))).alias("added"),
            F.coalesce(F.max(F.col("remove.dataChange")), F.lit(False)).alias("changed_rows"),
            F.coalesce(F.max(~F.col("remove.dataChange")), F.lit(False)).alias("compacted"),
            F.max(F.col("metaData").isNotNull()).alias("has_settings"),
            F.max(F.col("metaData.configuration").getItem(_FEED)).alias("feed"),
        )
        .orderBy("version")
        .collect()
    )
    return [
        _Commit(
            row.version,
            tuple(row.added),
            row.changed_rows,
            row.compacted,
            (str(row.feed).lower() == "true") if row.has_settings else None,
        )
        for row in rows
    ]


def _logged_by_name(spark: SparkSession, table: str, version: int) -> list[_Commit]:
    """Return the commits up to `version` whose log exists, for a name of a catalog: one after the other."""
    commits = []
    for number in range(version + 1):
        actions_by_version = delta_log.changes(spark, table, number - 1, number)
        commits += [] if actions_by_version is None else [_commit(number, actions_by_version[number])]
    return commits


def _commit(version: int, actions: Sequence[Mapping[str, Any]]) -> _Commit:
    removed = [action["remove"]["dataChange"] for action in actions if "remove" in action]
    settings = [action["metaData"].get("configuration", {}) for action in actions if "metaData" in action]
    return _Commit(
        version,
        tuple(action["add"]["path"] for action in actions if "add" in action and action["add"]["dataChange"]),
        any(removed),
        not all(removed),
        settings[-1].get(_FEED) == "true" if settings else None,
    )


def _feed_since(commits: Sequence[_Commit]) -> int | None:
    """Return the version since which the change data feed has been on; None if it is off."""
    since: int | None = None
    for commit in commits:
        if commit.feed is False:
            since = None
        elif commit.feed and since is None:
            since = commit.version
    return since


def _may_alter(commit: _Commit, since: int) -> bool:
    """Return whether a commit after the version `since` may have changed the columns."""
    return commit.version > since and commit.feed is not None


def _require_additions(spark: SparkSession, table: str, versions: Sequence[int]) -> None:
    """Raise SourceError if a column of one of the versions has another name in the next, or is missing in it.

    Delta reads no feed across such a change.
    """
    schemas = [dict(_stored(delta_log.schema_at(spark, table, version))) for version in versions]
    for (earlier, later), version in zip(pairwise(schemas), versions[1:], strict=True):
        for path, field in earlier.items():
            if path not in later or later[path].name != field.name:
                raise SourceError(
                    f"replay.order: in '{table}', version {version} renamed or dropped the column {field.name}. Delta "
                    f"reads no change data feed ({_FEED}) across such a change. "
                    "Order by arrival, with a column that contains when a row was stored.",
                    code=ErrorCode.COMMITS_UNKNOWN,
                )


def _of_feed(spark: SparkSession, table: str, since: int, version: int) -> DataFrame:
    try:
        changes = delta_log.load(spark, table, readChangeFeed="true", startingVersion=since, endingVersion=version)
    except AnalysisException as problem:
        raise SourceError(
            f"replay.order: cannot read the change data feed of '{table}' from version {since} to {version}: "
            f"{str(problem).splitlines()[0]}",
            code=ErrorCode.COMMITS_UNKNOWN,
        ) from problem
    return changes.where(F.col("_change_type").isin(*_ARRIVAL_CHANGES)).drop("_change_type")


def _of_history(spark: SparkSession, table: str, commits: Sequence[_Commit]) -> list[DataFrame]:
    """Return the rows of each commit, read from the files that it added."""
    for commit in commits:
        if commit.changed_rows:
            raise SourceError(
                f"replay.order: in '{table}', version {commit.version} changed or removed rows while no change data "
                f"feed was on ({_FEED}), so the rows of this commit are not known. "
                "Order by arrival, with a column that contains when a row was stored.",
                code=ErrorCode.COMMITS_UNKNOWN,
            )
    if not any(commit.added for commit in commits):
        return []
    # A compaction replaces the files of earlier commits. These commits are read as of the version before it.
    ends = [c.version - 1 for c in commits if c.compacted and c.version > 0]
    edges = sorted({-1, *ends, commits[-1].version})
    history = _history(spark, table).select("version", "timestamp")
    commit_us = {
        row.version: row.micros
        for row in history.select("version", F.unix_micros("timestamp").alias("micros")).collect()
    }
    parts = []
    for before, end in pairwise(edges):
        files = [
            (path, c.version, commit_us[c.version]) for c in commits if before < c.version <= end for path in c.added
        ]
        if files:
            rows = _added(spark, _snapshot(spark, table, end), files)
            then, now = (delta_log.schema_at(spark, table, at) for at in (end, commits[-1].version))
            parts.append(_with_names_since(rows, table, end, then, now))
    return parts


def _with_names_since(rows: DataFrame, name: str, version: int, then: T.StructType, now: T.StructType) -> DataFrame:
    """Return rows of a version, which have the columns `then`, under the names of `now`, without dropped columns.

    A column that has the name of a dropped one is another column. Raises SourceError if a field of a struct has another
    name now: the rows before have other fields.
    """
    names_then, names_now = (
        {stored: field.name for (stored, *rest), field in _stored(of) if not rest} for of in (then, now)
    )
    fields_now = dict(_stored(now))
    for path, field in _stored(then):
        since = fields_now.get(path, field).name
        if len(path) > 1 and since != field.name:
            raise SourceError(
                f"replay.order: in '{name}', the field {names_then[path[0]]}.{field.name} of version {version} has the "
                f"name {since} now, and rows before the change cannot be read under it. "
                "Order by arrival, with a column that contains when a row was stored.",
                code=ErrorCode.COMMITS_UNKNOWN,
            )
    renamed = {of_then: names_now.get(stored) for stored, of_then in names_then.items()}
    remaining = rows.drop(*(of_then for of_then, of_now in renamed.items() if of_now is None))
    return remaining.toDF(*(renamed.get(column) or column for column in remaining.columns))


def _stored(kind: T.DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], T.StructField]]:
    """Yield each field of a type, at any depth, with the names by which files have it."""
    if isinstance(kind, T.StructType):
        for field in kind:
            inside = (*path, str((field.metadata or {}).get(PHYSICAL_NAME, field.name)))
            yield inside, field
            yield from _stored(field.dataType, inside)
    elif isinstance(kind, T.ArrayType):
        yield from _stored(kind.elementType, (*path, "element"))
    elif isinstance(kind, T.MapType):
        yield from _stored(kind.keyType, (*path, "key"))
        yield from _stored(kind.valueType, (*path, "value"))


def _added(spark: SparkSession, rows: DataFrame, files: Sequence[tuple[str, int, int]]) -> DataFrame:
    """Return the rows of `files`, each a path in the log, a version and a commit time in microseconds."""
    commits = local_rows(spark, files, f"path string, {COMMIT_VERSION} long, micros long")
    file = F.url_decode(F.element_at(F.split("path", "/"), -1))
    added = commits.select(file.alias(_ADDED), COMMIT_VERSION, F.timestamp_micros("micros").alias(COMMIT_TIMESTAMP))
    return rows.withColumn(_ADDED, F.col("_metadata.file_name")).join(F.broadcast(added), _ADDED).drop(_ADDED)


def _snapshot(spark: SparkSession, table: str, version: int) -> DataFrame:
    return delta_log.load(spark, table, versionAsOf=version)


def _history(spark: SparkSession, table: str) -> DataFrame:
    if is_path(table):
        return DeltaTable.forPath(spark, absolute_path(table)).history()
    return spark.sql(f"DESCRIBE HISTORY {table}")
