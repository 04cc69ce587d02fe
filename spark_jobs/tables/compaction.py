"""Compaction: rewrite the small files of a published table into fewer files with the same rows.

Law: a compaction commit changes no row, so the versions before and after it have the same rows. Files that are adjacent
in time are put together, so that a run over later arrivals still finds its windows in few files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import SparkSession

from spark_jobs.tables import commit_files, data_files, delta_log, delta_transaction, stored_names, table_metadata
from spark_jobs.tables.clustering import TIMES
from spark_jobs.tables.lake import Lake, compacted_folder, staged_folder
from spark_jobs.tables.objects import Objects

#: A file with fewer bytes is small. A compacted file has at most twice as many.
SMALL = 64 * 2**20
_TARGET = 2 * SMALL
_PARALLEL_WRITES = 4


@dataclass(frozen=True)
class Compaction:
    """The compaction of a table: `before` small files with `size` bytes become `after` files."""

    table: str
    before: int
    after: int
    size: int


def planned_compaction(spark: SparkSession, lake: Lake, table: str) -> Compaction | None:
    """Return what `compact` would do; None if it would do nothing."""
    path = lake.path(table)
    newest = delta_log.version(spark, path)
    added = [] if newest is None else delta_log.state_at(spark, path, newest)[0]
    return _compaction(table, _packed(action["add"] for action in added))


def compact(spark: SparkSession, lake: Lake, table: str) -> tuple[int, Compaction | None]:
    """Compact the table's small files, if it has several, and set the retention settings.

    Returns the newest version, which has the same rows, and the compaction. Raises CommitConflictError if another
    writer committed in between.
    """
    transaction = delta_transaction.Transaction(spark, lake.path(table))
    live_files = {file.path(): file for file in transaction.files()}
    packed = _packed(json.loads(file.json())["add"] for file in live_files.values())
    metadata = transaction.metadata_action()
    has_settings = table_metadata.has_retention_settings(metadata)
    if not packed and has_settings:
        return transaction.read_version, None
    name = uuid4().hex
    folders = [compacted_folder(f"{name}-{number}") for number in range(len(packed))]
    with ThreadPoolExecutor(max_workers=_PARALLEL_WRITES) as pool:
        actions_by_group = list(
            pool.map(lambda files, folder: _write(spark, lake, table, files, folder), packed, folders)
        )
    added = [action for actions in actions_by_group for action in actions]
    removed = [live_files[file["path"]] for files in packed for file in files]
    settings = [] if has_settings else [table_metadata.with_retention_settings(metadata)]
    version = transaction.commit(removed, [*settings, *added], compacted_folder(name), data_change=False)
    return version, _compaction(table, packed)


def _packed(added: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return groups of at least two small files. Each group becomes one file."""
    groups: list[list[dict[str, Any]]] = [[]]
    size = 0
    for file in sorted((file for file in added if file["size"] < SMALL), key=_place):
        if size + file["size"] > _TARGET:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file["size"]
    return [group for group in groups if len(group) > 1]


def _place(file: dict[str, Any]) -> tuple[str, str]:
    """Return the sort key of a file: its least time, then its name."""
    least = json.loads(file.get("stats") or "{}").get("minValues", {})
    return next((str(least[name]) for name in TIMES if name in least), ""), file["path"]


def _write(
    spark: SparkSession, lake: Lake, table: str, group: Sequence[dict[str, Any]], folder: str
) -> list[dict[str, Any]]:
    """Write the rows of several files into one; return the actions that add it to the published table."""
    path, target = lake.path(table), lake.staged(table, folder)
    names = [f"{path}/{unquote(file['path'])}" for file in group]
    rows = stored_names.stored(data_files.read(spark, delta_log.schema(spark, path), names))
    rows.coalesce(1).write.format("delta").mode("append").options(**delta_transaction.PLAIN_NAMES).save(target)
    added = delta_log.live_files(commit_files.actions(Objects(target)))
    return [{"add": {**file, "path": f"{staged_folder(folder)}/{file['path']}", "dataChange": False}} for file in added]


def _compaction(table: str, packed: Sequence[Sequence[dict[str, Any]]]) -> Compaction | None:
    if not packed:
        return None
    files = [file for group in packed for file in group]
    return Compaction(table, len(files), len(packed), sum(file["size"] for file in files))
