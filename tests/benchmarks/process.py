"""A process of the benchmark, looked at from outside: its seconds, and the most memory that it held."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_ROOT = Path(__file__).parents[2]
_LOOK_S = 0.1
# A process that lasts at least so long has a program and memory of itself, also on a busy machine.
_LASTING_S = 0.5
_TAIL_LINES = 20


class TaskFailedError(RuntimeError):
    """A part of the benchmark that did not end well; the message has the end of its output."""


@dataclass(frozen=True)
class Ended:
    """How a process ended. `peak_memory_bytes` is None where the system does not report memory.

    The peak is that of the process and of each process below it, added up. Each has its peak at another time, so all
    together never held more than the sum. Short processes are left out. Until a child of Java starts its program, such
    as `chmod`, it shares Java's memory, which would count twice.
    """

    seconds: float
    peak_memory_bytes: int | None


def run(
    title: str, command: Sequence[str], *, output: Path, log: Path, environ: Mapping[str, str] | None = None
) -> Ended:
    """Run a command at the root of the project to its end. Its output goes to one file, its errors to the file `log`.

    Raises TaskFailedError with the end of `log` if the exit code is not 0.
    """
    began = monotonic()
    peaks, first_looks, last_looks = dict[int, int](), dict[int, float](), dict[int, float]()
    with output.open("wb") as out, log.open("wb") as errors:
        process = subprocess.Popen(command, cwd=_ROOT, env=dict(environ or os.environ), stdout=out, stderr=errors)
        with process:
            while (exit_code := _ended(process)) is None:
                for pid in _family(process.pid):
                    last_looks[pid] = monotonic()
                    first_looks.setdefault(pid, last_looks[pid])
                    peaks[pid] = max(peaks.get(pid, 0), _peak_bytes(pid))
    if exit_code:
        tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-_TAIL_LINES:])
        raise TaskFailedError(f"{title} ended with exit code {exit_code}; the end of {log}:\n{tail}")
    lasting = sum(peak for pid, peak in peaks.items() if last_looks[pid] - first_looks[pid] >= _LASTING_S)
    return Ended(monotonic() - began, lasting or None)


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def _family(pid: int) -> list[int]:
    """The process and all below it."""
    children: list[int] = []
    for path in _threads(pid):
        try:
            children += map(int, (path / "children").read_text(encoding="utf-8").split())
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
    return [pid, *(descendant for child in children for descendant in _family(child))]


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return []


def _peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return 0
    # A process that has ended and not been waited for has no memory any more.
    kib = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kib[0]) * 1024 if kib else 0
