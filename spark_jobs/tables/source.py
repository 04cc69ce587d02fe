"""The source: a Delta table at one pinned version, or the union of several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.local_rows import local_rows, no_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.pipeline.sql_texts import of_results
from spark_jobs.tables import commits, delta_log, delta_rs, error_causes, native_scan, native_scan_texts
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.source_tables import absolute_path, is_path, no_delta_table, tables_of

#: Returns the rows of a source, by its name and its table.
Reader = Callable[[str, str], DataFrame]


def pinned_version(spark: SparkSession, table: str) -> int:
    """Return the table's newest version. Raises SourceError if it is not a Delta table."""
    if is_path(table):
        with _readable(table):
            version = delta_log.version(spark, absolute_path(table))
        if version is None:
            raise no_delta_table(table)
        return version
    try:
        with _readable(table):
            newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").head()
    except AnalysisException as problem:
        raise no_delta_table(table) from problem
    if newest is None:
        raise no_delta_table(table)
    return int(newest["version"])


def read(spark: SparkSession, table: str, version: int, *, entirely: bool = False) -> DataFrame:
    """Return the rows of the table at `version`. Raises SourceError if that version can no longer be read.

    With `entirely`, the caller reads all rows, so that no file can be skipped (`native_scan.entire`).
    """
    folder = _local_folder(table)
    if entirely and folder is not None:
        rows = native_scan.entire(spark, folder, version)
        if rows is not None:
            return rows
    try:
        with _readable(table):
            return native_scan.native(delta_log.load(spark, table, versionAsOf=version))
    except AnalysisException as problem:
        raise SourceError(_unreadable(table, version), code=ErrorCode.VERSION_REMOVED) from problem


def _local_folder(table: str) -> str | None:
    """Return the folder of a table that is given by a local path; None for another table."""
    folder = absolute_path(table) if is_path(table) else ""
    return folder if Path(folder).is_dir() else None


def _unreadable(table: str, version: int) -> str:
    return (
        f"source.table: version {version} of '{table}' was planned, but can no longer be read: plan again "
        "to take the newest version."
    )


@contextmanager
def _readable(table: str) -> Iterator[None]:
    """Raise SourceError, with what to do, if a table or its log cannot be read; analysis errors pass."""
    try:
        yield
    except AnalysisException:
        raise
    except (Py4JError, PySparkException) as problem:
        scheme = urlsplit(table).scheme
        if not is_path(table):
            remedy = "check the name, the settings of its catalog, and the permission to read the table"
        elif error_causes.mentions(problem, "ClassNotFoundException") and scheme == "s3a":
            remedy = "run `tidemark setup`, which installs the jars for s3a://"
        elif error_causes.scheme_without_connector(problem):
            remedy = error_causes.NAME_CONNECTOR
        elif scheme in ("http", "https"):
            remedy = "Spark reads no Delta table over HTTP: give a path, or a URI such as s3a://bucket/table"
        else:
            remedy = "check the path, the access to it, and the files of its _delta_log"
        raise SourceError(
            f"source.table: '{table}' cannot be read ({error_causes.first_line(problem)}): {remedy}",
            code=ErrorCode.TABLE_UNREADABLE,
        ) from problem


def newest_versions(spark: SparkSession, pipeline: Pipeline) -> dict[str, int]:
    """Return the newest version of each source by its name, as in `tables_of`. Raises SourceError."""
    return {name: pinned_version(spark, table) for name, table in tables_of(pipeline).items()}


def table_ids(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> dict[str, str]:
    """Return Delta's id of each source at its version, by its name. Raises SourceError for a version that is gone.

    A table that was deleted and made anew has another id, whatever its versions.
    """
    return {name: _table_id(spark, table, versions[name]) for name, table in tables_of(pipeline).items()}


def _table_id(spark: SparkSession, table: str, version: int) -> str:
    folder = _local_folder(table)
    if folder is not None:
        with suppress(Exception):  # The error of Delta is raised instead.
            return str(delta_rs.opened(folder, version).metadata().id)
    try:
        return delta_log.table_id(spark, table, version)
    except (AnalysisException, Py4JJavaError) as problem:
        raise SourceError(_unreadable(table, version), code=ErrorCode.VERSION_REMOVED) from problem


def events(
    spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int], *, entirely: bool = False
) -> DataFrame:
    """Return the rows of the pipeline's source at its pinned version, read as by `read`.

    In commit order, it returns the rows of all commits, with the columns of their commit. Several sources are united:
    the column `source` has the name of the source, and columns that a source lacks are null. Raises SourceError if a
    source can no longer be read, or if columns have different types.
    """
    table = pipeline.source.table
    if pipeline.replay.by_commit and not pipeline.sources:
        rows = native_scan_texts.checked_texts(commits.read(spark, table, versions[""]))
        return _with_checked_bytes(rows, pipeline)
    return events_by(pipeline, _reader(spark, versions, entirely=entirely))


def events_by(pipeline: Pipeline, reader: Reader) -> DataFrame:
    """Return the rows that `reader` returns for each source, united as in `events`; not for commit order.

    Raises SourceError if columns have different types.
    """
    if not pipeline.sources:
        return _with_checked_bytes(reader("", pipeline.source.table), pipeline)
    sources = zip(_several(pipeline, reader), pipeline.sources, strict=True)
    return union_rows([rows.withColumn(SOURCE, F.lit(united.name)) for rows, united in sources])


def inputs(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> tuple[DataFrame, DataFrame | None]:
    """Return the rows of the two inputs of a join at their pinned versions.

    If one source is split, the second is None. Raises SourceError as `events` does.
    """
    return _inputs(pipeline, _reader(spark, versions))


def rows_of(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> tuple[DataFrame, DataFrame | None]:
    """Return `events` and None, or for a join `inputs`. Raises SourceError as both do."""
    if pipeline.join is not None:
        return inputs(spark, pipeline, versions)
    return events(spark, pipeline, versions), None


def no_rows_of(
    spark: SparkSession, pipeline: Pipeline, columns: Mapping[str, T.StructType]
) -> tuple[DataFrame, DataFrame | None]:
    """Return frames with the columns of `rows_of` and without rows. Reads nothing, and is not for commit order.

    `columns` are those of each source, by its name. Raises SourceError if they have different types.
    """

    def read_nothing(name: str, table: str) -> DataFrame:  # noqa: ARG001  as all readers
        return no_rows(spark, columns[name])

    if pipeline.join is not None:
        return _inputs(pipeline, read_nothing)
    return events_by(pipeline, read_nothing), None


def _reader(spark: SparkSession, versions: Mapping[str, int], *, entirely: bool = False) -> Reader:
    return lambda name, table: read(spark, table, versions[name], entirely=entirely)


def _inputs(pipeline: Pipeline, reader: Reader) -> tuple[DataFrame, DataFrame | None]:
    if not pipeline.sources:
        table = pipeline.source.table
        rows = _with_checked_bytes(reader("", table), pipeline)
        return _without_source_column(rows, "source", table), None
    left, right = _several(pipeline, reader)
    return left, right


def union_rows(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the union of several sources, null in columns that a source lacks. Raises SourceError if types differ."""
    try:
        return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
    except AnalysisException as problem:
        raise SourceError(
            f"sources: their columns have different types: {str(problem).splitlines()[0]}",
            code=ErrorCode.SOURCES_DIFFER,
        ) from problem


def _several(pipeline: Pipeline, reader: Reader) -> list[DataFrame]:
    return [
        _without_source_column(
            _with_checked_bytes(reader(u.name, u.source.table), pipeline), f"sources[{number}]", u.source.table
        )
        for number, u in enumerate(pipeline.sources)
    ]


def _with_checked_bytes(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    return native_scan_texts.checked_bytes(rows, (text.text for text in of_results(pipeline)))


def _without_source_column(rows: DataFrame, key: str, table: str) -> DataFrame:
    """Return `rows`. Raises SourceError if they have a column of the name that the source's name needs."""
    if SOURCE in (name.lower() for name in rows.columns):
        raise SourceError(
            f"{key}.table: found a column '{SOURCE}' in '{table}', which the result uses for the name of a "
            "row's source: read the table through a view that renames the column",
            code=ErrorCode.SOURCES_DIFFER,
        )
    return rows


def table_size(spark: SparkSession, table: str) -> tuple[int, int]:
    """Return the number of files and of bytes of the table's newest version."""
    name = f"delta.`{absolute_path(table)}`" if is_path(table) else table
    detail = spark.sql(f"DESCRIBE DETAIL {name}").head()
    return (0, 0) if detail is None else (int(detail["numFiles"]), int(detail["sizeInBytes"]))


@dataclass(frozen=True)
class Files:
    """Files that some frames read: their number, and a frame of one column with the last parts of their paths."""

    count: int
    names: DataFrame


def files_of(spark: SparkSession, frames: Sequence[DataFrame]) -> Files:
    """Return the files that the frames read, without those that Delta skips."""
    paths = {path for rows in frames for path in rows.inputFiles()}
    return Files(len(paths), local_rows(spark, [(path.rsplit("/", 1)[-1],) for path in paths], "name string"))


def size_of(spark: SparkSession, table: str, version: int, files: Files) -> int:
    """Return the bytes of those `files` that belong to the table at `version`."""
    sizes = delta_log.sizes_of(spark, table, version, files.names)
    return int(sizes.agg(F.coalesce(F.sum("size"), F.lit(0))).collect()[0][0])


@dataclass(frozen=True)
class RowChanges:
    """The changes of a table's rows by some commits: the added files, and the number of removed files.

    `added` has the files by the last version that contains them: a later compaction may have rewritten their rows.
    """

    added: Mapping[int, Sequence[str]]
    removed: int


def row_changes(spark: SparkSession, table: str, since: int, until: int) -> RowChanges | None:
    """Return the changes by the commits after the version `since`, up to `until`; None if their log is deleted.

    Files that a compaction rewrites are no change.
    """
    actions_by_version = delta_log.changes(spark, table, since, until)
    return None if actions_by_version is None else row_changes_of(actions_by_version, until)


def row_changes_of(actions_by_version: Mapping[int, Sequence[Mapping[str, Any]]], until: int) -> RowChanges:
    """Return the changes of a table's rows by the actions of some versions, the last of them `until`."""
    # Writers differ in which characters of a path they escape.
    last_seen: dict[str, tuple[str, int]] = {}
    removed = 0
    for version, actions in actions_by_version.items():
        for action in actions:
            if "remove" in action:
                file = unquote(action["remove"]["path"])
                if action["remove"]["dataChange"]:
                    removed += 1
                elif file in last_seen:
                    last_seen[file] = last_seen[file][0], version - 1
            elif "add" in action and action["add"]["dataChange"]:
                path = action["add"]["path"]
                last_seen[unquote(path)] = path, until
    added: dict[int, list[str]] = {}
    for path, version in last_seen.values():
        added.setdefault(version, []).append(path)
    return RowChanges(added, removed)


def first_version_with(spark: SparkSession, table: str, version: int, rows: DataFrame) -> int | None:
    """Return the first version of the table that added one of `rows`, which are rows of the table at `version`.

    A rewritten file counts from the first version of the files that it replaced. Without rows, the result is the
    version after `version`. Returns None if the log is deleted.
    """
    names = {row.name for row in rows.select(F.col("_metadata.file_name").alias("name")).distinct().collect()}
    if not names:
        return version + 1
    actions_by_version = delta_log.changes(spark, table, -1, version)
    if actions_by_version is None:
        return None
    since: dict[str, int] = {}
    for number, actions in actions_by_version.items():
        replaced = [since[a["remove"]["path"]] for a in actions if "remove" in a and a["remove"]["path"] in since]
        since |= {a["add"]["path"]: min([number, *replaced]) for a in actions if "add" in a}
    return min(number for path, number in since.items() if unquote(path).rsplit("/", 1)[-1] in names)


def rows_of_files(
    spark: SparkSession,
    table: str,
    version: int,
    files: Collection[str],
    entries: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> DataFrame:
    """Return the rows of some files of the table at a version. The files are named as in its log, by whole paths.

    `entries` are their entries of the log, as in `delta_log.rows_of_files`. A file that is named twice is read once.
    Raises SourceError if the version can no longer be read, or lacks a file.
    """
    try:
        with _readable(table):
            return native_scan_texts.checked_texts(delta_log.rows_of_files(spark, table, version, files, entries))
    except (AnalysisException, LookupError) as problem:
        raise SourceError(_unreadable(table, version), code=ErrorCode.VERSION_REMOVED) from problem


def location(spark: SparkSession, table: str) -> str:
    """Return the folder of a table, for messages: a table with a name is read by its name."""
    if is_path(table):
        return absolute_path(table)
    return str(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["location"])
