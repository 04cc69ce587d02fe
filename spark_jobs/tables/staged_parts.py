"""Parts of staged tables: Spark writes Parquet files, and a commit adds them with statistics of their footers.

Delta's writer opens the table before each part and its log after it, in several small jobs: a second for each part,
whatever its size. It also has no conditional write for S3. Law: the committed table has the rows, columns, statistics
and part names that Delta would commit, and each part once, however many processes stage it.

Each attempt writes into a new folder, which only that attempt deletes from. So no attempt mixes its files with those of
another, nor deletes them, even if it lost its lease while it was paused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as T

import spark_jobs
from spark_jobs.tables import commit_files, time_order
from spark_jobs.tables.objects import Object, Objects

_PLAIN = (
    *(T.StringType, T.BinaryType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType),
    *(T.FloatType, T.DoubleType, T.DecimalType, T.DateType, T.TimestampType),
)
_NO_MARK = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
_PARALLEL_READS = 8
# Delta cuts longer texts.
_LONGEST_TEXT = 32


def can_commit(schema: T.StructType) -> bool:
    """Return whether a table with these columns needs no feature of Delta: only types of its first version.

    Comments are no feature.
    """
    return all(field.metadata.keys() <= {"comment"} and _is_plain(field.dataType) for field in schema)


def is_staged(table: Objects, part: str) -> bool:
    """Return whether the table has the part."""
    return any(_is_part(commit, part) for commit in commit_files.commits(table))


def stage(rows: DataFrame, table: Objects, part: str, settings: Mapping[str, str], measured: Sequence[str]) -> None:
    """Add `rows` to a table as `part`, unless the table has that part.

    `settings` are those of a new table. `measured` are the columns whose minima and maxima the log has. Raises
    LakeError.
    """
    if is_staged(table, part):
        return
    folder = uuid4().hex
    try:
        # A job that fails leaves files, and so does one that is killed: the log does not name them.
        writer = rows.write.option(_NO_MARK, "false").option("maxRecordsPerFile", time_order.ROWS_OF_A_FILE)
        writer.parquet(f"{table.home}/{folder}")
        files = [entry for entry in table.below(folder) if _is_of_the_job(entry.name)]
        with ThreadPoolExecutor(_PARALLEL_READS) as pool:
            added = [add for add in pool.map(lambda file: _added(table, folder, file, measured), files) if add]
    except BaseException:
        table.remove(folder)
        raise
    if not commit(table, part, added, rows.schema, settings):
        table.remove(folder)


def commit(
    table: Objects, part: str, added: Sequence[Mapping[str, Any]], schema: T.StructType, settings: Mapping[str, str]
) -> bool:
    """Commit the `add` actions of a part, unless another process has; returns whether this call has committed them.

    A table that does not exist is made, with the columns of `schema` and the settings. Raises LakeError.
    """
    now = int(time.time() * 1000)
    info = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": "[]"},
        "isBlindAppend": True,
        "engineInfo": f"Tidemark/{spark_jobs.__version__}",
        "txnId": uuid4().hex,
    }
    actions = [{"commitInfo": info}, {"txn": {"appId": part, "version": 0, "lastUpdated": now}}, *added]
    while True:
        earlier = [*commit_files.commits(table)]
        if any(_is_part(actions_of, part) for actions_of in earlier):
            return False
        first = [] if earlier else [_PROTOCOL, _metadata(schema, settings, now)]
        if commit_files.create(table, len(earlier), [actions[0], *first, *actions[1:]]):
            return True


def _is_of_the_job(name: str) -> bool:
    """Return whether a file in the folder of a job is a result of it.

    Folders below it are of task attempts that failed or were overtaken by a copy, and Spark reads no hidden file.
    """
    return "/" not in name and not name.startswith(("_", ".")) and name.endswith(".parquet")


def _is_part(actions: Sequence[Mapping[str, Any]], part: str) -> bool:
    return any(action["txn"]["appId"] == part for action in actions if "txn" in action)


def _metadata(schema: T.StructType, settings: Mapping[str, str], now: int) -> dict[str, Any]:
    columns = {
        "id": str(uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(_nullable(schema.jsonValue())),
        "partitionColumns": [],
        "configuration": dict(settings),
        "createdTime": now,
    }
    return {"metaData": columns}


def _added(table: Objects, folder: str, file: Object, measured: Sequence[str]) -> dict[str, Any] | None:
    """Return the `add` action of a file; None for a file without rows, which is deleted."""
    name = f"{folder}/{file.name}"
    footer = pq.read_metadata(table.open(name))
    if not footer.num_rows:
        table.delete([name])
        return None
    add = {
        "path": quote(name),
        "partitionValues": {},
        "size": file.size,
        "modificationTime": int(file.modified.timestamp() * 1000),
        "dataChange": True,
        "stats": json.dumps(statistics(footer, measured)),
    }
    return {"add": add}


def statistics(footer: pq.FileMetaData, measured: Sequence[str]) -> dict[str, Any]:
    """Return Delta's statistics of a Parquet file, by its footer: its rows, and of columns minima, maxima and nulls."""
    minima, maxima, nulls = {}, {}, {}
    for name in measured:
        chunks = _chunks(footer, name)
        if not chunks or not all(chunk.is_measured for chunk in chunks):
            continue
        nulls[name] = sum(chunk.nulls for chunk in chunks)
        values = [value for chunk in chunks for value in chunk.bounds]
        if values:
            minima[name], maxima[name] = _text(min(values)), _text(max(values))
    return {"numRecords": footer.num_rows, "minValues": minima, "maxValues": maxima, "nullCount": nulls}


@dataclass(frozen=True)
class _Chunk:
    """A column of a group of rows: its nulls, and its least and greatest value; no bounds for nulls alone.

    It is not measured if the footer lacks a number, or has a value that Delta would cut or Python cannot represent.
    """

    is_measured: bool
    nulls: int = 0
    bounds: tuple[Any, ...] = ()


def _chunks(footer: pq.FileMetaData, name: str) -> list[_Chunk]:
    """Return the chunks of a column."""
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    # The columns have to live as long as their statistics.
    return [_chunk(column.statistics) for column in columns if column.path_in_schema == name]


def _chunk(measured: Any) -> _Chunk:
    if measured is None or not measured.has_null_count:
        return _Chunk(is_measured=False)
    if not measured.has_min_max:
        return _Chunk(is_measured=measured.num_values == 0, nulls=measured.null_count)
    try:
        bounds = (measured.min, measured.max)
    except (ValueError, OverflowError):
        return _Chunk(is_measured=False)
    is_short = all(not isinstance(value, str) or len(value) <= _LONGEST_TEXT for value in bounds)
    return _Chunk(is_measured=is_short, nulls=measured.null_count, bounds=bounds)


def _text(value: Any) -> Any:
    """Return a value as Delta writes it: a moment in UTC, cut to milliseconds."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_plain(kind: T.DataType) -> bool:
    if isinstance(kind, T.StructType):
        return can_commit(kind)
    if isinstance(kind, T.ArrayType):
        return _is_plain(kind.elementType)
    if isinstance(kind, T.MapType):
        return _is_plain(kind.keyType) and _is_plain(kind.valueType)
    # A text with a collation is of another type to Delta.
    return type(kind) in _PLAIN and not (isinstance(kind, T.StringType) and kind.simpleString() != "string")


def _nullable(kind: Any) -> Any:
    """Return the JSON of a type with nulls allowed everywhere, as Delta makes the columns of a new table."""
    if isinstance(kind, list):
        return [_nullable(part) for part in kind]
    if not isinstance(kind, dict):
        return kind
    flags = ("nullable", "containsNull", "valueContainsNull")
    return {name: True if name in flags else _nullable(part) for name, part in kind.items()}
