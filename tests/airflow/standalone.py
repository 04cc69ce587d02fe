"""A Spark standalone cluster for tests: a master and workers on the loopback, as processes of this one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from spark_jobs.runtime import process_environment
from tests.airflow.clone import free_port
from tests.airflow.waiting import until

_HOST = "127.0.0.1"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DRIVER = "org.apache.spark.deploy.worker.DriverWrapper"


@dataclass(frozen=True)
class Standalone:
    """A cluster that is up. A driver has an executor of one core on each worker."""

    port: int
    page: int
    rest: int
    workers: list[psutil.Process]

    @property
    def master(self) -> str:
        """Return the address of the master."""
        return f"spark://{_HOST}:{self.port}"

    def connection(self, deploy_mode: str = "client") -> str:
        """Return Airflow's connection to it."""
        extra = {"deploy-mode": deploy_mode, "rest-port": self.rest}
        return json.dumps({"conn_type": "spark", "host": f"spark://{_HOST}", "port": self.port, "extra": extra})

    def state(self) -> dict[str, Any]:
        """Return the master's state of its workers and applications."""
        state: dict[str, Any] = httpx.get(f"http://{_HOST}:{self.page}/json/", trust_env=False).json()
        return state

    def executors(self) -> list[psutil.Process]:
        """The executors of all drivers."""
        return self._running(_EXECUTOR)

    def drivers(self) -> list[psutil.Process]:
        """Return the drivers that run on workers."""
        return self._running(_DRIVER)

    def lose_driver(self) -> None:
        """Kill a driver and its Python."""
        (driver,) = self.drivers()
        _kill(driver)

    def lose_executor(self) -> None:
        """Kill an executor; its worker starts another."""
        self.executors()[0].kill()

    def lose_worker(self) -> None:
        """Kill a worker with its executors, as when a machine is lost; there is no other to take its place."""
        _kill(self.workers.pop())

    def _running(self, main_class: str) -> list[psutil.Process]:
        return [process for worker in self.workers for process in _below(worker) if _runs(process, main_class)]


@contextmanager
def standalone(folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Standalone]:
    """Start a cluster whose logs and scratch files are below `folder`; no process of it is left at the end.

    `cores` and `memory` are those of each worker.
    """
    folder.mkdir()
    port, page, rest = free_port(), free_port(), free_port()
    environment = {
        **process_environment(os.environ),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": f"-Dspark.master.rest.port={rest} -Dspark.master.rest.host={_HOST}",
    }
    started: list[psutil.Process] = []

    def start(name: str, kind: str, *options: str) -> psutil.Process:
        with (folder / f"{name}.log").open("wb") as log:
            command = ["spark-class", f"org.apache.spark.deploy.{kind}", "--host", _HOST, *options]
            started.append(psutil.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder))
        return started[-1]

    try:
        start("master", "master.Master", "--port", str(port), "--webui-port", str(page))
        cluster = Standalone(port, page, rest, [])
        until(lambda: _is_up(cluster), every_s=0.2)
        size = ("--cores", str(cores), "--memory", memory, "--webui-port", "0")
        for number in range(workers):
            options = (*size, "--work-dir", str(folder / f"{number}"))
            cluster.workers.append(start(f"worker-{number}", "worker.Worker", *options, cluster.master))
        until(lambda: cluster.state()["aliveworkers"] == workers, every_s=0.2)
        yield cluster
    finally:
        everything = [process for daemon in started for process in (daemon, *_below(daemon))]
        for process in everything:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, left = psutil.wait_procs(everything, timeout=30)
    assert not left


def _is_up(cluster: Standalone) -> bool:
    with suppress(httpx.TransportError):
        return bool(cluster.state()["status"] == "ALIVE")
    return False


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return list(process.children(recursive=True))
    return []


def _runs(process: psutil.Process, main_class: str) -> bool:
    with suppress(psutil.Error):
        return main_class in process.cmdline()
    return False


def _kill(process: psutil.Process) -> None:
    for each in [process, *_below(process)]:
        with suppress(psutil.NoSuchProcess):
            each.kill()
