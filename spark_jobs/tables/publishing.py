"""Publishing: one Delta commit a table that takes up a run's staged files and drops what they replace.

Nothing is copied: staged files lie below the table they go into. Rows of a file that reaches beyond the replaced range
are carried over into new files of the same commit. A run publishes into a table at most once, whatever is killed when.

A run publishes on what the ledger names as published, the base. What a run that the ledger does not name has committed
behind it belongs to a publishing that has not ended: whoever finds it has to finish that one first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.published_tables import BY_NAME
from spark_jobs.tables import columns, delta_log, files, pruning, staging, table_metadata
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, behind_folder, staged_folder
from spark_jobs.tables.staging import staged

_ATTEMPTS = 5
_APPLICATION = "tidemark/"
_FILE, _TOUCHED = "__tm_file", "__tm_touched"


class PublishError(ValueError):
    """The staged table cannot go where it should."""


class OvertakenError(RuntimeError):
    """Another run, `run_id`, has begun to publish and has not ended."""

    def __init__(self, table: str, run_id: str) -> None:
        super().__init__(f"{table}: found a commit of the run {run_id}, whose publishing has not ended")
        self.run_id = run_id


@dataclass(frozen=True)
class Base:
    """What the ledger names: the runs that have been published, and the version of every table after the last of them.

    A table may be there and have no version: the last run has none of this name, but an earlier one had.
    """

    versions: Mapping[str, int] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()


def publish(
    spark: SparkSession,
    lake: Lake,
    run_id: str,
    table: str,
    interval: Interval | None,
    base: Base,
    *,
    behind: bool = False,
) -> int:
    """Replace the rows of `interval` in the published `table` by the run's staged ones and give its new version.

    None: nothing is replaced, and only what the run has staged `behind` its windows is added (of `window_results`: is
    put in place of all rows of its windows). A table that the base has not is replaced whole. One with the source's
    columns has those of both, if they differ. Done already: nothing happens. Another writer's commit in between: tried
    again. Raises OvertakenError when that writer is a run, PublishError when a part of the table would be replaced by
    rows with columns that do not go with it.
    """
    replaced = interval if table in base.versions or interval is None else Interval()

    def commit(transaction: delta_log.Transaction, application: str) -> int:
        return _Publishing(spark, transaction, lake, run_id, table).commit(replaced, application, behind=behind)

    return _once(spark, lake, run_id, table, base, commit)


def restore(spark: SparkSession, lake: Lake, run_id: str, table: str, version: int | None, base: Base) -> int:
    """Make the published `table` what it was at `version`, None: empty; gives its new version.

    Otherwise as `publish`. Raises PublishError when files of that version are gone.
    """

    def commit(transaction: delta_log.Transaction, application: str) -> int:
        path = lake.path(table)
        held = {file.path(): file for file in transaction.files()}
        wanted, described = ([], []) if version is None else delta_log.state_at(spark, path, version)
        missing = [action for action in wanted if action["add"]["path"] not in held]
        if deleted := _deleted(spark, path, missing):
            raise PublishError(
                f"{table}: asked for version {version}, found {len(deleted)} of its files deleted, {deleted[0]} first"
            )
        kept = {action["add"]["path"] for action in wanted}
        removed = [file for name, file in held.items() if name not in kept]
        back = [{"add": {**action["add"], "dataChange": True}} for action in missing]
        return transaction.commit(removed, [*map(table_metadata.lasting, described), *back], application)

    return _once(spark, lake, run_id, table, base, commit)


def gone(spark: SparkSession, lake: Lake, versions: Mapping[str, int]) -> dict[str, int]:
    """How many files of these versions of published tables are deleted, of each table that lacks some."""
    found = {}
    for table, version in versions.items():
        wanted, _ = delta_log.state_at(spark, lake.path(table), version)
        if deleted := _deleted(spark, lake.path(table), wanted):
            found[table] = len(deleted)
    return found


def _deleted(spark: SparkSession, path: str, added: list[dict[str, Any]]) -> list[str]:
    names = [action["add"]["path"] for action in added]
    return [name for name in names if not files.exists(spark, f"{path}/{unquote(name)}")]


def unended(spark: SparkSession, lake: Lake, table: str, base: Base) -> str | None:
    """The run that has committed to a table behind what the ledger names, if there is one."""
    newest = delta_log.version(spark, lake.path(table))
    if newest is None:
        return None
    found = delta_log.applications(spark, lake.path(table), base.versions.get(table, -1), newest)
    return min((run for applications in found.values() for run in _others(applications, base)), default=None)


def _others(applications: list[str], base: Base) -> set[str]:
    """Of the writers of a commit the runs that the ledger does not name as published."""
    return {name.removeprefix(_APPLICATION) for name in applications if name.startswith(_APPLICATION)} - base.runs


def _once(
    spark: SparkSession,
    lake: Lake,
    run_id: str,
    table: str,
    base: Base,
    commit: Callable[[delta_log.Transaction, str], int],
) -> int:
    """Commit, unless the run has done so, on what the ledger names."""
    application = _APPLICATION + run_id
    for _ in range(_ATTEMPTS):
        transaction = delta_log.Transaction(spark, lake.path(table))
        behind = base.versions.get(table, -1)
        found = delta_log.applications(spark, lake.path(table), behind, transaction.read_version)
        for version, applications in found.items():
            if application in applications:
                return version
            if others := _others(applications, base):
                raise OvertakenError(table, min(others))
        try:
            return commit(transaction, application)
        except delta_log.CommitConflictError as conflict:
            last = conflict
    raise last


class _Publishing:
    """One attempt to publish what a run has staged for one table."""

    def __init__(
        self, spark: SparkSession, transaction: delta_log.Transaction, lake: Lake, run_id: str, table: str
    ) -> None:
        self._spark, self._transaction = spark, transaction
        self._lake, self._run_id, self._table = lake, run_id, table

    def commit(self, interval: Interval | None, application: str, *, behind: bool) -> int:
        """Replace the rows of `interval` and take up what is staged."""
        added, described = self._staged(self._run_id) if interval is not None else ([], [])
        if behind:
            more, of_these = self._staged(behind_folder(self._run_id))
            added, described = [*added, *more], described or of_these
        if self._transaction.read_version < 0:
            return self._transaction.commit([], [*described, *added], application)
        folder = self._run_id if interval is not None else behind_folder(self._run_id)
        same = _columns(staged(self._spark, self._lake, folder, self._table).schema) == _columns(self._published.schema)
        if interval is not None and interval.whole:
            replaced = self._transaction.files()
            return self._transaction.commit(replaced, [*([] if same else described), *added], application)
        widened = [] if same else [self._widened(described, interval or Interval())]
        removed, carried = self._replaced(interval, behind=behind)
        return self._transaction.commit(removed, [*widened, *carried, *added], application)

    def _widened(self, described: list[dict[str, Any]], span: Interval) -> dict[str, Any]:
        """What describes the table with the columns of both what is in it and what goes in, null where rows lack them.

        Only tables that have the source's columns change with these. Raises PublishError.
        """
        metadata = next(action["metaData"] for action in described if "metaData" in action)
        before, after = self._published.schema, T.StructType.fromJson(json.loads(metadata["schemaString"]))
        others = columns.clashes(before, after)
        by_window = ["window_start" in names for names in (before.names, after.names)]
        if others or by_window[0] != by_window[1] or not BY_NAME[self._table].holds_source_columns:
            told = "; ".join(map(str, others)) or f"found {_columns(before)}, not {_columns(after)}"
            raise PublishError(
                f"{self._table}: asked to replace the windows from {span.start} to {span.end} by rows with other "
                f"columns: {told}. Replay without --from and --to to change the columns."
            )
        return {"metaData": {**metadata, "schemaString": columns.united(before, after).json()}}

    @cached_property
    def _published(self) -> DataFrame:
        reader = self._spark.read.format("delta").option("versionAsOf", self._transaction.read_version)
        return reader.load(self._lake.path(self._table))

    def _staged(self, folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The files staged in a folder, as seen from the published table, and what describes the table."""
        actions = delta_log.actions(self._spark, self._lake.staged(self._table, folder))
        described = [table_metadata.of_staged(a) for a in actions if "metaData" in a or "protocol" in a]
        return _relative(delta_log.live_files(actions), staged_folder(folder)), described

    def _replaced(self, interval: Interval | None, *, behind: bool) -> tuple[list[Any], list[dict[str, Any]]]:
        """The files that hold rows to be replaced, and new ones with what else is in them."""
        touched, reached = None, []
        if interval is not None:
            reached.append(pruning.reaching(_begin_columns(self._table, self._published), interval.start, interval.end))
        if behind and self._table == "window_results":
            touched = staged(self._spark, self._lake, behind_folder(self._run_id), self._table)
            actions = delta_log.actions(self._spark, self._lake.staged(self._table, behind_folder(self._run_id)))
            reached += [pruning.reaching(["window_start"], *span) for span in pruning.spans("window_start", actions)]
        if not reached:
            return [], []
        # Delta would take several jobs to find the rows, and look through all files for those of a name.
        held = {_file_name(file): file for file in self._transaction.files(" or ".join(reached))}
        if not held:
            return [], []
        among = None if touched is None else pruning.among("window_start", touched)
        rows, goes = self._going(self._rows_of(held.values()), interval, touched, among)
        counted = rows.groupBy(_FILE).agg(F.count_if(goes).alias("going"), F.count(F.lit(1)).alias("rows")).collect()
        removed = [held[row[_FILE]] for row in counted if row.going]
        partly = [held[row[_FILE]] for row in counted if 0 < row.going < row["rows"]]
        if not partly:
            return removed, []
        rows, goes = self._going(self._rows_of(partly), interval, touched, among)
        left = rows.where(~F.coalesce(goes, F.lit(False))).select(self._published.columns)
        return removed, self._carried_over(left)

    def _rows_of(self, held: Iterable[Any]) -> DataFrame:
        """The rows of files of the table, each with the name of its file."""
        paths = [f"{self._lake.path(self._table)}/{unquote(file.path())}" for file in held]
        rows = self._spark.read.schema(self._published.schema).parquet(*paths)
        return rows.withColumn(_FILE, F.col("_metadata.file_name"))

    def _going(
        self, rows: DataFrame, interval: Interval | None, touched: DataFrame | None, among: Column | None
    ) -> tuple[DataFrame, Column]:
        """Published rows, and which of them are replaced: those of `interval`, and all of the windows of `touched`.

        `among` tells the latter, unless they are too many for a condition.
        """
        goes = F.lit(False) if interval is None else interval.holds(_begins(self._table, rows))
        if touched is None:
            return rows, goes
        if among is not None:
            return rows, goes | among
        marked = touched.select("window_start").distinct().withColumn(_TOUCHED, F.lit(True))
        return rows.join(F.broadcast(marked), "window_start", "left"), goes | F.col(_TOUCHED).isNotNull()

    def _carried_over(self, left: DataFrame) -> list[dict[str, Any]]:
        """Rows of removed files that stay, as new files.

        Several processes may publish one run: each carries over into a folder of its own, and one of these is taken up.
        """
        folder = f"{self._run_id}-carried-{self._transaction.read_version}-{uuid4().hex[:8]}"
        target = self._lake.staged(self._table, folder)
        looked_up = staging.looked_up(self._table, left.columns)
        try:
            left.write.format("delta").mode("append").option(*looked_up).save(target)
        except Exception:
            with suppress(Exception):
                files.remove(self._spark, target)
            raise
        return _relative(delta_log.live_files(delta_log.actions(self._spark, target)), staged_folder(folder))


def _begins(table: str, rows: DataFrame) -> Column:
    """By what a row is replaced: its window; its event time where it has none, which no interval cuts off.

    That is a late event between two windows, and whatever a join by interval gives.
    """
    return F.coalesce(*map(F.col, _begin_columns(table, rows)))


def _begin_columns(table: str, rows: DataFrame) -> list[str]:
    if "window_start" not in rows.columns:
        return ["event_time"]
    return ["window_start", "event_time"] if table == "late_events" else ["window_start"]


def _file_name(file: Any) -> str:
    """As Spark names a file of the log to its rows."""
    return unquote(file.path()).rsplit("/", 1)[-1]


def _relative(added: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """Added files as seen from the published table."""
    return [{"add": {**entry, "path": f"{folder}/{entry['path']}", "dataChange": True}} for entry in added]


def _columns(schema: T.StructType) -> list[str]:
    return [f"{f.name} {f.dataType.simpleString()}" for f in schema]
