"""Files and folders of a lake, in any file system that Hadoop supports.

A folder is removed in two steps: it is renamed to a hidden name, then deleted. So a killed process cannot leave a
folder that looks complete but lacks files.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

#: The prefix of the names of folders that are being deleted.
REMOVED = ".removed-"


@dataclass(frozen=True)
class File:
    """A file: its path relative to the listed folder, its size in bytes, and its modification time."""

    path: str
    size: int
    modified: datetime


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether a file or folder exists at `path`."""
    system, place = _opened(spark, path)
    return bool(system.exists(place))


def subfolders(spark: SparkSession, folder: str) -> list[str]:
    """Return the sorted names of the folders directly below `folder`; none if it does not exist."""
    system, place = _opened(spark, folder)
    if not system.exists(place):
        return []
    return sorted(entry.getPath().getName() for entry in system.listStatus(place) if entry.isDirectory())


def files_below(spark: SparkSession, folder: str) -> list[File]:
    """Return all files below `folder`, at any depth, sorted by path; none if it does not exist."""
    system, place = _opened(spark, folder)
    if not system.exists(place):
        return []
    home = f"{system.makeQualified(place).toUri().getPath().rstrip('/')}/"
    entries, listed = system.listFiles(place, True), []
    while entries.hasNext():
        entry = entries.next()
        modified = datetime.fromtimestamp(entry.getModificationTime() / 1000, UTC)
        path = entry.getPath().toUri().getPath().removeprefix(home)
        listed.append(File(path, int(entry.getLen()), modified))
    return sorted(listed, key=lambda file: file.path)


def write_once(spark: SparkSession, path: str, text: str) -> str:
    """Write `text` to `path`, unless the file exists, and return the content of the file. The write is atomic."""
    system, place = _opened(spark, path)
    if not system.exists(place):
        partial = _jvm(spark).org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}-{uuid4().hex}")
        _write(system.create(partial), text)
        # If another process has written the file in between, the rename fails and that content is returned.
        system.rename(partial, place)
    return _read(system.open(place))


def read_text(spark: SparkSession, path: str) -> str | None:
    """Return the content of the file at `path`; None if it does not exist."""
    system, place = _opened(spark, path)
    return _read(system.open(place)) if system.exists(place) else None


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def _read(stream: Any) -> str:
    try:
        return bytes(stream.readAllBytes()).decode()
    finally:
        stream.close()


def delete(spark: SparkSession, paths: Iterable[str]) -> None:
    """Delete files. Files that do not exist are ignored."""
    for path in paths:
        system, place = _opened(spark, path)
        system.delete(place, False)


def remove(spark: SparkSession, folder: str) -> None:
    """Remove a folder with all of its files, if it exists."""
    system, place = _opened(spark, folder)
    if not system.exists(place):
        return
    away = _jvm(spark).org.apache.hadoop.fs.Path(place.getParent(), f"{REMOVED}{uuid4().hex}")
    if not system.rename(place, away):
        raise OSError(f"{folder}: could not be moved to {away.getName()} beside it")
    system.delete(away, True)


def _opened(spark: SparkSession, path: str) -> tuple[Any, Any]:
    place = _jvm(spark).org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), place


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
