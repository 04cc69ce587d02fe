"""The staging area of a run: the rows that it would publish, as Delta tables that no reader of published tables sees.

Each part of a staged table is written once. A part that an earlier attempt has committed is not written again. So the
same command finishes the work of a killed process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline import published_tables
from spark_jobs.pipeline.published_tables import Part
from spark_jobs.session import for_rows
from spark_jobs.tables import commit_files, data_files, delta_log, delta_transaction, staged_parts, stored_names
from spark_jobs.tables.lake import Lake, behind_folder, work_folder
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.objects import Objects

# Columns of this prefix serve the run itself: they are staged, and no published table has them.
WORKING_PREFIX = "__tm_"

# The suffix of the names of parts of `panes` that contain only retractions.
RETRACTIONS = "retractions"

#: The format of the rows that a run stores for its later steps, and for later runs. Other columns need another format.
WORK_FORMAT = "work-1"

_STAGED = tuple(table.name for table in published_tables.ALL if table.statistics)
# Tables with rows of a key.
_OF_KEYS = frozenset(
    table.name
    for table in published_tables.ALL
    if Part.INPUTS in table.columns or ("window_start" in table.names and {Part.KEY, Part.SOURCE} & {*table.columns})
)


def stage(rows: DataFrame, lake: Lake, run_id: str, table: str, part: str, *, folder: str | None = None) -> None:
    """Add `rows` (contract columns without `run_id`) to the run's staged `table`, unless `part` is already staged.

    The folder is the run's, or `folder` for rows that are published in another way.
    """
    write_part(rows.withColumn("run_id", F.lit(run_id)), lake.staged(table, folder or run_id), table, part)


def write_part(rows: DataFrame, home: str, table: str, part: str) -> None:
    """Add rows of a published `table` to the staged table in the folder `home`, unless `part` is already staged."""
    stored = stored_names.stored(rows)
    option, measured = statistics_option(table, stored.columns)
    if staged_parts.can_commit(stored.schema):
        staged_parts.stage(stored, Objects(home), part, {option: measured}, measured.split(","))
    elif not staged_parts.is_staged(Objects(home), part):
        delta_transaction.write(stored, home, part, {option: measured})


def create_staged_table(rows: DataFrame, lake: Lake, run_id: str, table: str) -> None:
    """Create the staged table for `rows`, unless it exists.

    Only one of several processes can create a table. With an existing table, a process does not have to compute its
    rows again because another process created the table first.
    """
    if next(_commits(lake.staged(table, run_id)), None) is None:
        stage(rows.limit(0), lake, run_id, table, "begin")


def statistics_option(table: str, columns: Collection[str]) -> tuple[str, str]:
    """Return the Delta option and its value for a new `table`: the columns with minimum and maximum statistics."""
    names = published_tables.BY_NAME[table].statistics
    return "delta.dataSkippingStatsColumns", ",".join(name for name in names if name in columns)


def read_staged(spark: SparkSession, lake: Lake, run_id: str, table: str) -> DataFrame:
    """Return the rows that the run would publish into `table`, read as in `read_part`."""
    home = lake.staged(table, run_id)
    actions = _actions(home)
    if not actions:
        return spark.read.format("delta").load(home)  # Spark's error names the missing path.
    rows = _read(spark, home, delta_log.live_files(actions))
    return rows.drop(*(name for name in rows.columns if name not in published_columns(rows.columns)))


def read_by_size(spark: SparkSession, lake: Lake, run_id: str, tables: Sequence[str]) -> dict[str, DataFrame]:
    """Return staged tables by name (`read_staged`), each in the session that its size needs (`for_rows`).

    Tables with rows of a key meet in one query, so they are in one session.
    """
    rows = {table: row_count(lake, run_id, table) for table in tables}
    of_keys = sum(count for table, count in rows.items() if table in _OF_KEYS)
    return {
        table: read_staged(for_rows(spark, of_keys if table in _OF_KEYS else count), lake, run_id, table)
        for table, count in rows.items()
    }


def read_part(spark: SparkSession, lake: Lake, run_id: str, table: str, name: str) -> DataFrame:
    """Return the rows that the run has staged for `table` as the part `name`, with the columns for the run itself.

    Raises LookupError for a part that is not staged.
    """
    home = lake.staged(table, run_id)
    commit = next((c for c in _commits(home) if _is_part(c, name)), None)
    if commit is None:
        raise LookupError(f"{home}: the part {name} is not staged")
    return _read(spark, home, [action["add"] for action in commit if "add" in action])


def _read(spark: SparkSession, home: str, added: Sequence[Mapping[str, Any]]) -> DataFrame:
    names = [f"{home}/{unquote(file['path'])}" for file in added]
    return data_files.read(spark, _schema(home), names)


def _schema(home: str) -> T.StructType:
    """Return the columns of a staged table, which its first commit has."""
    actions = chain.from_iterable(commit_files.commits(Objects(home), oldest_first=True))
    text = next(action["metaData"]["schemaString"] for action in actions if "metaData" in action)
    return T.StructType.fromJson(json.loads(text))


def staged_actions(lake: Lake, folder: str, table: str) -> list[dict[str, Any]]:
    """Return every action of the table that is staged in a folder, oldest first; none if there is no such table."""
    return _actions(lake.staged(table, folder))


def _actions(home: str) -> list[dict[str, Any]]:
    return commit_files.actions(Objects(home))


def _commits(home: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the actions of each commit to a staged table, the newest first; none if there is no table."""
    return commit_files.commits(Objects(home))


def _is_part(commit: list[dict[str, Any]], name: str) -> bool:
    return any(action["txn"]["appId"] == name for action in commit if "txn" in action)


def delete_unstaged_files(lake: Lake, run_id: str, tenure: Tenure | None = None) -> None:
    """Delete the files that Delta's writer left in a failed attempt: the next attempt may need the space.

    Files that it writes in all attempts lie side by side, and a commit names those that are staged. A file in a folder
    is of one attempt, which deletes it itself (`staged_parts`). Raises LeaseLostError, and deletes nothing, if another
    process has taken over the windows of `tenure`: listed files may be those of that process.
    """
    for table in _STAGED:
        for folder in (run_id, behind_folder(run_id)):
            home = lake.staged(table, folder)
            names = [entry.name for entry in Objects(home).below() if _is_of_delta_s_writer(entry.name)]
            if not names:
                continue
            live = {unquote(file["path"]) for file in delta_log.live_files(_actions(home))}
            live |= set(map(_checksum, live))
            # A process that takes over later writes other files than the listed ones.
            if tenure is not None:
                tenure.require()
            Objects(home).delete(name for name in names if name not in live)


def _checksum(path: str) -> str:
    """Return the path of the checksum that Hadoop writes beside a file of a local folder."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


def _is_of_delta_s_writer(path: str) -> bool:
    """Return whether a file of a staged table may be left by Delta's writer. That of a failed commit ends with `.tmp`.

    Files in a folder are those of the log, or of an attempt that writes without Delta.
    """
    return "/" not in path or (path.startswith("_delta_log/") and path.endswith(".tmp"))


def row_count(lake: Lake, run_id: str, table: str) -> int:
    """Return how many rows the run has staged for `table`, from Delta's statistics."""
    return sum(file["numRecords"] for file in _statistics(lake, run_id, table))


def panes_by_timing(lake: Lake, run_id: str) -> Counter[str]:
    """Return how many panes of each timing the run has staged, from Delta's statistics.

    A file of panes has panes of one timing. Retractions are counted as "retractions".
    """
    counts: Counter[str] = Counter()
    for commit in _commits(lake.staged("panes", run_id)):
        retracts = any(action["txn"]["appId"].endswith(RETRACTIONS) for action in commit if "txn" in action)
        for stats in (json.loads(action["add"]["stats"]) for action in commit if "add" in action):
            if stats["numRecords"]:
                counts[RETRACTIONS if retracts else stats["minValues"]["timing"]] += stats["numRecords"]
    return counts


def _statistics(lake: Lake, run_id: str, table: str) -> list[dict[str, Any]]:
    live = delta_log.live_files(_actions(lake.staged(table, run_id)))
    return [json.loads(file["stats"]) for file in live]


def published_columns(names: list[str]) -> list[str]:
    """Return the names of the columns of a staged table that are published."""
    return [name for name in names if not name.startswith(WORKING_PREFIX)]


def has_work(lake: Lake, run_id: str, name: str) -> bool:
    """Return whether the run has stored rows under `name`."""
    return _stored_work(lake, run_id, name) is not None


def read_work(spark: SparkSession, lake: Lake, run_id: str, name: str) -> DataFrame:
    """Return the rows that the run has stored under `name`. Raises LookupError if it has not."""
    work = _stored_work(lake, run_id, name)
    if work is None:
        raise LookupError(f"{lake.work(run_id, name)}: no rows are stored")
    return work.read(spark, lake.work(run_id, name))


def write_work_once(
    compute: Callable[[], DataFrame], lake: Lake, run_id: str, name: str, reader: SparkSession
) -> DataFrame:
    """Store the rows of `compute` under `name`, unless the run has done so; return them as `reader` reads them.

    Of several processes that store rows of one name, one succeeds, and all read its rows.
    """
    if not has_work(lake, run_id, name):
        rows, folder = compute(), uuid4().hex
        rows.write.parquet(f"{lake.work(run_id, name)}/{folder}")
        _store(lake, run_id, name, _Work(folder, rows.schema))
    return read_work(reader, lake, run_id, name)


def copy_work_once(lake: Lake, of_run: str, of_name: str, run_id: str, name: str) -> None:
    """Store the rows that the run `of_run` has stored under `of_name` under `name`, unless the run has done so.

    Raises LookupError if the other run has stored no rows.
    """
    work = _stored_work(lake, of_run, of_name)
    if work is None:
        raise LookupError(f"{lake.work(of_run, of_name)}: no rows are stored")
    if not has_work(lake, run_id, name):
        folder = uuid4().hex
        home = f"{work_folder(of_run)}/{of_name}/{work.folder}"
        lake.objects.copy(home, f"{work_folder(run_id)}/{name}/{folder}")
        _store(lake, run_id, name, _Work(folder, work.schema))


@dataclass(frozen=True)
class _Work:
    """Stored rows of a run: their folder below their name, and their columns.

    The object that describes them is written last, so the folder is complete.
    """

    folder: str
    schema: T.StructType

    def read(self, spark: SparkSession, home: str) -> DataFrame:
        return spark.read.schema(self.schema).parquet(data_files.escaped(f"{home}/{self.folder}"))


def _store(lake: Lake, run_id: str, name: str, work: _Work) -> None:
    """Describe stored rows, or delete them if another process has stored rows of the name."""
    text = json.dumps({"folder": work.folder, "schema": work.schema.jsonValue()})
    if not lake.objects.create(_description(run_id, name), text.encode()):
        lake.objects.remove(f"{work_folder(run_id)}/{name}/{work.folder}")


def _stored_work(lake: Lake, run_id: str, name: str) -> _Work | None:
    """Return the rows of this format that a run has stored under `name`; None without such rows."""
    text = lake.objects.read(_description(run_id, name))
    if text is None:
        return None
    work = json.loads(text)
    return _Work(work["folder"], T.StructType.fromJson(work["schema"]))


def _description(run_id: str, name: str) -> str:
    """Return the name of the object that describes stored rows."""
    return f"{work_folder(run_id)}/{name}/{WORK_FORMAT}.json"
