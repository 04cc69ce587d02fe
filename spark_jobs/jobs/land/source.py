"""What a landing reads: a folder of data files, or an Iceberg table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import DataFolder, Format, read_folder

if TYPE_CHECKING:
    from spark_jobs.jobs.land.iceberg import IcebergTable


def read_source(path: Path, format_: Format | None = None) -> DataFolder | IcebergTable:
    """Open an Iceberg table, or list a folder of data files. Raises InputError."""
    if not _is_iceberg(path):
        return read_folder(path, format_)
    if format_ is not None:
        raise InputError(
            f"--format: '{path}' is an Iceberg table, which names the format of its files: leave out --format",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    try:
        from spark_jobs.jobs.land.iceberg import open_table
    except ImportError as problem:
        raise InputError(
            f"FOLDER: '{path}' is an Iceberg table, and pyiceberg cannot be imported: install Tidemark with its extra "
            f"iceberg ({problem})",
            code=ErrorCode.FILES_NOT_LANDED,
        ) from problem
    return open_table(path)


def _is_iceberg(path: Path) -> bool:
    """Return whether a path is the folder of an Iceberg table, or a file of its metadata."""
    return path.name.endswith(".metadata.json") or any((path / "metadata").glob("*.metadata.json"))
