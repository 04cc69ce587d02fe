"""The caller of a job: the process that started it beside itself. A job does not outlive its caller.

A task of Airflow ends its Spark when it is cleared or cancelled. A task that is killed by SIGKILL cannot. Then the job
itself ends its process group: Java, the driver, and Python's workers.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

CALLER = "TIDEMARK_CALLER"


def mark() -> dict[str, str]:
    """Return the variable that names this process to the jobs that it starts."""
    pid = os.getpid()
    return {CALLER: f"{pid} {_started(pid)}"}


def end_with_caller(variables: Mapping[str, str]) -> None:
    """End the process group of this job as soon as its caller ends, or at once if the caller has ended.

    Does nothing without a caller in `variables`, or if both are in one group. Only Linux lets a process wait for
    another process that is not its child.
    """
    pid, _, started = variables.get(CALLER, "").partition(" ")
    if not pid.isdecimal() or not hasattr(os, "pidfd_open"):
        return
    try:
        watched = os.pidfd_open(int(pid))
        group = os.getpgid(int(pid))
    except ProcessLookupError:
        _end()
        return
    except OSError:  # a system whose kernel refuses it
        return
    # The number of a process that has ended may name another process.
    if _started(int(pid)) != started:
        _end()
    elif group != os.getpgrp():
        threading.Thread(target=_end_after, args=(watched,), name="caller", daemon=True).start()


def _end_after(watched: int) -> None:
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.poll()
    _end()


def _end() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the machine did; empty if the system does not show it."""
    with suppress(OSError):
        # The name of the program, in brackets, may contain spaces.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    return ""
