"""Locks of windows: two processes never work on the same windows of a pipeline at once.

    <lake>/<pipeline>/_work/holds/<run>     the holder and its windows; the holder's process locks the file

The operating system releases a lock when its process ends, for any reason. A file that no process locks is stale and is
replaced. Locks work on one machine. A remote lake has no locks: publishing still keeps two runs from
mixing (`jobs.publish.publish`), but both compute their results.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from spark_jobs.error_codes import ErrorCode
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import WORK, Lake

_POLL_S = 0.2


class LockedError(RuntimeError):
    """Another process works on some of the requested windows."""

    code = ErrorCode.WINDOWS_LOCKED


@dataclass(frozen=True)
class Holder:
    """The process that works on some windows, and since when."""

    run_id: str
    interval: Interval
    host: str
    pid: int
    since: datetime

    def __str__(self) -> str:
        return f"run {self.run_id} (process {self.pid} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


@contextmanager
def acquire(lake: Lake, run_id: str, interval: Interval, *, wait_s: float = 0) -> Iterator[bool]:
    """Lock the windows of `interval` for the length of a `with` block. The value is true if it had to wait.

    Waits up to `wait_s` seconds while another process has locked some of the windows. Then raises LockedError, which
    names this process.
    """
    folder = _folder(lake)
    if folder is None:
        yield False
        return
    folder.mkdir(parents=True, exist_ok=True)
    path, deadline, waited = folder / run_id, time.monotonic() + wait_s, False
    while True:
        holder = Holder(run_id, interval, socket.gethostname(), os.getpid(), datetime.now(UTC))
        lock = _lock_or_conflict(folder, path, holder)
        if not isinstance(lock, Holder):
            break
        if time.monotonic() >= deadline:
            raise LockedError(
                f"cannot work on the windows {_span(interval)}: found {lock} "
                f"at work on the windows {_span(lock.interval)}. Let it end, or give --wait"
            )
        waited = True
        time.sleep(_POLL_S)
    try:
        yield waited
    finally:
        path.unlink(missing_ok=True)
        lock.close()


def _lock_or_conflict(folder: Path, path: Path, holder: Holder) -> Holder | IO[str]:
    """Return the locked file for a new holder, or the holder of overlapping windows."""
    with _registry(folder):
        for other in _live_holders(folder):
            if other.interval.overlaps(holder.interval):
                return other
        file = path.open("w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(_as_json(holder), file)
        file.flush()
        return file


@contextmanager
def _registry(folder: Path) -> Iterator[None]:
    """Let one process at a time read and change the lock files."""
    with (folder / ".registry").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _live_holders(folder: Path) -> list[Holder]:
    """Return the holders whose processes live, and delete the files of other processes."""
    holders = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        try:
            with path.open("r", encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    holders.append(_holder(json.load(file)))
                else:
                    path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # The process has just ended.
    return holders


def _as_json(holder: Holder) -> dict[str, object]:
    edges = (holder.interval.start, holder.interval.end)
    start, end = (None if edge is None else edge.isoformat() for edge in edges)
    return {
        "run_id": holder.run_id,
        "from": start,
        "to": end,
        "host": holder.host,
        "pid": holder.pid,
        "since": holder.since.isoformat(),
    }


def _holder(entry: dict[str, str]) -> Holder:
    start, end = (None if entry[edge] is None else datetime.fromisoformat(entry[edge]) for edge in ("from", "to"))
    since = datetime.fromisoformat(entry["since"])
    return Holder(entry["run_id"], Interval(start, end), entry["host"], int(entry["pid"]), since)


def _folder(lake: Lake) -> Path | None:
    return None if lake.folder is None else lake.folder / WORK / "holds"


def _span(interval: Interval) -> str:
    if interval.whole:
        return "of all time"
    start, end = (None if edge is None else f"{edge:%Y-%m-%d %H:%M}" for edge in (interval.start, interval.end))
    return f"from {start or 'the first'} to {end or 'the last'}"
