"""The process that holds a lease, and whether it has ended. Another machine cannot know the latter."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_PROC, _BOOT = Path("/proc"), Path("/proc/sys/kernel/random/boot_id")
_ZOMBIE = "Z"


@dataclass(frozen=True)
class Owner:
    """A process: its host, its machine since that was started, its number on it, and when the process started.

    `started` counts ticks since the machine was started: numbers of processes are used again, and clocks are set. It
    is 0 on a system without `/proc`.
    """

    host: str
    machine: str
    pid: int
    started: int

    @classmethod
    def this(cls) -> Owner:
        """Return this process."""
        pid = os.getpid()
        started, _ = _state(pid) or (0, "")
        return cls(socket.gethostname(), _machine(), pid, started)

    @property
    def has_ended(self) -> bool:
        """Return whether the process is of this machine and has ended."""
        if self.machine != _machine():
            return False
        if not _PROC.is_dir():
            return not _exists(self.pid)
        now = _state(self.pid)
        return now is None or now[0] != self.started or now[1] == _ZOMBIE


def _state(pid: int) -> tuple[int, str] | None:
    """Return when a process started, in ticks, and its state; None if there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program is in brackets, and may have any character.
    fields = text.rpartition(")")[2].split()
    return int(fields[19]), fields[0]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@lru_cache(maxsize=1)
def _machine() -> str:
    """Return what identifies this machine since its start, and in it the space of process numbers."""
    space = _PROC / "self" / "ns" / "pid"
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
    return f"{socket.gethostname()} {boot} {space.stat().st_ino if space.exists() else 0}"
