"""Files and folders of a lake, in whatever file system its path names.

What a killed process may have left half removed would look whole to nobody and to some: a folder is first moved out of
sight, in one step, and then deleted.
"""

# ruff: noqa: SLF001  PySpark has no public way to its JVM
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

#: What folders that are being deleted are called, before a name of their own.
REMOVED = ".removed-"


@dataclass(frozen=True)
class File:
    """A file: its place below the folder that was listed, its bytes, and when it was written."""

    path: str
    size: int
    modified: datetime


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a file or folder at `path`."""
    system, place = _opened(spark, path)
    return bool(system.exists(place))


def subfolders(spark: SparkSession, folder: str) -> list[str]:
    """The names of the folders directly below `folder`, in order; none if it is not there."""
    system, place = _opened(spark, folder)
    if not system.exists(place):
        return []
    return sorted(entry.getPath().getName() for entry in system.listStatus(place) if entry.isDirectory())


def below(spark: SparkSession, folder: str) -> list[File]:
    """All files below `folder`, at any depth; none if it is not there."""
    system, place = _opened(spark, folder)
    if not system.exists(place):
        return []
    home = f"{system.makeQualified(place).toUri().getPath().rstrip('/')}/"
    entries, found = system.listFiles(place, True), []
    while entries.hasNext():
        entry = entries.next()
        written = datetime.fromtimestamp(entry.getModificationTime() / 1000, UTC)
        path = entry.getPath().toUri().getPath().removeprefix(home)
        found.append(File(path, int(entry.getLen()), written))
    return sorted(found, key=lambda file: file.path)


def kept(spark: SparkSession, path: str, text: str) -> str:
    """What the file at `path` holds: `text`, if there was none until now. It is there as a whole or not at all."""
    system, place = _opened(spark, path)
    if not system.exists(place):
        partial = _jvm(spark).org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}-{uuid4().hex}")
        _written(system.create(partial), text)
        # Another process may just have made it, and has then decided.
        system.rename(partial, place)
    return _read(system.open(place))


def text(spark: SparkSession, path: str) -> str | None:
    """What the file at `path` holds, None if it is not there."""
    system, place = _opened(spark, path)
    return _read(system.open(place)) if system.exists(place) else None


def _written(stream: Any, text: str) -> None:
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
    """Delete files; those that are not there are none less."""
    for path in paths:
        system, place = _opened(spark, path)
        system.delete(place, False)


def remove(spark: SparkSession, folder: str) -> None:
    """Remove a folder with all that is in it, if it is there."""
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
