"""Changed files: which files of a table hold the rows that commits added, and which the rows that they took away.

Law: with `F` the rows of a file as it is read, the rows of a table at two versions are

    rows(until) = rows(since) + sum of F over `added` - sum of F over `removed`

as bags, since a commit that only rewrites rows (`dataChange` false) moves them between files and changes no row. A file
with another deletion vector is another file: it is removed with its old rows and added with its new rows. A row that
was only copied is in a removed and in an added file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.tables import delta_log, source

# A file of the log: its path, and its deletion vector as text.
_File = tuple[str, str]


@dataclass(frozen=True)
class ChangedFiles:
    """Files by the version of the table at which they are read; named as in the log, a path as often as it counts."""

    added: Mapping[int, Sequence[str]]
    removed: Mapping[int, Sequence[str]]


def changed_files(spark: SparkSession, table: str, since: int, until: int) -> ChangedFiles | None:
    """Return the changed files of the commits after the version `since`, up to `until`; None if their log is deleted.

    A file that was added and removed in between counts in neither.
    """
    actions_by_version = delta_log.changes(spark, table, since, until)
    return None if actions_by_version is None else changed_files_of(actions_by_version, since, until)


def changed_files_of(
    actions_by_version: Mapping[int, Sequence[Mapping[str, Any]]], since: int, until: int
) -> ChangedFiles:
    """Return the changed files by the actions of the versions after `since`, the last of them `until`."""
    net: Counter[_File] = Counter()
    first_seen: dict[_File, int] = {}
    last_seen: dict[_File, int] = {}
    for version, actions in actions_by_version.items():
        for action in actions:
            for kind, sign in (("remove", -1), ("add", 1)):
                if kind not in action:
                    continue
                file = _file(action[kind])
                if sign > 0:
                    first_seen[file] = version
                    last_seen[file] = until
                else:
                    last_seen[file] = version - 1
                if action[kind]["dataChange"]:
                    net[file] += sign
    added: dict[int, list[str]] = {}
    removed: dict[int, list[str]] = {}
    for file, count in net.items():
        if count > 0:
            added.setdefault(last_seen[file], []).extend([file[0]] * count)
        elif count < 0:
            read_at = last_seen[file] if file in first_seen else since
            removed.setdefault(read_at, []).extend([file[0]] * -count)
    return ChangedFiles(added, removed)


def rows_of(spark: SparkSession, table: str, files: Mapping[int, Sequence[str]], until: int) -> DataFrame:
    """Return the rows of `files`, by the version at which they are read; without files, no rows of version `until`.

    Raises SourceError if a version can no longer be read.
    """
    parts = [source.rows_of_files(spark, table, version, names) for version, names in files.items()]
    return reduce(DataFrame.unionByName, parts) if parts else source.read(spark, table, until).limit(0)


def _file(entry: Mapping[str, Any]) -> _File:
    return entry["path"], json.dumps(entry.get("deletionVector"), sort_keys=True)
