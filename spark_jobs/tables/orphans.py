"""Leftovers: what lies in a pipeline's folder and nothing that is kept needs.

    staged folders of dead runs, and what these have kept for their own steps    as a whole
    files below a published table that no kept version of it names               one by one, once they are old
    what published runs have kept for their own steps                            once they are old

Publishing takes up staged files where they lie: those of a published run are live for as long as a version names them.
A folder that holds one such file is never removed as a whole, whatever the ledger says of its run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from urllib.parse import unquote

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName
from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables import delta_log, files, retention
from spark_jobs.tables.files import File
from spark_jobs.tables.lake import WORK, Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.retention import Retention, State

_AT_ONCE = 4
_UNNAMED = "no kept version names it"
_STAGED, _HOLDS, _LOG = "staged", "holds", "_delta_log"


@dataclass(frozen=True)
class Removal:
    """Something that nothing needs: `paths` in the pipeline's folder, of a run or of none, and why.

    Folders if `whole`, with everything in them; otherwise single files of the table that `table` names. `files` and
    `size` (bytes) count what can be counted as data, without the logs of staged tables.
    """

    paths: tuple[str, ...]
    files: int
    size: int
    why: str
    run_id: str = ""
    table: str = ""
    whole: bool = True


@dataclass(frozen=True)
class _Folder:
    """A folder that steps of a run have written: its place in the pipeline's folder, and the files in it."""

    path: str
    owner: str
    table: str
    found: tuple[File, ...]

    @property
    def data(self) -> list[File]:
        return [file for file in self.found if not _is_log(file.path)]

    @property
    def worked_on(self) -> datetime | None:
        return max((file.modified for file in self.found), default=None)


class Leftovers:
    """What of a pipeline's folder goes, as it lies there now.

    `runs` are all of the ledger's; the one called `busy` has begun to publish and is not touched.
    """

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        runs: Sequence[Run],
        states: Sequence[State],
        kept: Retention,
        *,
        busy: str | None = None,
    ) -> None:
        self._spark, self._lake, self._kept = spark, lake, kept
        self._runs = {run.run_id: run for run in runs}
        self._published = [run for run in runs if run.versions]
        self._states, self._busy = states, busy
        self.unknown: list[str] = []

    @cached_property
    def dead(self) -> list[Removal]:
        """The folders of dead runs, a removal a run."""
        found: dict[str, list[_Folder]] = {}
        for folder in self._folders:
            if folder.owner != self._busy and not self._is_published(folder.owner) and not self._is_live(folder):
                found.setdefault(folder.owner, []).append(folder)
        told = []
        for owner, folders in found.items():
            run = self._runs.get(owner)
            entered = None if run is None else run.finished_at
            moments = [moment for moment in (entered, *(f.worked_on for f in folders)) if moment is not None]
            why = retention.death(run, max(moments, default=self._kept.now), self._published, self._kept)
            if why is not None:
                told.append(_removal(folders, why, owner))
        return told

    @cached_property
    def unneeded(self) -> list[Removal]:
        """What no kept version names: a removal a table; and what published runs kept for steps that are done."""
        single: dict[str, list[tuple[str, int]]] = {}
        whole: dict[str, list[_Folder]] = {}
        for folder in self._folders:
            going = self._going(folder)
            everything = folder.path != folder.table and len(going) == len(folder.data)
            if self._is_over(folder) or (going and everything):
                whole.setdefault(folder.table, []).append(folder)
            elif going:
                single.setdefault(folder.table, []).extend((f"{folder.path}/{file.path}", file.size) for file in going)
        files_of = [
            Removal(
                tuple(path for path, _ in of), len(of), sum(size for _, size in of), _UNNAMED, "", table, whole=False
            )
            for table, of in single.items()
        ]
        of_whole = [
            _removal(folders, _UNNAMED if table in PUBLISHABLE else "kept for steps that are done", table=table)
            for table, folders in whole.items()
        ]
        return [*files_of, *of_whole]

    @cached_property
    def hidden(self) -> list[Removal]:
        """Folders that a killed maintenance had moved out of sight and not deleted."""
        homes = [WORK, *(f"{table}/{_STAGED}" for table in self._tables)]
        paths = [f"{home}/{name}" for home in homes for name in self._subfolders(home) if _is_removed(name)]
        return [Removal(tuple(paths), 0, 0, "left by a maintenance that was killed")] if paths else []

    def _is_published(self, owner: str) -> bool:
        """Whether files of this owner may be live: of a published run, or of nobody, as compaction writes them."""
        run = self._runs.get(owner)
        return not owner.startswith("r") or (run is not None and bool(run.versions))

    def _is_live(self, folder: _Folder) -> bool:
        needed = self._needed.get(folder.table, frozenset())
        return folder.table in self.unknown or any(_in_table(folder, file) in needed for file in folder.data)

    def _is_over(self, folder: _Folder) -> bool:
        """Whether this is what a published run has kept for its own steps, and that is long ago."""
        run = self._runs.get(folder.owner)
        published = None if folder.table in PUBLISHABLE or run is None else run.done(StepName.PUBLISH)
        return published is not None and published.finished_at < self._kept.since

    def _going(self, folder: _Folder) -> list[File]:
        """Old data of a published run, or of nobody, that no version names."""
        needed = self._needed.get(folder.table)
        if needed is None or not self._is_published(folder.owner):
            return []
        old = (file for file in folder.data if file.path.endswith(".parquet") and file.modified < self._kept.since)
        return [file for file in old if _in_table(folder, file) not in needed]

    @cached_property
    def _needed(self) -> Mapping[str, Collection[str]]:
        """Of each published table the files, as seen from it, that a kept version or the newest names."""
        paths = {table: self._lake.path(table) for table in PUBLISHABLE}
        there = [table for table, path in paths.items() if delta_log.version(self._spark, path) is not None]

        def held(table: str) -> set[str] | None:
            versions = {state.versions[table] for state in self._states if table in state.versions}
            return delta_log.held(self._spark, paths[table], versions)

        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            found = dict(zip(there, pool.map(held, there), strict=True))
        self.unknown += [table for table, names in found.items() if names is None]
        return {table: frozenset(map(unquote, names)) for table, names in found.items() if names is not None}

    @cached_property
    def _tables(self) -> list[str]:
        """The folders that runs stage into, whatever is published of them."""
        return [name for name in self._subfolders("") if _STAGED in self._subfolders(name)]

    @cached_property
    def _folders(self) -> list[_Folder]:
        return list(self._found())

    def _found(self) -> Iterator[_Folder]:
        for name in self._subfolders(WORK):
            if name != _HOLDS and not _is_removed(name):
                yield _Folder(f"{WORK}/{name}", name, WORK, self._below(f"{WORK}/{name}"))
        for table in self._tables:
            of: dict[str, list[File]] = {"": []}
            for file in self._below(table):
                first, _, rest = file.path.partition("/")
                name, _, inside = rest.partition("/")
                if not rest:
                    of[""].append(file)
                elif first == _STAGED and inside and not _is_removed(name):
                    of.setdefault(name, []).append(replace(file, path=inside))
            for name, found in of.items():
                path = f"{table}/{_STAGED}/{name}" if name else table
                yield _Folder(path, name.split("-")[0], table, tuple(found))

    def _subfolders(self, folder: str) -> list[str]:
        return files.subfolders(self._spark, f"{self._lake.home}/{folder}".rstrip("/"))

    def _below(self, folder: str) -> tuple[File, ...]:
        return tuple(files.below(self._spark, f"{self._lake.home}/{folder}"))


def remove(spark: SparkSession, lake: Lake, removal: Removal) -> None:
    """Do it. A staged table that loses some of its files is none any more: its log goes first."""
    paths = [f"{lake.home}/{path}" for path in removal.paths]
    if removal.whole:
        for path in paths:
            files.remove(spark, path)
        return
    for folder in dict.fromkeys(path.rsplit("/", 1)[0] for path in paths):
        if f"/{_STAGED}/" in folder:
            files.remove(spark, f"{folder}/{_LOG}")
    files.delete(spark, paths)


def _removal(folders: Sequence[_Folder], why: str, run_id: str = "", table: str = "") -> Removal:
    data = [file for folder in folders for file in folder.data]
    paths = tuple(folder.path for folder in folders)
    return Removal(paths, len(data), sum(file.size for file in data), why, run_id, table)


def _in_table(folder: _Folder, file: File) -> str:
    """A file as seen from its table."""
    return f"{folder.path}/{file.path}".removeprefix(f"{folder.table}/")


def _is_log(path: str) -> bool:
    return any(part == _LOG or _is_removed(part) for part in path.split("/"))


def _is_removed(name: str) -> bool:
    return name.startswith(files.REMOVED)
