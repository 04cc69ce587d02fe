"""A job ends with the process that started it, whatever ended that process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from spark_jobs.runtime.caller import CALLER, end_with_caller, mark
from tests.airflow.waiting import until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux can wait for such a process")

_ROOT = Path(__file__).parents[2]
#: It starts a process, as Spark starts Python's workers, and writes the numbers of both.
_JOB = """
import json, os, pathlib, subprocess, sys, threading
from spark_jobs.runtime.caller import end_with_caller
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
end_with_caller(os.environ)
path = pathlib.Path(sys.argv[1])
path.with_suffix(".new").write_text(json.dumps([[os.getpid(), child.pid], [t.name for t in threading.enumerate()]]))
path.with_suffix(".new").rename(path)
threading.Event().wait()
"""
_CALLER = """
import os, subprocess, sys
from spark_jobs.runtime.caller import mark
job, path, is_apart = sys.argv[1:]
subprocess.run([sys.executable, "-c", job, path], env={**os.environ, **mark()}, start_new_session=is_apart == "apart")
"""


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@dataclass(frozen=True)
class Started:
    """A caller, its job with the process that the job has started, and the names of the job's threads."""

    caller: subprocess.Popen[bytes]
    job: list[psutil.Process]
    threads: list[str]

    def kill_caller(self) -> None:
        self.caller.kill()
        self.caller.wait()


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Callable[[str], Started]]:
    processes: list[psutil.Process] = []

    def start(place: str) -> Started:
        path = tmp_path / "job.json"
        caller = subprocess.Popen([sys.executable, "-c", _CALLER, _JOB, str(path), place], cwd=_ROOT)
        until(path.exists)
        pids, threads = json.loads(path.read_text(encoding="utf-8"))
        job = [psutil.Process(pid) for pid in pids]
        processes.extend([psutil.Process(caller.pid), *job])
        return Started(caller, job, threads)

    yield start
    for process in filter(_runs, processes):
        process.kill()


def test_a_job_ends_with_all_that_it_started_when_its_caller_is_killed(start: Callable[[str], Started]) -> None:
    started = start("apart")
    assert all(map(_runs, started.job))
    started.kill_caller()
    until(lambda: not any(map(_runs, started.job)))


def test_a_job_in_the_group_of_its_caller_is_left_alone(start: Callable[[str], Started]) -> None:
    started = start("beside")
    started.kill_caller()
    assert all(map(_runs, started.job))
    assert started.threads == ["MainThread"]


def _ended_by(variables: dict[str, str]) -> int:
    program = "import json, os, sys; from spark_jobs.runtime.caller import end_with_caller; end_with_caller(os.environ)"
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **variables}, cwd=_ROOT, check=False, start_new_session=True
    ).returncode


def test_a_job_whose_caller_has_ended_before_it_began_ends_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert _ended_by({CALLER: f"{ended.pid} 1"}) == -9
    # Another process has the number now.
    assert _ended_by({CALLER: f"{os.getpid()} 1"}) == -9
    assert _ended_by(mark()) == 0


def test_a_caller_that_ends_while_its_group_is_read_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: int) -> int:
        raise ProcessLookupError

    ends: list[int] = []
    monkeypatch.setattr(os, "getpgid", ended)
    monkeypatch.setattr(os, "killpg", lambda group, _: ends.append(group))
    end_with_caller(mark())
    assert ends == [os.getpgrp()]


@pytest.mark.parametrize("variables", [{}, {CALLER: ""}, {CALLER: "init"}])
def test_a_job_that_nobody_started_goes_on(variables: dict[str, str]) -> None:
    end_with_caller(variables)
