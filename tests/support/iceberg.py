"""Iceberg tables in a folder, written by pyiceberg, and states that other engines write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table


def new_table(folder: Path, schema: pa.Schema) -> Table:
    """Create an empty table in a folder."""
    catalog = SqlCatalog("tests", uri=f"sqlite:///{folder}/catalog.db")
    catalog.create_namespace("sales")
    return catalog.create_table("sales.orders", schema, location=f"file://{folder}/orders")


def append(table: Table, **columns: list[Any]) -> int:
    """Append rows, and return the number of the snapshot."""
    table.append(pa.table(columns, table.schema().as_arrow()))
    return newest_snapshot(table)


def newest_snapshot(table: Table) -> int:
    current = table.current_snapshot()
    assert current is not None
    return current.snapshot_id


def folder_of(table: Table) -> Path:
    return metadata_file(table).parents[1]


def metadata_file(table: Table) -> Path:
    return Path(table.metadata_location.removeprefix("file://"))


def compact(table: Table, *, rows: int | None = None) -> int:
    """Write the rows of all files in one file, or the first of them, as an engine that compacts does."""
    content = table.scan().to_arrow().slice(0, rows)
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
        for task in table.scan().plan_files():
            snapshot.delete_data_file(task.file)
        for file in _dataframe_to_data_files(table.metadata, content, table.io):
            snapshot.append_data_file(file)
    # pyiceberg writes no snapshot of this operation.
    change_metadata(table, lambda metadata: metadata["snapshots"][-1]["summary"].update(operation="replace"))
    return newest_snapshot(table)


def expire(table: Table, *snapshots: int) -> None:
    def without(metadata: dict[str, Any]) -> None:
        metadata["snapshots"] = [each for each in metadata["snapshots"] if each["snapshot-id"] not in snapshots]

    change_metadata(table, without)


def change_metadata(table: Table, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the newest metadata in place, for the catalog too."""
    edit_metadata(table, change)
    table.refresh()


def edit_metadata(table: Table, change: Callable[[dict[str, Any]], None]) -> None:
    file = metadata_file(table)
    metadata = json.loads(file.read_text(encoding="utf-8"))
    change(metadata)
    file.write_text(json.dumps(metadata), encoding="utf-8")
