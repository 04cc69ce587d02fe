"""The processes of an embedded Airflow: those that carry its mark, the folder of the Airflow, in their environment.

Children inherit the mark. So a process that left the process group, lost its parent, or is Spark's is found too. A
process of another user cannot be read, and does not belong to the Airflow.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from tidemark_airflow.embedded.installation import MARK, PORT

#: Which part of Airflow a process belongs to, in its environment.
PART = "TIDEMARK_AIRFLOW_PART"
#: The part of the demo, which runs a DAG without Airflow's own parts.
DEMO = "demo"
#: Tasks report their end to this part, so it is ended after all others.
LAST = "api-server"

ENDS_WITHIN_S = 5.0
DIES_WITHIN_S = 10.0


def carrying(home: Path) -> list[psutil.Process]:
    """Return all live processes of the Airflow in `home`, but not this one."""
    own = psutil.Process().pid
    return [p for p in psutil.process_iter() if p.pid != own and _variable(p, MARK) == str(home)]


def of_demo(running: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return those of the processes that belong to a demo."""
    return [process for process in running if _variable(process, PART) == DEMO]


def port_of(processes: Sequence[psutil.Process]) -> int | None:
    """Return the port that these processes serve."""
    ports = (_variable(process, PORT) for process in processes)
    return next((int(port) for port in ports if port), None)


def end(home: Path, patience_s: float = ENDS_WITHIN_S) -> list[psutil.Process]:
    """Terminate all processes of the Airflow in `home`, then kill them; returns those that are left."""
    _end(lambda: [process for process in carrying(home) if _variable(process, PART) != LAST], patience_s)
    return _end(lambda: carrying(home), patience_s)


def _end(find: Callable[[], list[psutil.Process]], patience_s: float) -> list[psutil.Process]:
    running = find()
    for process in running:
        # The leader of a group ends the others in it: an executor waits for its workers, and for a lock that one of
        # them has died with.
        if _leads(process):
            _send(process.terminate)
    psutil.wait_procs(running, timeout=patience_s)
    deadline = time.monotonic() + DIES_WITHIN_S
    # A process that was killed while it started another leaves the other one: look again until none is left.
    while (left := find()) and time.monotonic() < deadline:
        for process in left:
            _send(process.kill)
        psutil.wait_procs(left, timeout=1)
    return left


def _leads(process: psutil.Process) -> bool:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(process.pid) == process.pid
    return False


def _send(signal: Callable[[], None]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        signal()


def _variable(process: psutil.Process, name: str) -> str | None:
    try:
        variables: dict[str, str] = {} if process.status() == psutil.STATUS_ZOMBIE else process.environ()
    except (psutil.Error, OSError):
        return None
    return variables.get(name)
