"""The commits of a Delta table as objects: a JSON file for each version, a line for each action. Without Spark.

Only one of several writers creates the file of a version: it is the commit, in a folder and in an object store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from spark_jobs.tables.objects import Object, Objects

_LOG = "_delta_log"
_DIGITS = 20


def exist(table: Objects) -> bool:
    """Return whether the table has a commit, or had: its log exists."""
    return table.has_any(_LOG)


def changes(table: Objects, after: int, newest: int) -> dict[int, list[dict[str, Any]]] | None:
    """Return the actions of each version in `(after, newest]` of the table, oldest first.

    Returns None if Delta has deleted the log of one of these versions.
    """
    actions: dict[int, list[dict[str, Any]]] = {}
    for version in range(after + 1, newest + 1):
        of_version = read(table, version)
        if of_version is None:
            return None
        actions[version] = of_version
    return actions


def read(table: Objects, version: int) -> list[dict[str, Any]] | None:
    """Return the actions of a version; None if the table has no such version, or Delta has deleted its log."""
    content = table.read(_file(version))
    return None if content is None else _parsed(content)


def commits(table: Objects, *, oldest_first: bool = False) -> Iterator[list[dict[str, Any]]]:
    """Yield the actions of each commit to the table, the newest first; none if there is no table.

    Each commit is read when needed, and once in a process. For tables whose log Delta does not delete.
    """
    files = [entry for entry in table.below(_LOG) if _is_commit(entry.name)]
    return (_actions(table, entry) for entry in (files if oldest_first else reversed(files)))


def actions(table: Objects) -> list[dict[str, Any]]:
    """Return every action of the table, oldest first. For tables with few commits, whose log Delta does not delete."""
    return [action for commit in commits(table, oldest_first=True) for action in commit]


def applications(table: Objects, after: int, newest: int) -> dict[int, list[str]]:
    """Return the transaction ids of each version in `(after, newest]` of the table, oldest first.

    Versions whose log file Delta has deleted are left out.
    """
    by_version = {version: read(table, version) for version in range(after + 1, newest + 1)}
    return {
        version: [action["txn"]["appId"] for action in actions if "txn" in action]
        for version, actions in by_version.items()
        if actions is not None
    }


def create(table: Objects, version: int, actions: Iterable[Mapping[str, Any] | str]) -> bool:
    """Commit actions, each an object or its JSON, as a version; returns whether this call has committed it.

    One of the actions must be that of no other commit, such as a `commitInfo` with a new `txnId`.
    """
    lines = (action if isinstance(action, str) else json.dumps(action) for action in actions)
    return table.create(_file(version), "".join(f"{line}\n" for line in lines).encode())


def _actions(table: Objects, entry: Object) -> list[dict[str, Any]]:
    return _parsed(_content(table, f"{_LOG}/{entry.name}", entry.e_tag))


@lru_cache(maxsize=2048)
def _content(table: Objects, name: str, e_tag: str) -> bytes:  # noqa: ARG001  a part of the key
    """Return a commit. It never changes; one of a table that was made anew has another tag."""
    return table.read(name) or b""


def _parsed(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines() if line]


def _file(version: int) -> str:
    return f"{_LOG}/{version:0{_DIGITS}d}.json"


def _is_commit(name: str) -> bool:
    number, _, kind = name.partition(".")
    return kind == "json" and len(number) == _DIGITS and number.isdecimal()
