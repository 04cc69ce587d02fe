"""Delta tables of the lake, read by delta-rs and without Spark; what was read of a version is kept.

Law: a reader sees the table's newest version at the time of the call. A file is opened only if the statistics in the
table's log allow that it has a row of the query.
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import HASTY, PATIENT, Patience, storage_options

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_Rows = TypeVar("_Rows")

#: Tables that are kept open, and readings that are kept of each; the least recently used go first.
MOST_TABLES, MOST_READINGS = 512, 16
# For so long a table that was removed and made anew may be taken for the old one.
_KEPT_OPEN_S = 60.0

_COLOUR, _BRANCH = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"↳|->")


@dataclass(frozen=True)
class Table:
    """A Delta table at its newest version."""

    delta: DeltaTable

    @property
    def columns(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(column.name for column in self.delta.schema().fields)

    def files(self, *names: str) -> list[dict[str, Any]]:
        """Return these entries of the log for each of its files, such as `num_records` and `max.finished_at`.

        An entry that the log does not have is None.
        """
        actions = self.delta.get_add_actions(flatten=True)
        columns = {name: actions[name].to_pylist() for name in names if name in actions.column_names}
        return [
            {name: columns[name][i] if name in columns else None for name in names} for i in range(actions.num_rows)
        ]

    def select(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a SQL query over the table `t`, as plain values; a map is a list of pairs.

        Other threads of Python run while the query waits for a store: pyarrow reads the batches without Python's lock.
        `read_all` of delta-rs 1.6.6 keeps the lock, so each query would stop all pages of an API server.
        """
        from deltalake import QueryBuilder
        from pyarrow import RecordBatchReader

        batch = RecordBatchReader.from_stream(QueryBuilder().register("t", self.delta).execute(query)).read_all()
        columns = {name: batch[name].to_pylist() for name in batch.column_names}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass
class _CachedTable:
    """A table that was read before, and what was read of which version; `lock` is held while it is read."""

    lock: Lock = field(default_factory=Lock)
    delta: DeltaTable | None = None
    opened_s: float = 0.0
    readings: OrderedDict[Hashable, tuple[int, Any]] = field(default_factory=OrderedDict)


_cache: OrderedDict[str, _CachedTable] = OrderedDict()
_lock = Lock()


def read_table(
    lake: Lake, name: str, key: Hashable, read: Callable[[Table], _Rows], *, opens_anew: bool = False
) -> _Rows | None:
    """Return what `read` returns for the table `name` of a pipeline; None if there is no such table.

    `key` names what is read, so that it is read once a version. With `opens_anew`, a table that was removed and made
    anew is never taken for the old one. Raises LakeError.
    """
    path = lake.path(name)
    cached = _of(path)
    with cached.lock:
        if opens_anew:
            cached.opened_s = -_KEPT_OPEN_S
        try:
            return _read(cached, path, key, read)
        except _missing():
            _forget(cached)
            _require(lake)
            return None
        except Exception as problem:
            _forget(cached)
            raise LakeError(f"{path} cannot be read: {one_line(problem)}") from problem


def data_files(path: str, version: int) -> list[str]:
    """Return the data files of a table at `version`, relative to its folder. Raises LakeError."""
    actions = at_version(path, version).delta.get_add_actions(flatten=True)
    return [unquote(name) for name in actions["path"].to_pylist()]


def opened(path: str, version: int, patience: Patience = PATIENT) -> DeltaTable:
    """Return a table at `version`. Raises the error of delta-rs."""
    from deltalake import DeltaTable

    return DeltaTable(path, version=version, storage_options=storage_options(path, patience))


def at_version(path: str, version: int, patience: Patience = PATIENT) -> Table:
    """Return a table at `version`. Raises LakeError."""
    try:
        return Table(opened(path, version, patience))
    except Exception as problem:
        raise LakeError(f"{path} cannot be read at version {version}: {one_line(problem)}") from problem


def file_count(folder: str) -> int | None:
    """Return the number of files of a table in a local folder at its last checkpoint; None if that is not known.

    It costs the reading of a small file.
    """
    try:
        checkpoint = json.loads(Path(folder, "_delta_log", "_last_checkpoint").read_text(encoding="utf-8"))
        return int(checkpoint["numOfAddFiles"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def row_count(path: str, most_files: int) -> int | None:
    """Return the number of rows of the table in a local folder, by its log.

    None if the table cannot be read, has more than `most_files` files, or a file has no statistics.
    """
    from deltalake import DeltaTable

    if (file_count(path) or 0) > most_files:
        return None
    try:
        delta = DeltaTable(path)
        if statistics(delta).num_rows > most_files:
            return None
        counts = Table(delta).files("num_records")
    except Exception:  # noqa: BLE001  the run itself reports a table that cannot be read
        return None
    rows = [file["num_records"] for file in counts]
    return None if None in rows else sum(rows)


def statistics(delta: DeltaTable) -> pa.Table:
    """Return a row for each data file of a table, with the statistics of its log.

    The columns are those of `DeltaTable.get_add_actions`, such as `num_records` and the struct `min`.
    """
    import pyarrow as pa

    return pa.table(delta.get_add_actions(flatten=False))


def _read(cached: _CachedTable, path: str, key: Hashable, read: Callable[[Table], _Rows]) -> _Rows:
    delta, is_new = _opened(cached, path)
    version = delta.version()
    reading = cached.readings.get(key)
    if reading is None or reading[0] != version:
        try:
            reading = version, read(Table(delta))
        except Exception:
            if is_new:
                raise
            # The table may have been removed and made anew since it was opened.
            _forget(cached)
            return _read(cached, path, key, read)
        cached.readings[key] = reading
    cached.readings.move_to_end(key)
    while len(cached.readings) > MOST_READINGS:
        cached.readings.popitem(last=False)
    rows: _Rows = reading[1]
    return rows


def _opened(cached: _CachedTable, path: str) -> tuple[DeltaTable, bool]:
    """Return the table at its newest version, and whether it was opened for that."""
    from deltalake import DeltaTable

    now = time.monotonic()
    if cached.delta is not None and now - cached.opened_s < _KEPT_OPEN_S:
        cached.delta.update_incremental()
        return cached.delta, False
    before = cached.delta
    cached.delta, cached.opened_s = DeltaTable(path, storage_options=storage_options(path, HASTY)), now
    if before is not None and before.metadata().id != cached.delta.metadata().id:
        cached.readings.clear()
    return cached.delta, True


def _of(path: str) -> _CachedTable:
    with _lock:
        cached = _cache.setdefault(path, _CachedTable())
        _cache.move_to_end(path)
        while len(_cache) > MOST_TABLES:
            _cache.popitem(last=False)
        return cached


def _forget(cached: _CachedTable) -> None:
    cached.delta = None
    cached.readings.clear()


def _require(lake: Lake) -> None:
    """Raise LakeError if the lake itself does not exist."""
    folder = lake.folder
    if folder is not None and not folder.parent.is_dir():
        raise LakeError(f"there is no lake at {lake.root}; TIDEMARK_LAKE names its folder")


def _missing() -> type[Exception]:
    from deltalake.exceptions import TableNotFoundError

    missing: type[Exception] = TableNotFoundError
    return missing


def one_line(problem: Exception) -> str:
    """Return an error of delta-rs, a tree in colours with one cause below the other, as one line."""
    causes = _BRANCH.split(_COLOUR.sub("", str(problem)))
    return ": ".join(" ".join(cause.split()) for cause in causes).strip(": ") or type(problem).__name__
