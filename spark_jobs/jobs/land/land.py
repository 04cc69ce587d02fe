"""Landing: the rows of new files are appended to a Delta table, each with its file and the time the file became known.

The files are those of a folder, or those that the snapshots of an Iceberg table appended.

A commit has all new files, or none. The table remembers its files in two columns, so a repeated landing appends files
that have come since. A file that has changed after its landing is refused: its old rows are in the table.

Numbers of CSV and JSON are found by Spark. Times stay text: `tidemark init` finds their format and zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import DataFile, DataFolder, Format
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables import delta_log, error_causes
from spark_jobs.tables.source_tables import absolute_path, is_path
from spark_jobs.tables.stored_names import stored_name

if TYPE_CHECKING:
    from spark_jobs.jobs.land.iceberg import AppendedFile, IcebergTable

#: Where `keep_broken` stores a record that does not parse.
BROKEN = "broken_record"

_MOST_LISTED = 3
# A pattern that fits no text: times stay text.
_NO_TIME = "'no time'"


@dataclass(frozen=True)
class Layout:
    """The names of the columns that landing adds, and options of Spark's reader."""

    arrival_column: str = "arrived_at"
    file_column: str = "arrived_in"
    options: Mapping[str, str] = field(default_factory=dict)
    keep_broken: bool = False


@dataclass(frozen=True)
class Landed:
    """What a landing did: rows and files appended, broken records among the rows, and the version of the table."""

    table: str
    version: int
    files: int
    rows: int
    broken: int = 0
    is_new: bool = False


def land(
    spark: SparkSession,
    source: DataFolder | IcebergTable,
    table: str,
    layout: Layout = Layout(),
    *,
    progress: Progress = silent,
) -> Landed:
    """Append the new files of a source to the Delta table at a path, which may not exist yet.

    Raises InputError for a table without the columns of a landing, for files that changed, and for rows that do not
    fit.
    """
    path = _path(table)
    version = delta_log.version(spark, path)
    existing = None if version is None else spark.read.format("delta").load(path)
    new, read = _new_rows(spark, source, existing, table, layout)
    if not new:
        return Landed(table, -1 if version is None else version, 0, 0)
    progress(StepName.LAND, f"reading {new:,} files")
    rows = read()
    observed = Observation("landed")
    broken = F.count(BROKEN) if BROKEN in rows.columns else F.lit(0)
    counted = rows.observe(observed, F.count(F.lit(1)).alias("rows"), broken.alias("broken"))
    try:
        _append(counted, path)
    except (Py4JError, PySparkException) as problem:
        raise InputError(_explained(problem, source, table), code=ErrorCode.FILES_NOT_LANDED) from problem
    after = delta_log.version(spark, path)
    counts = observed.get
    return Landed(table, -1 if after is None else after, new, counts["rows"], counts["broken"], existing is None)


def _path(table: str) -> str:
    if not is_path(table):
        raise InputError(
            f"TABLE: found '{table}', expected a path, such as lake/{table}", code=ErrorCode.FILES_NOT_LANDED
        )
    return absolute_path(table)


def _new_rows(
    spark: SparkSession, source: DataFolder | IcebergTable, existing: DataFrame | None, table: str, layout: Layout
) -> tuple[int, Callable[[], DataFrame]]:
    """Return the number of files that the table does not have, and how to read them. Raises InputError."""
    landed = [] if existing is None else _landed(existing, table, layout)
    if isinstance(source, DataFolder):
        files = _new_files(source, {name: micros for name, micros, _ in landed}, table)
        return len(files), partial(_file_rows, spark, source, files, existing, layout)
    appended = source.new_files({name: rows for name, _, rows in landed})
    return len(appended), partial(_appended_rows, spark, source, appended, existing, table, layout)


def _landed(existing: DataFrame, table: str, layout: Layout) -> Iterable[tuple[str, int, int]]:
    """Return the name, the arrival in microseconds and the number of rows of each file in the table."""
    if missing := {layout.arrival_column, layout.file_column} - set(existing.columns):
        raise InputError(
            f"TABLE: '{table}' has no column {' and no '.join(sorted(missing))}, and so no list of its files: "
            "land in a new table, or name its columns with --arrival-column and --file-column",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    file, micros = F.col(quoted(layout.file_column)), F.unix_micros(layout.arrival_column)
    return existing.where(file.isNotNull()).groupBy(file.alias("file"), micros.alias("at")).count().collect()


def _new_files(folder: DataFolder, moments: Mapping[str, int], table: str) -> Sequence[DataFile]:
    """Return the files without a moment of landing. Raises InputError for a file that has changed since."""
    changed = [f.name for f in folder.files if moments.get(f.name, _micros(f.changed_at)) != _micros(f.changed_at)]
    if changed:
        raise InputError(
            f"FOLDER: {len(changed):,} files have changed since they were landed in '{table}': {_listed(changed)}. "
            "Their old rows are in the table: give changed files another name, or land in a new table",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    return [file for file in folder.files if file.name not in moments]


def _appended_rows(
    spark: SparkSession,
    source: IcebergTable,
    files: Sequence[AppendedFile],
    existing: DataFrame | None,
    table: str,
    layout: Layout,
) -> DataFrame:
    from spark_jobs.jobs.land.iceberg_rows import rows_of

    if layout.options or layout.keep_broken:
        raise InputError(
            f"--option, --keep-broken: '{source.path}' is an Iceberg table, and these are of files alone: "
            "leave them out",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    _require_free(source.columns, layout)
    former = source.former_names()
    if renamed := [name for name in ([] if existing is None else existing.columns) if name in former]:
        raise InputError(
            f"TABLE: '{table}' has the column '{renamed[0]}', which is '{former[renamed[0]]}' today in "
            f"'{source.path}': rename it in the table too, or land in a new table",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    return rows_of(spark, source, files, layout.arrival_column, layout.file_column)


def _file_rows(
    spark: SparkSession, folder: DataFolder, files: Sequence[DataFile], existing: DataFrame | None, layout: Layout
) -> DataFrame:
    return _with_arrival(_rows(spark, folder, files, existing, layout), folder, layout)


def _rows(
    spark: SparkSession, folder: DataFolder, files: Sequence[DataFile], existing: DataFrame | None, layout: Layout
) -> DataFrame:
    paths = [str(file.path.absolute()) for file in files]
    base = {"basePath": str(folder.path.absolute())} if folder.is_partitioned else {}
    reader = spark.read.format(folder.format).options(**{**_defaults(folder, files), **base, **layout.options})
    try:
        if folder.format is Format.PARQUET:
            return reader.option("mergeSchema", True).load(paths)
        schema = _schema(reader.load(paths).schema, existing)
        if not layout.keep_broken:
            return reader.schema(schema).option("mode", "FAILFAST").load(paths)
        with_broken = T.StructType([*schema.fields, T.StructField(BROKEN, T.StringType())])
        return reader.schema(with_broken).option("columnNameOfCorruptRecord", BROKEN).load(paths)
    except (Py4JError, PySparkException) as problem:
        raise InputError(_explained(problem, folder, ""), code=ErrorCode.FILES_NOT_LANDED) from problem


def _defaults(folder: DataFolder, files: Sequence[DataFile]) -> dict[str, str]:
    if folder.format is not Format.CSV:
        return {}
    separator = {"sep": "\t"} if any(".tsv" in file.path.suffixes for file in files) else {}
    no_times = dict.fromkeys(("timestampFormat", "timestampNTZFormat", "dateFormat"), _NO_TIME)
    return {"header": "true", "inferSchema": "true", "prefersDate": "false", **no_times, **separator}


def _schema(inferred: T.StructType, existing: DataFrame | None) -> T.StructType:
    """Return the schema of the files: the types of the table, and inferred types of columns that it lacks."""
    types = {} if existing is None else {f.name: f.dataType for f in existing.schema}
    return T.StructType([T.StructField(f.name, types.get(f.name, f.dataType)) for f in inferred])


def _require_free(columns: Sequence[str], layout: Layout) -> None:
    for option, name in (("--arrival-column", layout.arrival_column), ("--file-column", layout.file_column)):
        if name.lower() in {column.lower() for column in columns}:
            raise InputError(
                f"{option}: the files have a column '{name}'; give another name", code=ErrorCode.FILES_NOT_LANDED
            )


def _with_arrival(rows: DataFrame, folder: DataFolder, layout: Layout) -> DataFrame:
    _require_free(rows.columns, layout)
    # In a URL + is no blank, as it is in a form.
    path = F.url_decode(F.replace("_metadata.file_path", F.lit("+"), F.lit("%2B")))
    root = f"{folder.path.absolute()}/"
    file = F.substring(path, F.instr(path, root) + F.lit(len(root)), F.length(path))
    return rows.select(
        *(F.col(quoted(column)) for column in rows.columns),
        F.col("_metadata.file_modification_time").alias(layout.arrival_column),
        file.alias(layout.file_column),
    )


def _append(rows: DataFrame, path: str) -> None:
    writer = rows.write.format("delta").mode("append").option("mergeSchema", True)
    if any(stored_name(name) != name for name in rows.columns):
        writer = writer.option("delta.columnMapping.mode", "name")
    writer.save(path)


def _explained(problem: Exception, source: DataFolder | IcebergTable, table: str) -> str:
    line = error_causes.first_line(problem)
    remedy = "correct the file, or keep its broken records with --keep-broken"
    is_text = isinstance(source, DataFolder) and source.format is not Format.PARQUET
    if not is_text or "MALFORMED" not in str(problem):
        remedy = f"land these files in another table than '{table}'" if table else "correct the files"
    return f"FOLDER: '{source.path}': {line}: {remedy}. Nothing has been appended"


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more
