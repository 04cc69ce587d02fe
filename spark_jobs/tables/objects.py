"""The small files of a lake as objects: in a local folder, or in an object store such as S3.

Laws:

- an object appears complete or not at all, and a reader sees the earlier or the new content;
- of several processes that create an object of one name, exactly one succeeds;
- no rename, no appending: an object store has neither.

Data files of tables are not read or written here: Spark does that. The address and the key of a store come from its
variables, such as `AWS_ENDPOINT_URL` and `AWS_ACCESS_KEY_ID`, as for the tables that delta-rs reads.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from io import SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from spark_jobs.error_codes import ErrorCode
from spark_jobs.tables.errors import LakeError

if TYPE_CHECKING:
    from obstore import ReadableFile
    from obstore.store import ObjectStore


# A store is tried out so many times, each time by so many writers at once.
_PROBES, _WRITERS = 4, 4
# The footer of a small Parquet file fits into such a part.
_PART_BYTES = 64 * 1024
# The variables of Amazon's, Google's and Microsoft's stores.
_SETTINGS = ("AWS_", "GOOGLE_", "AZURE_")


@dataclass(frozen=True)
class Object:
    """An object: its name below the folder that was listed, its size in bytes, and when the store got it (UTC).

    `e_tag` differs if an object was written again.
    """

    name: str
    size: int
    modified: datetime
    e_tag: str


@dataclass(frozen=True)
class Patience:
    """How long a request may take, and how often and how long a failed request is repeated."""

    request: timedelta
    retries: int
    retry_for: timedelta


#: A run waits for a store that is busy or restarts.
PATIENT = Patience(timedelta(seconds=30), 10, timedelta(minutes=3))
#: A page is not held for minutes by a store that does not answer.
HASTY = Patience(timedelta(seconds=5), 1, timedelta(seconds=5))


@dataclass(frozen=True)
class Objects:
    """The objects below a folder: a path of this machine, or a URI such as `s3a://bucket/lake/clicks`.

    Every name is relative to the folder, with `/` between its parts. Folders come and go with their objects. Every
    method raises LakeError for a store that does not answer or refuses, and for a disk that is full.
    """

    home: str
    patience: Patience = PATIENT
    # Known from the beginning: a cached property holds a lock, also while Ctrl-C interrupts it, and the answer reads
    # objects in another thread.
    _store: ObjectStore = field(init=False, repr=False, compare=False)
    _prefix: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", self.home.rstrip("/"))
        path = _path(self.home)
        object.__setattr__(self, "_prefix", f"{path}/" if path else "")
        with self._explained("opened"):
            store = _opened(_root(self.home), self.patience, _settings(os.environ))
        object.__setattr__(self, "_store", store)

    def open(self, name: str) -> BinaryIO:
        """Return an object as a file of bytes, whose parts are read when needed; it must exist."""
        import obstore

        with self._explained("read", name):
            return BufferedReader(_Raw(obstore.open_reader(self._store, self._prefix + name)), _PART_BYTES)

    def read(self, name: str) -> bytes | None:
        """Return the content of an object; None if it does not exist."""
        import obstore

        with self._explained("read", name):
            try:
                return bytes(obstore.get(self._store, self._prefix + name).bytes())
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write an object, in place of an earlier one."""
        import obstore

        with self._explained("written", name):
            obstore.put(self._store, self._prefix + name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless it exists; returns whether this call has written it.

        The content must be that of no other writer. A request whose answer was lost is repeated, and then finds the
        object of its first attempt, which only the content identifies.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._explained("created", name):
            try:
                obstore.put(self._store, self._prefix + name, content, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return self.read(name) == content
            return True

    def require_conditional_writes(self) -> None:
        """Raise LakeError for a store that writes an object again where it should only create it.

        In such a store two runs could overwrite each other's commits. A process tries that once for a store.
        """
        if not _is_local(self.home):
            _try_conditional_writes(self)

    def copy(self, folder: str, target: str) -> None:
        """Copy all objects below a folder into another folder; a store copies them itself."""
        import obstore

        for entry in self.below(folder):
            name = f"{folder}/{entry.name}"
            with self._explained("copied", name):
                obstore.copy(self._store, self._prefix + name, f"{self._prefix}{target}/{entry.name}")

    def find(self, name: str) -> Object | None:
        """Return an object without its content; None if it does not exist."""
        import obstore

        with self._explained("read", name):
            try:
                return _entry(obstore.head(self._store, self._prefix + name), self._prefix)
            except FileNotFoundError:
                return None

    def below(self, folder: str = "") -> list[Object]:
        """Return all objects below a folder, at any depth, sorted by name; each name is relative to this folder."""
        import obstore

        prefix = f"{self._prefix}{folder}/" if folder else self._prefix
        with self._explained("listed", folder):
            pages = obstore.list(self._store, prefix or None)
            entries = [_entry(meta, prefix) for page in pages for meta in page]
        return sorted(entries, key=lambda entry: entry.name)

    def has_any(self, folder: str) -> bool:
        """Return whether there is any object below a folder."""
        import obstore

        with self._explained("listed", folder):
            return any(obstore.list(self._store, f"{self._prefix}{folder}/", chunk_size=1))

    def remove(self, folder: str, guarded: Callable[[Iterable[str]], Iterable[str]] = iter) -> None:
        """Delete all objects below a folder, those of a table's log first, the newest commit first.

        So at any time the rest of a staged table is a table whose files exist. `guarded` yields the names, and ends the
        work by an error.
        """
        names = [f"{folder}/{entry.name}" for entry in reversed(self.below(folder))]
        self.delete(guarded(sorted(names, key=lambda name: "_delta_log" not in name.split("/"))))
        if _is_local(self.home):
            # Spark leaves folders without a file.
            shutil.rmtree(f"/{self._prefix}{folder}", ignore_errors=True)

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects. An object that does not exist is ignored."""
        import obstore

        for name in names:
            with self._explained("deleted", name), suppress(FileNotFoundError):
                obstore.delete(self._store, self._prefix + name)

    @contextmanager
    def _explained(self, verb: str, name: str = "") -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as problem:
            path = f"{self.home}/{name}".rstrip("/")
            raise LakeError(f"{path} cannot be {verb}: {_first_line(problem)}") from problem


class _Raw(RawIOBase):
    """An object as a raw file of Python."""

    def __init__(self, content: ReadableFile) -> None:
        self._content = content

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        return self._content.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        part = bytes(self._content.read(len(buffer)))
        buffer[: len(part)] = part
        return len(part)


def _entry(meta: Any, prefix: str) -> Object:
    return Object(str(meta["path"]).removeprefix(prefix), int(meta["size"]), meta["last_modified"], str(meta["e_tag"]))


def _first_line(problem: BaseException) -> str:
    """Return the cause; obstore adds the structure of its source, over many lines."""
    return str(problem).partition("\n")[0].strip() or type(problem).__name__


def storage_options(path: str, patience: Patience = PATIENT) -> dict[str, str] | None:
    """Return the options by which delta-rs reads and writes a table in an object store; None for a folder."""
    if _is_local(path):
        return None
    seconds = f"{patience.request.total_seconds():.0f}s"
    return {
        "timeout": seconds,
        "connect_timeout": seconds,
        "max_retries": str(patience.retries),
        "retry_timeout": f"{patience.retry_for.total_seconds():.0f}s",
        "allow_http": "true",
    }


@lru_cache(maxsize=64)
def _try_conditional_writes(objects: Objects) -> None:
    if not all(_creates_one(objects) for _ in range(_PROBES)):
        raise LakeError(
            f"{objects.home}: found a store that ignores the condition of a write (If-None-Match), or that checks it "
            "before it writes, so two runs could overwrite each other's commits. Put the lake into a store with "
            "conditional writes (Versity from 1.8.0), or into a folder",
            code=ErrorCode.STORE_UNCONDITIONAL,
        )


def _creates_one(objects: Objects) -> bool:
    """Return whether one of several writers creates an object that all of them want to create at once, and stays it.

    A store that looks for the object and then writes it lets several of them succeed.
    """
    name = f"_work/probe-{uuid4().hex}"
    start = Barrier(_WRITERS)

    def create(writer: int) -> bool:
        start.wait()
        return objects.create(name, f"by {writer}".encode())

    try:
        with ThreadPoolExecutor(_WRITERS) as pool:
            won = [*pool.map(create, range(_WRITERS))]
        return sum(won) == 1 and objects.read(name) == f"by {won.index(True)}".encode()
    finally:
        objects.delete([name])


def _is_local(home: str) -> bool:
    return urlsplit(home).scheme in ("", "file")


def _path(home: str) -> str:
    """Return the path of a folder in its store."""
    if _is_local(home):
        folder = Path(unquote(urlsplit(home).path) if "://" in home else home)
        return str(folder.absolute()).strip("/")
    # As in a path of Hadoop, no character is escaped.
    return home.removeprefix(_root(home)).strip("/")


def _root(home: str) -> str:
    """Return the address of the store that a folder is in: scheme and bucket; empty for this machine."""
    if _is_local(home):
        return ""
    scheme, _, rest = home.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _settings(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables that a store is opened with."""
    return tuple(sorted((name, value) for name, value in environ.items() if name.startswith(_SETTINGS)))


@lru_cache(maxsize=64)
def _opened(root: str, patience: Patience, settings: tuple[tuple[str, str], ...]) -> ObjectStore:  # noqa: ARG001
    """Return a store, which reads its settings. A process opens it once: it has connections."""
    from obstore.store import LocalStore, from_url

    if not root:
        return LocalStore(automatic_cleanup=True)
    scheme, _, bucket = root.partition("://")
    # Hadoop's names of the S3 file system.
    address = f"s3://{bucket}" if scheme in ("s3a", "s3n") else root
    store: ObjectStore = from_url(
        address,
        client_options={"timeout": patience.request, "allow_http": True},
        retry_config={"max_retries": patience.retries, "retry_timeout": patience.retry_for},
    )
    return store
