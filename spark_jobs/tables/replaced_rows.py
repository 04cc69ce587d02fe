"""Replaced rows: which files a commit to a published table removes, and which rows of these files it carries over.

An interval replaces the rows of its windows. Rows staged for windows that closed before it replace all rows of their
windows. If a file has rows inside and outside, the rows outside are written again, in new files of the same commit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.session import for_rows
from spark_jobs.tables import (
    commit_files,
    data_files,
    delta_log,
    delta_transaction,
    pruning,
    staging,
    table_metadata,
    time_order,
)
from spark_jobs.tables.change_files import ChangeFiles
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake, behind_folder, carried_folder, staged_folder
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.staging import read_staged

_FILE, _TOUCHED = "__tm_file", "__tm_touched"


class ReplacedRows:
    """The rows of one published table that one run replaces, at the version of a transaction."""

    def __init__(
        self, spark: SparkSession, transaction: delta_transaction.Transaction, lake: Lake, run_id: str, table: str
    ) -> None:
        self._spark, self._transaction = spark, transaction
        self._lake, self._run_id, self._table = lake, run_id, table

    @cached_property
    def schema(self) -> T.StructType:
        """The columns of the table before the commit."""
        return table_metadata.schema(self._transaction.metadata_action())

    def of(self, interval: Interval | None, *, behind: bool, feed: bool) -> tuple[list[Any], list[dict[str, Any]]]:
        """Return the files with replaced rows, and `add` actions of new files with the other rows of these files.

        With a change data feed there are also `cdc` actions: derived from the files, the feed would have the rows that
        are carried over.
        """
        touched, conditions = None, []
        if interval is not None:
            conditions.append(
                pruning.overlap_condition(_time_columns(self._table, self.schema.names), interval.start, interval.end)
            )
        if behind and self._table == "window_results":
            touched = read_staged(self._spark, self._lake, behind_folder(self._run_id), self._table)
            actions = staging.staged_actions(self._lake, behind_folder(self._run_id), self._table)
            conditions += [
                pruning.overlap_condition(["window_start"], *span) for span in pruning.spans("window_start", actions)
            ]
        if not conditions:
            return [], []
        # Delta's own search would take several jobs and read all files.
        candidates = {_file_name(file): file for file in self._transaction.files(" or ".join(conditions))}
        if interval is not None and interval.stretches:
            names = _time_columns(self._table, self.schema.names)
            candidates = {name: f for name, f in candidates.items() if pruning.may_reach(f.stats(), names, interval)}
        if not candidates:
            return [], []
        is_touched = None if touched is None else pruning.is_among("window_start", touched)
        rows, is_replaced = self._mark_replaced(self._rows_of(candidates.values()), interval, touched, is_touched)
        counted = (
            rows.groupBy(_FILE)
            .agg(F.count_if(is_replaced).alias("replaced"), F.count(F.lit(1)).alias("rows"))
            .collect()
        )
        removed = [candidates[row[_FILE]] for row in counted if row.replaced]
        partly = [candidates[row[_FILE]] for row in counted if 0 < row.replaced < row["rows"]]
        if not partly:
            return removed, []
        rows, is_replaced = self._mark_replaced(self._rows_of(partly), interval, touched, is_touched)
        remaining = self._only_published(rows.where(~F.coalesce(is_replaced, F.lit(False))))
        if _row_count(partly) > time_order.ROWS_OF_A_FILE:
            remaining = time_order.in_time_order(remaining, self._table)
        changes = []
        if feed:
            rows, is_replaced = self._mark_replaced(self._rows_of(removed), interval, touched, is_touched)
            inserts = self._staged_rows(of_interval=interval is not None, behind=behind)
            changes = self._change_files.of_rows(self._only_published(rows.where(is_replaced)), inserts)
        return removed, [*self._carried_over(remaining), *changes]

    @property
    def _change_files(self) -> ChangeFiles:
        version = self._transaction.read_version
        return ChangeFiles(self._spark, self._lake, self._run_id, self._table, version)

    def _only_published(self, rows: DataFrame) -> DataFrame:
        """Return rows of the table without columns for the work itself."""
        return rows.drop(*(name for name in rows.columns if name not in self.schema.names))

    def _staged_rows(self, *, of_interval: bool, behind: bool) -> list[DataFrame]:
        """Return the rows that the commit adds."""
        folders = [self._run_id] * of_interval + [behind_folder(self._run_id)] * behind
        return [read_staged(self._spark, self._lake, folder, self._table) for folder in folders]

    def _rows_of(self, live_files: Iterable[Any]) -> DataFrame:
        """Return the rows of files of the table, each with the name of its file."""
        files = list(live_files)
        paths = [f"{self._lake.path(self._table)}/{unquote(file.path())}" for file in files]
        reader = for_rows(self._spark, _row_count(files))
        return data_files.read(reader, self.schema, paths, file_name=_FILE)

    def _mark_replaced(
        self, rows: DataFrame, interval: Interval | None, touched: DataFrame | None, is_touched: Column | None
    ) -> tuple[DataFrame, Column]:
        """Return published rows, and the condition that a row is replaced.

        The rows of `interval` and all rows of the windows of `touched` are replaced. `is_touched` is the condition for
        these windows; None if they are too many for a condition.
        """
        is_replaced = F.lit(False) if interval is None else holds(interval, _replaced_by(self._table, rows.columns))
        if touched is None:
            return rows, is_replaced
        if is_touched is not None:
            return rows, is_replaced | is_touched
        marked = touched.select("window_start").distinct().withColumn(_TOUCHED, F.lit(True))
        return rows.join(F.broadcast(marked), "window_start", "left"), is_replaced | F.col(_TOUCHED).isNotNull()

    def _carried_over(self, remaining: DataFrame) -> list[dict[str, Any]]:
        """Write the remaining rows of removed files into new files, and return their `add` actions.

        Several processes may publish one run. Each writes into a separate folder, and one commit succeeds.
        """
        folder = carried_folder(self._run_id, self._transaction.read_version)
        target = self._lake.staged(self._table, folder)
        try:
            staging.write_part(remaining, target, self._table, "carried over")
        except Exception:
            with suppress(LakeError):
                Objects(self._lake.path(self._table)).remove(staged_folder(folder))
            raise
        return relative(delta_log.live_files(commit_files.actions(Objects(target))), staged_folder(folder))


def relative(added: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """Return `add` actions with paths relative to the published table."""
    return [{"add": {**entry, "path": f"{folder}/{entry['path']}", "dataChange": True}} for entry in added]


def _replaced_by(table: str, columns: Collection[str]) -> str:
    """Return the time, as SQL, that decides whether an interval replaces a row: of its window's start, or its own.

    The event time is for rows without a window: late events between two windows, and the rows of an interval join.
    """
    return f"coalesce({', '.join(_time_columns(table, columns))})"


def _time_columns(table: str, columns: Collection[str]) -> list[str]:
    if "window_start" not in columns:
        return ["event_time"]
    return ["window_start", "event_time"] if table == "late_events" else ["window_start"]


def _row_count(files: Iterable[Any]) -> int:
    """Return the number of rows in files of the log; as many as can be if one has no statistics."""
    counts = [json.loads(file.stats() or "{}").get("numRecords") for file in files]
    return sys.maxsize if None in counts else sum(counts)


def _file_name(file: Any) -> str:
    """Return the name of a file of the log as in Spark's `_metadata.file_name`."""
    return unquote(file.path()).rsplit("/", 1)[-1]
