"""A hold keeps two processes from working on the same windows of a pipeline at once.

    <lake>/<pipeline>/_work/holds/<run>     who works on what; locked by its process as long as that lives

The system lets a lock go when its process ends, however that ends, so a file that nobody locks is held by nobody and is
taken over. Locks are those of one machine. In a lake that is no folder of it nobody is held up: there, too, publishing
lets no two runs mix (`jobs.publish.publish`), but both do the work.
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

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import WORK, Lake

_POLL_S = 0.2


class HeldError(RuntimeError):
    """Another process works on windows that were asked for."""


@dataclass(frozen=True)
class Holder:
    """Who works on which windows, since when."""

    run_id: str
    interval: Interval
    host: str
    pid: int
    since: datetime

    def __str__(self) -> str:
        return f"run {self.run_id} (process {self.pid} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


@contextmanager
def hold(lake: Lake, run_id: str, interval: Interval, *, wait_s: float = 0) -> Iterator[bool]:
    """Hold the windows of `interval`, for the length of a `with`; gives whether it had to wait.

    Another process holds some of them: waits for it for up to `wait_s` seconds, then raises HeldError, which names it.
    """
    folder = _folder(lake)
    if folder is None:
        yield False
        return
    folder.mkdir(parents=True, exist_ok=True)
    mine, end, waited = folder / run_id, time.monotonic() + wait_s, False
    while True:
        taken = _taken(folder, mine, Holder(run_id, interval, socket.gethostname(), os.getpid(), datetime.now(UTC)))
        if not isinstance(taken, Holder):
            break
        if time.monotonic() >= end:
            raise HeldError(
                f"asked to work on the windows {_span(interval)}, found {taken} "
                f"at work on those {_span(taken.interval)}: let it end, or give --wait"
            )
        waited = True
        time.sleep(_POLL_S)
    try:
        yield waited
    finally:
        mine.unlink(missing_ok=True)
        taken.close()


def holders(lake: Lake) -> list[Holder]:
    """Who is at work on the pipeline."""
    folder = _folder(lake)
    if folder is None or not folder.is_dir():
        return []
    with _registry(folder):
        return _living(folder)


def _taken(folder: Path, mine: Path, wanted: Holder) -> Holder | IO[str]:
    """Give the locked file of a new hold, or who is in its way."""
    with _registry(folder):
        for other in _living(folder):
            if other.interval.overlaps(wanted.interval):
                return other
        file = mine.open("w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(_told(wanted), file)
        file.flush()
        return file


@contextmanager
def _registry(folder: Path) -> Iterator[None]:
    """One process at a time looks at the holds and changes them."""
    with (folder / ".registry").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _living(folder: Path) -> list[Holder]:
    """The holds of processes that live; those of dead ones are removed."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        try:
            with path.open("r", encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    found.append(_holder(json.load(file)))
                else:
                    path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # its process has just ended
    return found


def _told(holder: Holder) -> dict[str, object]:
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


def _holder(told: dict[str, str]) -> Holder:
    start, end = (None if told[edge] is None else datetime.fromisoformat(told[edge]) for edge in ("from", "to"))
    since = datetime.fromisoformat(told["since"])
    return Holder(told["run_id"], Interval(start, end), told["host"], int(told["pid"]), since)


def _folder(lake: Lake) -> Path | None:
    return None if lake.folder is None else lake.folder / WORK / "holds"


def _span(interval: Interval) -> str:
    if interval.whole:
        return "of all time"
    start, end = (None if edge is None else f"{edge:%Y-%m-%d %H:%M}" for edge in (interval.start, interval.end))
    return f"from {start or 'the first'} to {end or 'the last'}"
