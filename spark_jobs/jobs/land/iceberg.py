"""An Iceberg table in a local folder: the data files that its snapshots appended, and when each became known.

A data file arrives with the commit of the snapshot that appended it. Law: after a landing, the Delta table has the rows
of the current snapshot, and each row arrived with one snapshot. So

- a snapshot of another operation than `append` is refused if it follows the last landed snapshot,
- but a `replace` is passed over if it rewrites landed files alone, to as many rows: by the specification of Iceberg it
  changes no row,
- a state that lacks landed rows is refused, as after a rollback.

Every landing checks all snapshots after the last landed one. So each file of that snapshot has been landed, or holds
rows of landed files, even if the snapshot that wrote it has expired since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry, ManifestEntryStatus
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.iceberg_files import local_path, read_metadata

_CURE = "write its current rows to a folder of Parquet, and land that in a new table"


@dataclass(frozen=True)
class AppendedFile:
    """A data file by its path in the table, the time of the snapshot that appended it, and its manifest's entry."""

    name: str
    appended_at: datetime
    content: DataFile


@dataclass(frozen=True)
class IcebergTable:
    """An Iceberg table as one file of its metadata describes it."""

    path: Path
    content: StaticTable

    def new_files(self, landed: Mapping[str, int]) -> list[AppendedFile]:
        """List the files to land, oldest first, from the rows of each landed file.

        Raises InputError if a row of the table has no single arrival.
        """
        try:
            live = list(self._live())
            covered = self._covered(landed)
        except OSError as problem:
            raise InputError(
                f"FOLDER: '{self.path}': the metadata cannot be read: {problem}", code=ErrorCode.FILES_NOT_LANDED
            ) from problem
        new = [self._appended(entry) for entry in live if self._name(entry) not in covered]
        present = _rows(entry for entry in live if self._name(entry) in covered)
        if (rows := sum(landed.values())) > present:
            raise InputError(
                f"FOLDER: '{self.path}': {rows:,} rows were landed, and the table has {present:,} of them. A rollback "
                f"or an expired snapshot removed rows, or the Delta table has files of another folder: {_CURE}",
                code=ErrorCode.FILES_NOT_LANDED,
            )
        return sorted(new, key=lambda file: (file.appended_at, file.name))

    @property
    def columns(self) -> list[str]:
        """The names of the columns today."""
        return [field.name for field in self.content.schema().fields]

    def former_names(self) -> dict[str, str]:
        """Return the present name of each column by the names that it had before."""
        present = {field.field_id: field.name for field in self.content.schema().fields}
        former = (field for schema in self.content.schemas().values() for field in schema.fields)
        return {
            field.name: present[field.field_id]
            for field in former
            if field.name != present.get(field.field_id, field.name) and field.name not in present.values()
        }

    def _live(self) -> Iterator[ManifestEntry]:
        """Yield the data files of the current snapshot. Raises InputError if it has a delete file."""
        for snapshot in self._history[-1:]:
            for entry in self._entries(snapshot):
                if entry.data_file.content != DataFileContent.DATA:
                    raise self._refused(entry.snapshot_id, "deleted rows of other files")
                yield entry

    def _covered(self, landed: Mapping[str, int]) -> set[str]:
        """Return the names of files whose rows have been landed, among them products of compaction."""
        covered, after = set(landed), len(self._history)
        while after and not self._is_landed(self._history[after - 1], landed):
            after -= 1
        if after:
            covered |= self._names(self._entries(self._history[after - 1]))
        for snapshot in self._history[after:]:
            match _operation(snapshot):
                case Operation.APPEND:
                    pass
                case Operation.REPLACE:
                    covered |= self._compacted(snapshot, covered)
                case other:
                    reason = f"is of operation {other.value}: it may have changed rows"
                    raise self._refused(snapshot.snapshot_id, reason)
        return covered

    def _is_landed(self, snapshot: Snapshot, landed: Mapping[str, int]) -> bool:
        added = self._names(self._changed(snapshot)[0]) if landed else set()
        return bool(added) and added <= landed.keys()

    def _compacted(self, snapshot: Snapshot, covered: set[str]) -> set[str]:
        """Return the files that a `replace` wrote. Raises InputError unless it rewrote landed rows alone."""
        added, removed = self._changed(snapshot)
        if not self._names(removed) <= covered or _rows(added) != _rows(removed):
            raise self._refused(snapshot.snapshot_id, "is of operation replace: it rewrote files that were not landed")
        return self._names(added)

    def _appended(self, entry: ManifestEntry) -> AppendedFile:
        name = self._name(entry)
        snapshot = self._snapshot(entry.snapshot_id)
        if snapshot is None:
            raise self._refused(entry.snapshot_id, f"added '{name}' and has expired: the time of its commit is unknown")
        if (operation := _operation(snapshot)) is not Operation.APPEND:
            raise self._refused(entry.snapshot_id, f"added '{name}' and is of operation {operation.value}")
        return AppendedFile(name, _instant(snapshot), entry.data_file)

    @cached_property
    def _history(self) -> list[Snapshot]:
        """The current snapshot and its known ancestors, oldest first."""
        return list(ancestors_of(self.content.current_snapshot(), self.content.metadata))[::-1]

    def _changed(self, snapshot: Snapshot) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
        """Return what a snapshot added and what it removed."""
        number = snapshot.snapshot_id
        own = [entry for entry in self._entries(snapshot, written_by=number) if entry.snapshot_id == number]
        added = [entry for entry in own if entry.status == ManifestEntryStatus.ADDED]
        return added, [entry for entry in own if entry.status == ManifestEntryStatus.DELETED]

    def _entries(self, snapshot: Snapshot, *, written_by: int | None = None) -> Iterator[ManifestEntry]:
        """Yield the live entries of a snapshot, or all entries of the manifests that one snapshot wrote.

        A file without rows leaves no trace in the Delta table, and is no entry.
        """
        for manifest in snapshot.manifests(self.content.io):
            if written_by in (None, manifest.added_snapshot_id):
                entries = manifest.fetch_manifest_entry(self.content.io, discard_deleted=written_by is None)
                yield from (entry for entry in entries if entry.data_file.record_count)

    def _names(self, entries: Iterable[ManifestEntry]) -> set[str]:
        return {self._name(entry) for entry in entries}

    def _name(self, entry: ManifestEntry) -> str:
        """Return the path of a file in the table. Raises InputError for a file elsewhere."""
        file, root = local_path(entry.data_file.file_path), local_path(self.content.location())
        if file is None or root is None or not file.is_relative_to(root):
            raise InputError(
                f"FOLDER: '{self.path}': found the data file '{entry.data_file.file_path}', expected files in this "
                f"folder: {_CURE}",
                code=ErrorCode.FILES_NOT_LANDED,
            )
        return file.relative_to(root).as_posix()

    def _snapshot(self, number: int | None) -> Snapshot | None:
        return None if number is None else self.content.snapshot_by_id(number)

    def _refused(self, number: int | None, reason: str) -> InputError:
        snapshot = self._snapshot(number)
        time = "" if snapshot is None else f" of {_instant(snapshot):%Y-%m-%d %H:%M:%S} UTC"
        return InputError(
            f"FOLDER: '{self.path}': snapshot {number}{time} {reason}. Such rows have no single arrival: {_CURE}",
            code=ErrorCode.FILES_NOT_LANDED,
        )


def open_table(path: Path) -> IcebergTable:
    """Open the newest version of the table in a folder, or the version of a file of metadata. Raises InputError."""
    content = read_metadata(path)
    return IcebergTable(Path(content.metadata_location).parents[1], content)


def _operation(snapshot: Snapshot) -> Operation:
    # The first version of Iceberg allows a snapshot without one.
    return Operation.OVERWRITE if snapshot.summary is None else snapshot.summary.operation


def _instant(snapshot: Snapshot) -> datetime:
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)


def _rows(entries: Iterable[ManifestEntry]) -> int:
    return sum(entry.data_file.record_count for entry in entries)
