"""Delta tables of the lake, read by delta-rs and without Spark; what a version has answered is kept.

Law: an answer is of the newest version when it was asked for. Files are looked into only where the statistics in the
table's log leave a chance that they hold a row that is asked for.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from spark_jobs.tables.lake import Lake

if TYPE_CHECKING:
    from deltalake import DeltaTable

_Answer = TypeVar("_Answer")

#: Tables kept open, and answers kept of each; the ones asked for longest ago go first.
MOST_TABLES, MOST_ANSWERS = 512, 16
# So long a table that was removed and made anew may be taken for the one before.
_KEPT_OPEN_S = 60.0
# A lake that is elsewhere and does not answer must not hold a page for minutes, as it would by default.
_REMOTE = {"connect_timeout": "2s", "timeout": "5s", "max_retries": "1", "retry_timeout": "5s"}

_COLOUR, _BRANCH = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"↳|->")


class LakeError(Exception):
    """The lake cannot be read; the message is one line that says what was asked, and what was found."""


@dataclass(frozen=True)
class Table:
    """A Delta table at its newest version."""

    delta: DeltaTable

    @property
    def columns(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(column.name for column in self.delta.schema().fields)

    def files(self, *names: str) -> list[dict[str, Any]]:
        """What its log says of each of its files under these names, such as `num_records` and `max.finished_at`.

        A name that the log does not have is None.
        """
        told = self.delta.get_add_actions(flatten=True)
        there = {name: told[name].to_pylist() for name in names if name in told.column_names}
        return [{name: there[name][i] if name in there else None for name in names} for i in range(told.num_rows)]

    def select(self, query: str) -> list[dict[str, Any]]:
        """The rows that SQL gives over the table `t`, as plain values; a map is a list of pairs."""
        from deltalake import QueryBuilder

        found = QueryBuilder().register("t", self.delta).execute(query).read_all()
        columns = {name: found[name].to_pylist() for name in found.column_names}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass
class _Known:
    """A table that was asked before, and what it said at which version; `lock` holds while it is being asked."""

    lock: Lock = field(default_factory=Lock)
    delta: DeltaTable | None = None
    opened_s: float = 0.0
    answers: OrderedDict[Hashable, tuple[int, Any]] = field(default_factory=OrderedDict)


_known: OrderedDict[str, _Known] = OrderedDict()
_lock = Lock()


def ask(lake: Lake, name: str, question: Hashable, answer: Callable[[Table], _Answer]) -> _Answer | None:
    """What `answer` finds in the table `name` of a pipeline; None if there is no such table.

    `question` names what is asked, so that it is asked once a version. Raises LakeError.
    """
    path = lake.path(name)
    known = _of(path)
    with known.lock:
        try:
            return _asked(known, path, question, answer)
        except _missing():
            _forget(known)
            _require(lake)
            return None
        except Exception as problem:
            _forget(known)
            raise LakeError(f"{path} cannot be read: {_one_line(problem)}") from problem


def _asked(known: _Known, path: str, question: Hashable, answer: Callable[[Table], _Answer]) -> _Answer:
    delta, is_new = _opened(known, path)
    version = delta.version()
    told = known.answers.get(question)
    if told is None or told[0] != version:
        try:
            told = version, answer(Table(delta))
        except Exception:
            if is_new:
                raise
            # It may have been removed and made anew since it was opened: then it is another.
            _forget(known)
            return _asked(known, path, question, answer)
        known.answers[question] = told
    known.answers.move_to_end(question)
    while len(known.answers) > MOST_ANSWERS:
        known.answers.popitem(last=False)
    found: _Answer = told[1]
    return found


def _opened(known: _Known, path: str) -> tuple[DeltaTable, bool]:
    """The table at its newest version, and whether it was opened for that."""
    from deltalake import DeltaTable

    now = time.monotonic()
    if known.delta is not None and now - known.opened_s < _KEPT_OPEN_S:
        known.delta.update_incremental()
        return known.delta, False
    before = known.delta
    known.delta, known.opened_s = DeltaTable(path, storage_options=_options(path)), now
    if before is not None and before.metadata().id != known.delta.metadata().id:
        known.answers.clear()
    return known.delta, True


def _of(path: str) -> _Known:
    with _lock:
        known = _known.setdefault(path, _Known())
        _known.move_to_end(path)
        while len(_known) > MOST_TABLES:
            _known.popitem(last=False)
        return known


def _forget(known: _Known) -> None:
    known.delta = None
    known.answers.clear()


def _require(lake: Lake) -> None:
    """Raise LakeError if it is the lake itself that is not there."""
    folder = lake.folder
    if folder is not None and not folder.parent.is_dir():
        raise LakeError(f"there is no lake at {lake.root}; TIDEMARK_LAKE names its folder")


def _options(path: str) -> dict[str, str] | None:
    """What a store is asked with; whose it is and the key to it come from its own variables, as `AWS_ENDPOINT_URL`."""
    return None if urlsplit(path).scheme in ("", "file") else _REMOTE


def _missing() -> type[Exception]:
    from deltalake.exceptions import TableNotFoundError

    missing: type[Exception] = TableNotFoundError
    return missing


def _one_line(problem: Exception) -> str:
    """What delta-rs says as a tree in colours, one cause below the other."""
    causes = _BRANCH.split(_COLOUR.sub("", str(problem)))
    return ": ".join(" ".join(cause.split()) for cause in causes).strip(": ") or type(problem).__name__
