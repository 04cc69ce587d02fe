"""A process of the benchmark, looked at from outside: its seconds, its exit code, and the most memory that it held."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_LOOK_S = 0.1


class TaskFailedError(RuntimeError):
    """A part of the benchmark that did not end well; the message has the end of its output."""


@dataclass(frozen=True)
class Ended:
    """How a process ended. `peak_memory_bytes` is None where the system does not report memory.

    The peak is that of the process and of each process below it, added up. Each has its peak at another time, so all
    together never held more than the sum.
    """

    exit_code: int
    seconds: float
    peak_memory_bytes: int | None


def run(command: Sequence[str], *, folder: Path, environ: Mapping[str, str], output: Path, errors: Path) -> Ended:
    """Run a command in `folder` to its end, with its two streams in files."""
    began = monotonic()
    peaks: dict[int, int] = {}
    with output.open("wb") as out, errors.open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=dict(environ), stdout=out, stderr=log)
        with process:
            while (exit_code := _ended(process)) is None:
                for pid in _family(process.pid):
                    peaks[pid] = max(peaks.get(pid, 0), _peak_bytes(pid))
    return Ended(exit_code, monotonic() - began, sum(peaks.values()) or None)


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def _family(pid: int) -> list[int]:
    """The process and all below it."""
    children: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, path.read_text(encoding="utf-8").split())
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
    return [pid, *(descendant for child in children for descendant in _family(child))]


def _peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return 0
    # A process that has ended and not been waited for has no memory any more.
    kib = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kib[0]) * 1024 if kib else 0
