"""A table whose log names very many files, of which only those of a few minutes exist.

File number i has what was stored in minute i after `history.START`. The log is a checkpoint, as Delta has it after
years of small commits; the commits before it are gone.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support import history

#: The files that exist are those of this many minutes, from minute `FIRST` on.
FIRST, EXISTING = 50, 3
#: The size of each of the others, in bytes.
SIZE = 2_000
_VERSION = 10
_TEXTS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _TEXTS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _TEXTS),
        ("createdTime", pa.int64()),
    ]
)
_PROTOCOL = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
_CHECKPOINT = pa.schema([("protocol", _PROTOCOL), ("metaData", _METADATA), ("add", _ADD)])
_OF_SPARK = {"id": "long", "site": "string", "device": "string", "reading": "double"}


def minute(number: int) -> datetime:
    """Return the begin of a minute of the table."""
    return history.START + timedelta(minutes=number)


def land(path: Path, count: int) -> str:
    """Make the table of `count` files at `path`, which does not exist yet."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    for number in range(FIRST, FIRST + EXISTING):
        pq.write_table(pa.Table.from_pylist([_row(number)], history.SCHEMA), path / _name(number))
    with pq.ParquetWriter(log / f"{_VERSION:020}.checkpoint.parquet", _CHECKPOINT) as writer:
        writer.write_table(pa.Table.from_pylist([{"protocol": _protocol()}, {"metaData": _metadata()}], _CHECKPOINT))
        for first in range(0, count, 50_000):
            adds = [{"add": _added(path, number)} for number in range(first, min(count, first + 50_000))]
            writer.write_table(pa.Table.from_pylist(adds, _CHECKPOINT))
    info = {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE", "operationParameters": {}}}
    (log / f"{_VERSION:020}.json").write_text(json.dumps(info) + "\n", encoding="utf-8")
    checkpoint = {"version": _VERSION, "size": count + 2, "numOfAddFiles": count}
    (log / "_last_checkpoint").write_text(json.dumps(checkpoint), encoding="utf-8")
    return str(path)


def _name(number: int) -> str:
    return f"part-{number:08}-c000.snappy.parquet"


def _row(number: int) -> dict[str, object]:
    at = minute(number) + timedelta(seconds=30)
    return {"id": number, "site": "north", "device": "a", "happened_at": at, "stored_at": at, "reading": 1.0}


def _added(path: Path, number: int) -> dict[str, object]:
    least, most = (f"{minute(number) + timedelta(seconds=s):%Y-%m-%dT%H:%M:%S}.000Z" for s in (1, 59))
    exists = FIRST <= number < FIRST + EXISTING
    of_times = (dict.fromkeys(("happened_at", "stored_at"), edge) for edge in (least, most))
    lowest, highest = ({"id": number, **edges} for edges in of_times)
    stats = {
        "numRecords": 1,
        "minValues": lowest,
        "maxValues": highest,
        "nullCount": dict.fromkeys(history.SCHEMA.names, 0),
    }
    return {
        "path": _name(number),
        "partitionValues": [],
        "size": (path / _name(number)).stat().st_size if exists else SIZE,
        "modificationTime": 1_700_000_000_000,
        "dataChange": False,
        "stats": json.dumps(stats),
    }


def _protocol() -> dict[str, int]:
    return {"minReaderVersion": 1, "minWriterVersion": 2}


def _metadata() -> dict[str, object]:
    kinds = {name: _OF_SPARK.get(name, "timestamp") for name in history.SCHEMA.names}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    return {
        "id": "5e3a4bd2-1c1f-4d4f-9e50-0a51f3a0c001",
        "format": {"provider": "parquet", "options": []},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": [],
        "createdTime": 1_700_000_000_000,
    }
