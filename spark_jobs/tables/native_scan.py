"""Native scans: a Delta snapshot as a scan of its Parquet files, which the native engine reads.

Comet reads Spark's Parquet format and refuses Delta's, which adds deletion vectors, mapped columns and widened types.
Law: a snapshot without these has exactly the rows of its files. Delta's index of the files stays: it skips files by
their statistics and adds the values of partition columns.

Dates are another exception. Writers before Spark 3 counted old dates by another calendar, and only Spark corrects them.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables import data_files, delta_rs
from spark_jobs.tables.native_scan_texts import checked_texts

_DELTA_FORMAT = "DeltaParquetFileFormat"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_VECTORS = "deletionVectors"
# Features of a table that change neither the rows nor the types of its data files.
_HARMLESS = frozenset({"columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", _VECTORS})
# Both calendars, and the offsets of all time zones, agree from this year on.
_FIRST_DATE = "1900-01-01"
# Spark lists more files than these in a job.
_FEW_FILES = 32
# A table of so many files at its last checkpoint is not opened to find out whether it has few now.
_MANY_FILES = 10_000
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)

# By the place, id and version of a table. A version never changes, but a copy in another place may have another.
_decisions: dict[tuple[str, str, int], bool] = {}


def native(rows: DataFrame) -> DataFrame:
    """Return `rows`, a snapshot of a Delta table, as a scan that the native engine reads; else `rows` themselves.

    The result has the same rows and columns, with `checked_texts`. The first call for a version of a table may cost one
    job over its log.
    """
    spark = rows.sparkSession
    if spark.conf.get(COMET_ENABLED, "false") != "true":
        return rows
    relation = _delta_relation(rows)
    if relation is None:
        return checked_texts(rows)
    if not _has_plain_files(spark, relation.location().getSnapshot()):
        return checked_texts(rows, stored_apart=list(relation.partitionSchema().fieldNames()))
    return _scan(spark, relation, relation.dataSchema())


def entire(spark: SparkSession, folder: str, version: int) -> DataFrame | None:
    """Return all rows of a Delta table in a local folder as a scan that the native engine reads, without Delta.

    Delta's index of the files takes seconds when it is first used. It skips files, and here all rows are read. Returns
    None for a table of many files, and for a table that `native` would leave to Spark.
    """
    if spark.conf.get(COMET_ENABLED, "false") != "true" or (delta_rs.file_count(folder) or 0) > _MANY_FILES:
        return None
    with suppress(Exception):  # Delta reads more tables than delta-rs.
        table = delta_rs.opened(folder, version)
        schema = T.StructType.fromJson(json.loads(table.schema().to_json()))
        features, metadata = table.protocol().reader_features or (), table.metadata()
        is_plain = _VECTORS not in features and _is_plain(features, metadata.configuration, schema)
        if not is_plain or metadata.partition_columns:
            return None
        files = delta_rs.statistics(table)
        if files.num_rows > _FEW_FILES:
            return None
        paths = [Path(folder) / unquote(name) for name in files["path"].to_pylist()]
        exist = len(paths) > 0 and all(path.is_file() for path in paths)
        if exist and _have_no_old_dates(files, _only_dates(schema)):
            rows = spark.read.schema(schema).parquet(*(data_files.escaped(str(path)) for path in paths))
            relation = rows._jdf.queryExecution().analyzed().relation()
            of_table = _jvm(spark).org.apache.spark.sql.types.DataType.fromJson(schema.json())
            return _scan(spark, relation, of_table)
    return None


def _scan(spark: SparkSession, relation: Any, schema: Any) -> DataFrame:
    """Return the rows of a relation's files, read as Parquet with a schema of Spark's JVM."""
    parquet = relation.copy(
        relation.location(),
        relation.partitionSchema(),
        schema,
        relation.bucketSpec(),
        _jvm(spark).org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat(),
        relation.options(),
        relation.sparkSession(),
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(parquet), spark)


def _delta_relation(rows: DataFrame) -> Any | None:
    """Return the relation of Delta's files, if the rows are these files and nothing else."""
    plan = rows._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() == "SubqueryAlias":
        plan = plan.child()
    if plan.getClass().getSimpleName() != "LogicalRelation":
        return None
    relation = plan.relation()
    # Delta's relation is a nameless class below this one.
    of_files = _jvm(rows.sparkSession).org.apache.spark.util.Utils.classForName(_FILES, True, False)
    is_delta = of_files.isInstance(relation) and relation.fileFormat().getClass().getSimpleName() == _DELTA_FORMAT
    return relation if is_delta else None


def _has_plain_files(spark: SparkSession, snapshot: Any) -> bool:
    """Return whether plain Parquet has the rows of a snapshot, with the same types and dates."""
    key = str(snapshot.path().toString()), str(snapshot.metadata().id()), int(snapshot.version())
    if key not in _decisions:
        _decisions[key] = _decide(spark, snapshot)
    return _decisions[key]


def _decide(spark: SparkSession, snapshot: Any) -> bool:
    features = json.loads(snapshot.protocol().json())["protocol"].get("readerFeatures", [])
    metadata = json.loads(snapshot.metadata().json())["metaData"]
    schema = T.StructType.fromJson(json.loads(metadata["schemaString"]))
    if not _is_plain(features, metadata.get("configuration", {}), schema):
        return False
    # The values of partition columns are in the log.
    stored = T.StructType([field for field in schema if field.name not in metadata["partitionColumns"]])
    dates = _only_dates(stored)
    if _VECTORS not in features and _prove_plain(str(snapshot.dataPath().toString()), int(snapshot.version()), dates):
        return True
    files = DataFrame(snapshot.allFiles().toDF(), spark)
    return files.where(F.col("deletionVector").isNotNull() | _may_have_old_dates(dates)).isEmpty()


def _is_plain(features: Collection[str], configuration: Mapping[str, str], schema: T.StructType) -> bool:
    """Return whether plain Parquet has the rows and types of a table, but for deletion vectors and old dates."""
    is_mapped = configuration.get("delta.columnMapping.mode", "none") != "none"
    return not is_mapped and _HARMLESS.issuperset(features) and not _has_unmeasured_dates(schema)


def _prove_plain(path: str, version: int, dates: T.StructType) -> bool:
    """Return whether delta-rs proves that no file has an old date; false if it cannot. Costs no job.

    It reads tables in local folders.
    """
    address = urlsplit(path)
    if address.scheme not in ("", "file"):
        return False
    with suppress(Exception):  # Spark reads more tables than delta-rs.
        folder = unquote(address.path) if address.scheme else path
        return _have_no_old_dates(delta_rs.statistics(delta_rs.opened(folder, version)), dates)
    return False


def _have_no_old_dates(files: pa.Table, dates: T.StructType) -> bool:
    """Return whether the statistics of every file prove that it has no date before `_FIRST_DATE`."""
    return all(_has_no_old_dates(files, path) for path in _paths(dates))


def _has_no_old_dates(files: pa.Table, path: Sequence[str]) -> bool:
    lowest, nulls = (pc.struct_field(files[name], list(path)) for name in ("min", "null_count"))
    is_late = pc.greater_equal(lowest, pa.scalar(date.fromisoformat(_FIRST_DATE)).cast(lowest.type))
    has_none = pc.equal(nulls, files["num_records"])
    proved = pc.or_kleene(is_late, has_none)
    return bool(pc.all(pc.fill_null(proved, False)).as_py())


def _has_unmeasured_dates(kind: T.DataType, *, is_repeated: bool = False) -> bool:
    """Return whether dates are in arrays or maps, for which files have no statistics."""
    if isinstance(kind, T.StructType):
        return any(_has_unmeasured_dates(field.dataType, is_repeated=is_repeated) for field in kind)
    if isinstance(kind, T.ArrayType):
        return _has_unmeasured_dates(kind.elementType, is_repeated=True)
    if isinstance(kind, T.MapType):
        return any(_has_unmeasured_dates(part, is_repeated=True) for part in (kind.keyType, kind.valueType))
    return is_repeated and isinstance(kind, _TIMES)


def _may_have_old_dates(dates: T.StructType) -> Column:
    """Return the condition that a file may have a date before `_FIRST_DATE`, by its `stats`; true if these lack it."""
    parsed = T.StructType(
        [
            T.StructField("numRecords", T.LongType()),
            T.StructField("minValues", _of_leaves(dates, T.StringType())),
            T.StructField("nullCount", _of_leaves(dates, T.LongType())),
        ]
    )
    stats = F.from_json("stats", parsed)
    may_be_old = F.lit(False)
    for path in _paths(dates):
        lowest, nulls = _at(stats.getField("minValues"), path), _at(stats.getField("nullCount"), path)
        has_none = F.coalesce(nulls == stats.getField("numRecords"), F.lit(False))
        # Texts of years before 0 and after 9999 begin with a sign, and are below all others.
        may_be_old |= ~has_none & F.coalesce(lowest < F.lit(_FIRST_DATE), F.lit(True))
    return may_be_old


def _only_dates(schema: T.StructType) -> T.StructType:
    """Return the fields of dates and timestamps, also inside of structs."""
    fields = [
        T.StructField(field.name, _only_dates(field.dataType)) if isinstance(field.dataType, T.StructType) else field
        for field in schema
    ]
    return T.StructType([f for f in fields if isinstance(f.dataType, _TIMES) or _is_struct_with_fields(f.dataType)])


def _is_struct_with_fields(kind: T.DataType) -> bool:
    return isinstance(kind, T.StructType) and len(kind) > 0


def _of_leaves(schema: T.StructType, kind: T.DataType) -> T.StructType:
    """Return the schema with another type for its leaves."""
    return T.StructType(
        [
            T.StructField(f.name, _of_leaves(f.dataType, kind) if isinstance(f.dataType, T.StructType) else kind)
            for f in schema
        ]
    )


def _paths(schema: T.StructType) -> Iterator[tuple[str, ...]]:
    """Yield the path of each leaf."""
    for field in schema:
        if isinstance(field.dataType, T.StructType):
            yield from ((field.name, *path) for path in _paths(field.dataType))
        else:
            yield (field.name,)


def _at(struct: Column, path: tuple[str, ...]) -> Column:
    return reduce(Column.getField, path, struct)


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
