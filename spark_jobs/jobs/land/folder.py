"""A folder of data files: their format, and when each file became known.

Files whose names begin with `.` or `_`, and folders like that, are the work of a writer and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError


class Format(StrEnum):
    """The format of data files."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


_SUFFIXES = {
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


@dataclass(frozen=True)
class DataFile:
    """A file by its path in the folder, and the time of its last change (milliseconds, UTC)."""

    name: str
    path: Path
    changed_at: datetime


@dataclass(frozen=True)
class DataFolder:
    """The data files of a folder, in the order in which they became known; all have one format."""

    path: Path
    format: Format
    files: tuple[DataFile, ...]

    @property
    def is_partitioned(self) -> bool:
        """True if folders are named `column=value`."""
        return any("=" in part for file in self.files for part in Path(file.name).parts[:-1])


def read_folder(path: Path, format_: Format | None = None) -> DataFolder:
    """List a folder, or one file. Raises InputError for no folder, a Delta table, and mixed formats."""
    if not path.exists():
        raise InputError(f"FOLDER: '{path}' does not exist", code=ErrorCode.FILES_NOT_LANDED)
    root = path if path.is_dir() else path.parent
    _refuse_delta(root)
    files = sorted(_files(path, root), key=lambda file: (file.changed_at, file.name))
    formats = {_format_of(file.path) for file in files} - {None}
    if format_ is None and len(formats) > 1:
        listed = ", ".join(sorted(each for each in formats if each))
        raise InputError(
            f"FOLDER: '{path}' holds files of {listed}; name one format with --format", code=ErrorCode.FILES_NOT_LANDED
        )
    chosen = format_ or next(iter(formats), None)
    # Files of another name have the format that the user names.
    matching = tuple(file for file in files if _format_of(file.path) in (chosen, None if format_ else chosen))
    if chosen is None or not matching:
        raise InputError(
            f"FOLDER: '{path}' holds no data file, expected {chosen or ', '.join(_SUFFIXES)}; "
            "name the format of other files with --format",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    return DataFolder(root, chosen, matching)


def _files(path: Path, root: Path) -> Iterator[DataFile]:
    for file in [path] if path.is_file() else path.rglob("*"):
        name = file.relative_to(root)
        if file.is_file() and not any(part.startswith((".", "_")) for part in name.parts):
            # Spark keeps the time of a file in milliseconds.
            changed = datetime.fromtimestamp(file.stat().st_mtime_ns // 1_000_000 / 1000, UTC)
            yield DataFile(name.as_posix(), file, changed)


def _format_of(file: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _refuse_delta(root: Path) -> None:
    if (root / "_delta_log").is_dir():
        raise InputError(
            f"FOLDER: '{root}' is a Delta table already: run `tidemark init {root}`", code=ErrorCode.FILES_NOT_LANDED
        )
