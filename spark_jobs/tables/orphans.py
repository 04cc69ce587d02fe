"""Orphans: files and folders of a pipeline that nothing kept refers to.

- staged folders of dead runs, and their rows for later steps: removed as a whole;
- files below a published table that no kept version refers to: removed one by one, once they are old;
- rows of published runs for their later steps: removed as a whole, once they are old.

Publishing refers to staged files in place. So the staged files of a published run are live while a version refers to
them. A folder with a live file is never removed as a whole, whatever the state of its run in the ledger.
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
from spark_jobs.tables import delta_log, leases, retention
from spark_jobs.tables.lake import WORK, Lake
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.objects import Object
from spark_jobs.tables.retention import Retention, State

_PARALLEL_READS = 4
_UNNAMED = "no kept version names it"
_STAGED, _LOG = "staged", "_delta_log"
# Earlier releases renamed a folder before they deleted it.
_REMOVED = ".removed-"
# The folder in which earlier releases locked windows.
_NO_RUNS = frozenset({leases.FOLDER, "holds"})


@dataclass(frozen=True)
class Removal:
    """Files or folders to remove, with the reason `why`.

    `paths` are relative to the pipeline's folder. If `whole`, they are folders, otherwise single files of `table`.
    `run_id` is empty if they belong to no run. `files` and `size` (bytes) count data files, without logs.
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
    """A folder that steps of a run have written: its path in the pipeline's folder, and its files."""

    path: str
    owner: str
    table: str
    files: tuple[Object, ...]

    @property
    def data(self) -> list[Object]:
        return [file for file in self.files if not _is_log(file.name)]

    @property
    def worked_on(self) -> datetime | None:
        return max((file.modified for file in self.files), default=None)


class Orphans:
    """The orphans of a pipeline's folder.

    - `runs`: all runs of the ledger;
    - `states`: the published states that are kept;
    - `busy`: the id of a run that has begun to publish. Its files are no orphans.
    """

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        runs: Sequence[Run],
        states: Sequence[State],
        retention_rule: Retention,
        *,
        busy: str | None = None,
    ) -> None:
        self._spark, self._lake, self._retention = spark, lake, retention_rule
        self._runs = {run.run_id: run for run in runs}
        self._published = [run for run in runs if run.versions]
        self._states, self._busy = states, busy
        self.unknown: list[str] = []

    @cached_property
    def dead(self) -> list[Removal]:
        """The folders of dead runs, one removal for each run."""
        by_owner: dict[str, list[_Folder]] = {}
        for folder in self._folders:
            if folder.owner != self._busy and not self._is_published(folder.owner) and not self._is_live(folder):
                by_owner.setdefault(folder.owner, []).append(folder)
        removals = []
        for owner, folders in by_owner.items():
            run = self._runs.get(owner)
            finished_at = None if run is None else run.finished_at
            moments = [moment for moment in (finished_at, *(f.worked_on for f in folders)) if moment is not None]
            why = retention.reason_dead(
                run, max(moments, default=self._retention.now), self._published, self._retention
            )
            if why is not None:
                removals.append(_removal(folders, why, owner))
        return removals

    @cached_property
    def unneeded(self) -> list[Removal]:
        """Files that no kept version refers to, and rows that published runs stored for finished steps."""
        single: dict[str, list[tuple[str, int]]] = {}
        whole: dict[str, list[_Folder]] = {}
        for folder in self._folders:
            unreferenced = self._unreferenced(folder)
            all_unreferenced = folder.path != folder.table and len(unreferenced) == len(folder.data)
            if self._is_finished(folder) or (unreferenced and all_unreferenced):
                whole.setdefault(folder.table, []).append(folder)
            elif unreferenced:
                sizes = ((f"{folder.path}/{file.name}", file.size) for file in unreferenced)
                single.setdefault(folder.table, []).extend(sizes)
        single_files = [
            Removal(
                tuple(path for path, _ in files_of),
                len(files_of),
                sum(size for _, size in files_of),
                _UNNAMED,
                "",
                table,
                whole=False,
            )
            for table, files_of in single.items()
        ]
        whole_folders = [
            _removal(folders, _UNNAMED if table in PUBLISHABLE else "kept for steps that are done", table=table)
            for table, folders in whole.items()
        ]
        return [*single_files, *whole_folders]

    @cached_property
    def hidden(self) -> list[Removal]:
        """Folders that a killed maintenance of an earlier release renamed to a hidden name but did not delete."""
        homes = [WORK, *(f"{table}/{_STAGED}" for table in self._tables)]
        paths = [f"{home}/{name}" for home in homes for name in self._subfolders(home) if _is_removed(name)]
        return [Removal(tuple(paths), 0, 0, "left by a maintenance that was killed")] if paths else []

    def _is_published(self, owner: str) -> bool:
        """Return whether files of this owner may be live: the owner is a published run or a compaction."""
        run = self._runs.get(owner)
        return not owner.startswith("r") or (run is not None and bool(run.versions))

    def _is_live(self, folder: _Folder) -> bool:
        referenced_files = self._referenced_files.get(folder.table, frozenset())
        return folder.table in self.unknown or any(_in_table(folder, file) in referenced_files for file in folder.data)

    def _is_finished(self, folder: _Folder) -> bool:
        """Return whether the folder has rows for later steps of a run that was published before the retention."""
        run = self._runs.get(folder.owner)
        published = None if folder.table in PUBLISHABLE or run is None else run.finished_step(StepName.PUBLISH)
        return published is not None and published.finished_at < self._retention.since

    def _unreferenced(self, folder: _Folder) -> list[Object]:
        """Return the old data files of a published run or a compaction that no kept version refers to."""
        referenced_files = self._referenced_files.get(folder.table)
        if referenced_files is None or not self._is_published(folder.owner):
            return []
        old = (file for file in folder.data if file.name.endswith(".parquet") and file.modified < self._retention.since)
        return [file for file in old if _in_table(folder, file) not in referenced_files]

    @cached_property
    def _referenced_files(self) -> Mapping[str, Collection[str]]:
        """By published table, the files that a kept version or the newest version refers to, relative to the table."""
        paths = {table: self._lake.path(table) for table in PUBLISHABLE}
        existing = [table for table, path in paths.items() if delta_log.version(self._spark, path) is not None]

        def referenced(table: str) -> set[str] | None:
            versions = {state.versions[table] for state in self._states if table in state.versions}
            return delta_log.referenced_files(self._spark, paths[table], versions)

        with ThreadPoolExecutor(max_workers=_PARALLEL_READS) as pool:
            by_table = dict(zip(existing, pool.map(referenced, existing), strict=True))
        self.unknown += [table for table, names in by_table.items() if names is None]
        return {table: frozenset(map(unquote, names)) for table, names in by_table.items() if names is not None}

    @cached_property
    def _tables(self) -> list[str]:
        """The table folders that have staged folders, whether or not the table is published."""
        return [name for name in self._subfolders("") if _STAGED in self._subfolders(name)]

    @cached_property
    def _folders(self) -> list[_Folder]:
        return list(self._all_folders())

    def _all_folders(self) -> Iterator[_Folder]:
        for name in self._subfolders(WORK):
            if name not in _NO_RUNS and not _is_removed(name):
                yield _Folder(f"{WORK}/{name}", name, WORK, self._below(f"{WORK}/{name}"))
        for table in self._tables:
            by_name: dict[str, list[Object]] = {"": []}
            for file in self._below(table):
                first, _, rest = file.name.partition("/")
                name, _, inside = rest.partition("/")
                if not rest:
                    by_name[""].append(file)
                elif first == _STAGED and inside and not _is_removed(name):
                    by_name.setdefault(name, []).append(replace(file, name=inside))
            for name, files_of in by_name.items():
                path = f"{table}/{_STAGED}/{name}" if name else table
                yield _Folder(path, name.split("-")[0], table, tuple(files_of))

    def _subfolders(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        below = (entry.name.removeprefix(prefix) for entry in self._all if entry.name.startswith(prefix))
        return sorted({name.partition("/")[0] for name in below if "/" in name})

    def _below(self, folder: str) -> tuple[Object, ...]:
        prefix = f"{folder}/"
        entries = (entry for entry in self._all if entry.name.startswith(prefix))
        return tuple(replace(entry, name=entry.name.removeprefix(prefix)) for entry in entries)

    @cached_property
    def _all(self) -> list[Object]:
        """All objects of the pipeline."""
        return self._lake.objects.below()


def remove(lake: Lake, removal: Removal, tenure: Tenure) -> None:
    """Remove files or folders under the lease `tenure`. If a staged table loses single files, its log is removed first.

    Raises LeaseLostError if another process has taken over the windows, which may need the rest of the files.
    """
    if removal.whole:
        for path in removal.paths:
            lake.objects.remove(path, tenure.guarded)
        return
    for folder in dict.fromkeys(path.rsplit("/", 1)[0] for path in removal.paths):
        if f"/{_STAGED}/" in folder:
            lake.objects.remove(f"{folder}/{_LOG}", tenure.guarded)
    lake.objects.delete(tenure.guarded(removal.paths))


def _removal(folders: Sequence[_Folder], why: str, run_id: str = "", table: str = "") -> Removal:
    data = [file for folder in folders for file in folder.data]
    paths = tuple(folder.path for folder in folders)
    return Removal(paths, len(data), sum(file.size for file in data), why, run_id, table)


def _in_table(folder: _Folder, file: Object) -> str:
    """Return the path of a file relative to its table."""
    return f"{folder.path}/{file.name}".removeprefix(f"{folder.table}/")


def _is_log(path: str) -> bool:
    return any(part == _LOG or _is_removed(part) for part in path.split("/"))


def _is_removed(name: str) -> bool:
    return name.startswith(_REMOVED)
