"""Compaction: the small files of a published table become fewer, with the same rows.

Law: a commit of compaction changes no row, so the versions before and after it are read alike. Files that follow each
other in time go together, so that a run over later arrivals goes on finding its windows in few of them.
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

from spark_jobs.tables import delta_log, table_metadata
from spark_jobs.tables.lake import Lake, compacted_folder, staged_folder

#: Files below this many bytes are small, and those that are made of them have at most twice as many.
SMALL = 64 * 2**20
_TARGET = 2 * SMALL
_AT_ONCE = 4
# By the first of these that a table has, its files lie in time.
_TIMES = ("window_start", "event_time", "emitted_at")


@dataclass(frozen=True)
class Compaction:
    """What compaction makes of a table: `before` small files, `size` bytes in all, become `after`."""

    table: str
    before: int
    after: int
    size: int


def foreseen(spark: SparkSession, lake: Lake, table: str) -> Compaction | None:
    """What `compact` would do; None for nothing."""
    path = lake.path(table)
    newest = delta_log.version(spark, path)
    added = [] if newest is None else delta_log.state_at(spark, path, newest)[0]
    return _told(table, _packed(action["add"] for action in added))


def compact(spark: SparkSession, lake: Lake, table: str) -> tuple[int, Compaction | None]:
    """Put the table's small files together, if there are several.

    Returns the newest version, with all rows that there were, and what was done. Also sees to it that Delta keeps what
    the ledger names. Raises CommitConflictError when another writer came in between.
    """
    transaction = delta_log.Transaction(spark, lake.path(table))
    held = {file.path(): file for file in transaction.files()}
    packed = _packed(json.loads(file.json())["add"] for file in held.values())
    described = transaction.described()
    lasts = table_metadata.lasts(described)
    if not packed and lasts:
        return transaction.read_version, None
    name = uuid4().hex
    folders = [compacted_folder(f"{name}-{number}") for number in range(len(packed))]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        written = list(pool.map(lambda files, folder: _write(spark, lake, table, files, folder), packed, folders))
    added = [action for actions in written for action in actions]
    removed = [held[file["path"]] for files in packed for file in files]
    settings = [] if lasts else [table_metadata.lasting(described)]
    version = transaction.commit(removed, [*settings, *added], compacted_folder(name), data_change=False)
    return version, _told(table, packed)


def _packed(added: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Groups of small files that become one each, none of them alone."""
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
    """Where in time a file begins; its name decides between equals."""
    least = json.loads(file.get("stats") or "{}").get("minValues", {})
    return next((str(least[name]) for name in _TIMES if name in least), ""), file["path"]


def _write(
    spark: SparkSession, lake: Lake, table: str, group: Sequence[dict[str, Any]], folder: str
) -> list[dict[str, Any]]:
    """Write one file of several; gives the action that adds it to the published table."""
    path, target = lake.path(table), lake.staged(table, folder)
    names = [f"{path}/{unquote(file['path'])}" for file in group]
    rows = spark.read.schema(delta_log.schema(spark, path)).parquet(*names)
    rows.coalesce(1).write.format("delta").mode("append").save(target)
    written = delta_log.live_files(delta_log.actions(spark, target))
    return [
        {"add": {**file, "path": f"{staged_folder(folder)}/{file['path']}", "dataChange": False}} for file in written
    ]


def _told(table: str, packed: Sequence[Sequence[dict[str, Any]]]) -> Compaction | None:
    if not packed:
        return None
    files = [file for group in packed for file in group]
    return Compaction(table, len(files), len(packed), sum(file["size"] for file in files))
