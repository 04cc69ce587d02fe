"""Staging in a local folder: Spark writes Parquet files, and delta-rs commits them with statistics of their footers.

Delta's writer opens the table before each part and its log after it, in several small jobs: a second for each part,
whatever its size. Law: the committed table has the rows, columns, statistics and part names that Delta would commit.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as T

_PLAIN = (
    *(T.StringType, T.BinaryType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType),
    *(T.FloatType, T.DoubleType, T.DecimalType, T.DateType, T.TimestampType),
)
_NO_MARK = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
# Delta cuts longer texts.
_LONGEST_TEXT = 32


def can_commit(schema: T.StructType) -> bool:
    """Return whether a table with these columns needs no feature of Delta: only types of its first version."""
    return all(not field.metadata and _is_plain(field.dataType) for field in schema)


def is_staged(home: Path, part: str) -> bool:
    """Return whether the table in `home` has the part."""
    from deltalake import DeltaTable

    return _exists(home) and DeltaTable(str(home)).transaction_version(part) is not None


def _exists(home: Path) -> bool:
    return (home / "_delta_log" / f"{0:020d}.json").is_file()


def stage(rows: DataFrame, home: Path, part: str, settings: Mapping[str, str], measured: Sequence[str]) -> None:
    """Add `rows` to the table in `home` as `part`, unless the table has that part.

    `settings` are those of a new table. `measured` are the columns whose minima and maxima the log has.
    """
    if is_staged(home, part):
        return
    writing = home / f"_writing-{uuid4().hex}"
    try:
        rows.write.option(_NO_MARK, "false").parquet(str(writing))
        files = [file for file in sorted(writing.glob("*.parquet")) if pq.read_metadata(file).num_rows]
        staged_files = [file.rename(home / file.name) for file in files]
    finally:
        shutil.rmtree(writing, ignore_errors=True)
    _commit(home, part, rows.schema, staged_files, settings, measured)


def _commit(
    home: Path,
    part: str,
    schema: T.StructType,
    files: Sequence[Path],
    settings: Mapping[str, str],
    measured: Sequence[str],
) -> None:
    from deltalake import DeltaTable, Schema
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import (
        AddAction,
        CommitProperties,
        Transaction,
        create_table_with_add_actions,
    )

    added = [
        AddAction(
            path=file.name,
            size=file.stat().st_size,
            partition_values={},
            modification_time=file.stat().st_mtime_ns // 1_000_000,
            data_change=True,
            stats=json.dumps(statistics(file, measured)),
        )
        for file in files
    ]
    columns = Schema.from_json(json.dumps(_nullable(schema.jsonValue())))
    marked = CommitProperties(app_transactions=[Transaction(part, 0)])
    if not _exists(home):
        try:
            create_table_with_add_actions(
                str(home), columns, added, configuration=dict(settings), commit_properties=marked
            )
        except DeltaError:
            # Another thread or process may have created it at the same time.
            if not _exists(home):
                raise
        else:
            return
    DeltaTable(str(home)).create_write_transaction([*added], "append", columns, commit_properties=marked)


def statistics(file: Path, measured: Sequence[str]) -> dict[str, Any]:
    """Return Delta's statistics of a Parquet file, by its footer: its rows, and of columns minima, maxima and nulls."""
    footer = pq.read_metadata(file)
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
