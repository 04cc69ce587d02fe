"""Small Delta tables of the lake, written by delta-rs and without Spark.

Spark's writer takes a second or more to open a table, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from spark_jobs.pipeline.published_tables import Table
from spark_jobs.tables import commit_files
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.objects import Objects, storage_options

if TYPE_CHECKING:
    import pyarrow as pa

# As often as Spark's writer. By default delta-rs waits for 100 commits, and a reader opens as many files of the log.
_COMMITS_OF_A_CHECKPOINT = "10"
_ATTEMPTS = 5
# Where a commit has its mark, and among how many commits it is looked for.
_MARK, _NEWEST = "tidemarkWrite", 20


def append(path: str, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to the table at `path`, which is made if it does not exist. Raises LakeError.

    delta-rs commits again if another writer was first, as appends never conflict.
    """
    _write(path, table, rows, mode="append", schema_mode="merge")


def replace(path: str, table: Table, rows: Sequence[Mapping[str, Any]], condition: str) -> None:
    """Replace the rows that satisfy `condition`, a text of SQL, by `rows`. Raises LakeError, and nothing is changed.

    It tries again if another writer was first. If the answer to a commit is lost, delta-rs commits again, and takes its
    first commit for that of another writer. A mark in the log identifies it.
    """
    objects, mark = Objects(path), uuid4().hex
    if not commit_files.exist(objects):
        append(path, table, rows)
        return
    for attempt in reversed(range(_ATTEMPTS)):
        try:
            _write(path, table, rows, mode="overwrite", predicate=condition, mark=mark)
            break
        except LakeError as problem:
            if not _is_conflict(problem):
                raise
            if _is_committed(objects, mark):
                break
            if not attempt:
                raise


def compact(path: str, retain: timedelta) -> None:
    """Compact a table, and delete the files that its newest version has not referenced for `retain`.

    For tables of which only the newest version is read. Raises LakeError.
    """
    from deltalake import DeltaTable

    try:
        table = DeltaTable(path, storage_options=storage_options(path))
        table.optimize.compact()
        table.vacuum(int(retain / timedelta(hours=1)), dry_run=False)
        table.create_checkpoint()
    except Exception as problem:
        raise LakeError(f"{path} cannot be compacted: {problem}") from problem


def _is_conflict(problem: LakeError) -> bool:
    from deltalake.exceptions import CommitFailedError

    return isinstance(problem.__cause__, CommitFailedError)


def _is_committed(table: Objects, mark: str) -> bool:
    """Return whether one of the newest commits has a mark. Other writers may have committed since."""
    newest = islice(commit_files.commits(table), _NEWEST)
    return any(action.get("commitInfo", {}).get(_MARK) == mark for commit in newest for action in commit)


def _write(path: str, table: Table, rows: Sequence[Mapping[str, Any]], *, mark: str = "", **options: Any) -> None:
    import pyarrow as pa
    from deltalake import CommitProperties, write_deltalake

    entries = [
        {name: list(value.items()) if isinstance(value, Mapping) else value for name, value in row.items()}
        for row in rows
    ]
    if not commit_files.exist(Objects(path)):
        options["configuration"] = {"delta.checkpointInterval": _COMMITS_OF_A_CHECKPOINT}
    if mark:
        options["commit_properties"] = CommitProperties(custom_metadata={_MARK: mark})
    try:
        write_deltalake(
            path, pa.Table.from_pylist(entries, _schema(table)), storage_options=storage_options(path), **options
        )
    except Exception as problem:
        raise LakeError(f"{path} cannot be written: {problem}") from problem


def _schema(table: Table) -> pa.Schema:
    import pyarrow as pa

    types = {
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
        "map<string,double>": pa.map_(pa.string(), pa.float64()),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    return pa.schema([(column.name, types[column.type]) for column in table.own_columns])
