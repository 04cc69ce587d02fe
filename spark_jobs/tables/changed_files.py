"""Changed files: which files of a table hold the rows that commits added, and which the rows that they took away.

Law: with `F` the rows of a file as it is read, the rows of a table at two versions are

    rows(until) = rows(since) + sum of F over `added` - sum of F over `removed`

as bags. The files of a commit that changes rows (`dataChange`) are counted: an added file once more, a removed one once
less. A commit that only rewrites rows moves them between files: its added files have together the rows of its removed
files. So its files may be counted or not: the law holds in either case. They are counted if fewer files are then read.

A file with another deletion vector is another file: it is removed with its old rows and added with its new rows. A row
that was only copied is in a removed and in an added file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.tables import delta_log, source

_NAME_IN_FILES = "delta.columnMapping.physicalName"
# A file of the log: its path, decoded, and what identifies its deletion vector.
_File = tuple[str, ...]
_VECTOR = ("storageType", "pathOrInlineDv", "offset")
_Actions = Mapping[int, Sequence[Mapping[str, Any]]]


class UnknownChangesError(Exception):
    """The changes of a source cannot be found out; the message is the reason."""


@dataclass(frozen=True)
class ChangedFiles:
    """Files by the version of the table at which they are read; named as in the log, a path as often as it counts.

    `entries` has for each version the entries of its files in the log, by path.
    """

    added: Mapping[int, Sequence[str]]
    removed: Mapping[int, Sequence[str]]
    entries: Mapping[int, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict, compare=False)


def changed_files(spark: SparkSession, table: str, since: int, until: int) -> ChangedFiles | None:
    """Return the changed files of the commits after the version `since`, up to `until`; None if their log is deleted.

    Both versions have the same columns, by name and type. Raises UnknownChangesError if a column is another one in the
    files nevertheless, since it was dropped and added anew.
    """
    actions_by_version = delta_log.changes(spark, table, since, until)
    if actions_by_version is None:
        return None
    if _schemas(actions_by_version):
        before, after = (delta_log.schema_at(spark, table, version).jsonValue() for version in (since, until))
        if list(_names_in_files(before)) != list(_names_in_files(after)):
            raise UnknownChangesError(other_columns(table, since))
    return changed_files_of(actions_by_version, since, until)


def other_columns(table: str, since: int) -> str:
    """Return in words that a table has other columns than at a version."""
    return f"the columns of {table} are others than at version {since}"


def changed_files_of(actions_by_version: _Actions, since: int, until: int) -> ChangedFiles:
    """Return the changed files by the actions of the versions after `since`, the last of them `until`."""
    log = _Log(since, until)
    for version, actions in actions_by_version.items():
        log.read(version, actions)
    # Versions between two changes of columns have other columns than both ends. So only files of the ends are read.
    counts = log.between_ends() if len(_schemas(actions_by_version)) > 1 else log.fewest()
    added: dict[int, list[str]] = {}
    removed: dict[int, list[str]] = {}
    entries: dict[int, dict[str, Mapping[str, Any]]] = {}
    for file, count in counts.items():
        if count:
            files, version, path = added if count > 0 else removed, log.version_with(file), log.entries[file]["path"]
            files.setdefault(version, []).extend([path] * abs(count))
            entries.setdefault(version, {})[path] = log.entries[file]
    return ChangedFiles(added, removed, entries)


def rows_of(spark: SparkSession, table: str, files: ChangedFiles, until: int, *, are_added: bool) -> DataFrame:
    """Return the rows of the added or removed files; without such files, no rows of version `until`.

    The rows of a file are there as often as it is named. Raises SourceError if a version can no longer be read.
    """
    parts = [
        source.rows_of_files(spark, table, version, paths, files.entries.get(version, {}))
        for version, names in (files.added if are_added else files.removed).items()
        for paths in _without_repeats(names)
    ]
    return reduce(DataFrame.unionByName, parts) if parts else source.read(spark, table, until).limit(0)


@dataclass
class _Log:
    """The files of commits, as they are counted: how often each file is there more after the commits than before."""

    since: int
    until: int
    entries: dict[_File, Mapping[str, Any]] = field(default_factory=dict)
    _changes: Counter[_File] = field(default_factory=Counter)
    _rewrites: list[Counter[_File]] = field(default_factory=list)
    _at_since: set[_File] = field(default_factory=set)
    _last_seen: dict[_File, int] = field(default_factory=dict)

    def read(self, version: int, actions: Sequence[Mapping[str, Any]]) -> None:
        """Count the files of the commit that made `version`."""
        rewrite: Counter[_File] = Counter()
        for action in actions:
            for kind in ("remove", "add"):
                if kind in action:
                    self._count(action[kind], version, rewrite, is_added=kind == "add")
        if any(count < 0 for count in rewrite.values()):
            self._rewrites.append(rewrite)
        else:
            # The log notes something else of these files, which moves no rows.
            self._at_since |= rewrite.keys()

    def _count(self, entry: Mapping[str, Any], version: int, rewrite: Counter[_File], *, is_added: bool) -> None:
        file = _file(entry)
        if is_added and self._last_seen.get(file) == self.until:
            return
        self.entries.setdefault(file, entry)
        if not is_added and file not in self._last_seen:
            self._at_since.add(file)
        self._last_seen[file] = self.until if is_added else version - 1
        (self._changes if entry["dataChange"] else rewrite)[file] += 1 if is_added else -1

    def between_ends(self) -> Counter[_File]:
        """Return the counts of files that are at one end only: 1 at the version `until`, -1 at `since`."""
        counts = Counter(self._changes)
        for rewrite in self._rewrites:
            counts.update(rewrite)
        return counts

    def fewest(self) -> Counter[_File]:
        """Return the counts with as few files to be read as can be found by leaving rewriting commits out or not."""
        all_in = self.between_ends()
        has_all = _size(all_in) < _size(self._changes)
        counts, counted = Counter(all_in if has_all else self._changes), [has_all] * len(self._rewrites)
        forward = range(len(self._rewrites))
        for number in (*forward, *reversed(forward)):
            sign = -1 if counted[number] else 1
            moved = {file: sign * count for file, count in self._rewrites[number].items()}
            if sum(abs(counts[file] + count) - abs(counts[file]) for file, count in moved.items()) < 0:
                counts.update(moved)
                counted[number] = not counted[number]
        return counts

    def version_with(self, file: _File) -> int:
        """Return a version that has the file: an end if one has it."""
        if self._last_seen[file] != self.until and file in self._at_since:
            return self.since
        return self._last_seen[file]


def _size(counts: Mapping[_File, int]) -> int:
    return sum(map(abs, counts.values()))


def _without_repeats(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield lists without repeats, which together have each name as often as `names`."""
    left = Counter(names)
    while left:
        yield list(left)
        left = Counter({name: count - 1 for name, count in left.items() if count > 1})


def _file(entry: Mapping[str, Any]) -> _File:
    vector = entry.get("deletionVector") or {}
    return unquote(entry["path"]), *(str(vector.get(name)) for name in _VECTOR if vector)


def _schemas(actions_by_version: _Actions) -> set[str]:
    """Return the schemas that commits have set."""
    actions = chain.from_iterable(actions_by_version.values())
    return {action["metaData"]["schemaString"] for action in actions if "metaData" in action}


def _names_in_files(schema: Any) -> Iterator[str]:
    """Yield the names by which files have the columns of a schema in JSON, also those inside of columns."""
    if isinstance(schema, dict):
        if "name" in schema:
            yield str((schema.get("metadata") or {}).get(_NAME_IN_FILES, schema["name"]))
        parts = [part for key, part in schema.items() if key != "metadata"]
    else:
        parts = schema if isinstance(schema, list) else []
    for part in parts:
        yield from _names_in_files(part)
