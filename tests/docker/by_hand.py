"""The services of compose.yaml as processes, where there is no engine: `unshare ... -m tests.docker.by_hand FOLDER`.

Their settings are those of compose.yaml and of the image, word for word. What an engine would do is done by hand: each
name of a service is an address of the loopback, in a private network that leads nowhere else; each folder of a
container is bound to one below FOLDER, in a private file system; a service starts when its dependencies meet
its conditions. The image, and the state outside volumes, are read-only as in a container. PostgreSQL and Java are this
machine's, the object store is built from its source, and the environment is the one of the tests.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from spark_jobs.runtime import process_environment
from tests.airflow.postgres import program
from tests.airflow.waiting import until
from tests.airflow.whole import Whole
from tests.docker.installation import PROJECT, Compose, Service, image_environment
from tidemark_airflow.embedded.installation import Installation

#: The pipeline, whose source is in the object store too.
NAME = "readings"
TABLE = "s3a://tidemark/readings_source"
STARTS_WITHIN_S = 600.0
#: Also beside other tests on two cores.
STEPS_WITHIN_S = 2400.0

_IMAGE, _STATE = Path("/opt/tidemark"), Path("/var/lib/tidemark")
_DATABASE = Path("/var/lib/postgresql/data")
_SET_LINK_FLAGS, _LINK_IS_UP = 0x8914, 0x1
_ORDINARY = "postgres"


def main(folder: Path) -> None:
    """Start all services, let Airflow run the pipeline, and write what was seen to FOLDER/seen.json."""
    compose = Compose({})
    services = compose.in_order()
    _make_network(compose)
    _make_folders(folder, services)
    with _started(folder, services) as running:
        observations = _used(folder, running)
    (folder / "seen.json").write_text(json.dumps(observations), encoding="utf-8")


@dataclass
class Running:
    """A service, its variables, and its process when it has one."""

    service: Service
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """Start it, and do not wait until it is healthy."""
        user = {}
        command = self.service.command
        if self.service.name == "postgres":
            command, user = _postgres(self.service), {"user": _ORDINARY, "group": _ORDINARY}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(  # type: ignore[call-overload]
                command,
                env=self.environment,
                cwd=_STATE if self.service.is_ours else "/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **user,
            )

    def meets(self, condition: str) -> bool:
        """Whether it meets the condition of another service. Fails where it never will."""
        assert self.process is not None
        code = self.process.poll()
        if condition == "service_completed_successfully":
            assert code in (None, 0), self.log_end()
            return code == 0
        assert code is None, self.log_end()
        test = self.service.healthcheck
        assert test is not None
        quiet = subprocess.DEVNULL
        return subprocess.run(test, env=self.environment, stdout=quiet, stderr=quiet, check=False).returncode == 0

    def log_end(self) -> str:
        """Return the end of its log."""
        return f"{self.service.name}: {self.log.read_text(encoding='utf-8', errors='replace')[-4000:]}"


@contextmanager
def _started(folder: Path, services: list[Service]) -> Iterator[dict[str, Running]]:
    """Start the services, each when its dependencies meet its conditions; all are healthy in the end."""
    running: dict[str, Running] = {}
    try:
        for service in services:
            for name, condition in service.needs.items():
                if name in running:
                    _wait(running[name], condition)
            instance = running[service.name] = Running(service, _variables(service), folder / f"{service.name}.log")
            instance.start()
        for instance in running.values():
            if not instance.service.runs_once:
                _wait(instance, "service_healthy")
        yield running
    finally:
        for instance in reversed(running.values()):
            if instance.process is not None and instance.process.poll() is None:
                instance.process.terminate()


def _wait(instance: Running, condition: str) -> None:
    try:
        until(lambda: instance.meets(condition), STARTS_WITHIN_S, every_s=1)
    except AssertionError as problem:
        raise AssertionError(instance.log_end()) from problem


def _variables(service: Service) -> dict[str, str]:
    if not service.is_ours:
        return {"PATH": os.environ["PATH"], **service.environment}
    image = image_environment()
    ours = {
        # The environment that the tests run in was made for another folder, and with the machine's Java.
        "PYTHONPATH": f"{_IMAGE}:{_IMAGE / 'plugins'}",
        "JAVA_HOME": process_environment(os.environ)["JAVA_HOME"],
        "HOME": str(_STATE),
        "LANG": "C.UTF-8",
    }
    return {**image, **ours, **service.environment}


def _postgres(service: Service) -> list[str]:
    """Make the cluster and the database that the image would make; gives the command of the server."""
    environment, user = service.environment, {"user": _ORDINARY, "group": _ORDINARY}
    shutil.chown(_DATABASE, _ORDINARY, _ORDINARY)
    _DATABASE.chmod(0o700)

    def run(name: str, *arguments: str) -> None:
        subprocess.run([program(name), *arguments], cwd="/", check=True, stdout=subprocess.DEVNULL, **user)  # type: ignore[call-overload]

    secret = environment["POSTGRES_PASSWORD_FILE"]
    user_option = f"--username={environment['POSTGRES_USER']}"
    run(
        "initdb",
        "-D",
        str(_DATABASE),
        user_option,
        "--auth-host=scram-sha-256",
        "--auth-local=trust",
        f"--pwfile={secret}",
    )
    sockets = f"-c unix_socket_directories={_DATABASE}"
    run("pg_ctl", "start", "-D", str(_DATABASE), "--wait", "--silent", "--options", f"{sockets} -c listen_addresses=")
    run("createdb", f"--host={_DATABASE}", user_option, environment["POSTGRES_DB"])
    run("pg_ctl", "stop", "-D", str(_DATABASE), "--wait", "--silent")
    return [program("postgres"), "-D", str(_DATABASE), *sockets.split(" ", 1), "-c", "listen_addresses=*"]


def _make_network(compose: Compose) -> None:
    """Bring the loopback up, and let every name of compose.yaml be an address of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, _SET_LINK_FLAGS, struct.pack("16sh", b"lo", _LINK_IS_UP))
    lines = [f"127.0.0.1 localhost {socket.gethostname()}"]
    for number, service in enumerate(compose.services.values(), start=1):
        aliases = [alias for names in service.networks.values() for alias in names]
        lines.append(" ".join([f"127.0.1.{number}", service.name, *aliases]))
    hosts = Path("/run/hosts")
    _mount("-t", "tmpfs", "tmpfs", "/run")
    hosts.write_text("\n".join([*lines, ""]), encoding="utf-8")
    _mount("--bind", str(hosts), "/etc/hosts")


def _make_folders(folder: Path, services: list[Service]) -> None:
    """Lay out what the image has, the secrets and the volumes, each where its service looks for it."""
    for service in services:
        for secret, target in service.secrets.items():
            _placed(folder / "secrets" / secret, folder, target)
    _room(folder, Path("/opt"))
    _IMAGE.mkdir()
    _mount("--bind", str(folder / "image"), str(_IMAGE))
    _mount("-t", "tmpfs", "tmpfs", "/var/lib")
    for name in ("airflow", "scratch"):
        (folder / "volumes" / name).mkdir(parents=True)
    _STATE.mkdir()
    _mount("--bind", str(folder / "volumes"), str(_STATE))
    (_STATE / "airflow" / "airflow.cfg").touch()
    # By target: services share volumes, and a bind within one file system is no mount to Python.
    volumes: dict[str, Path] = {}
    for service in services:
        for path in service.tmpfs:
            Path(path).mkdir(parents=True, exist_ok=True)
        for target, source in service.volumes.items():
            # Pipelines are in the image's folder already.
            if not source.startswith("..") and target not in volumes:
                volume = volumes[target] = folder / f"volume-{source}"
                volume.mkdir(exist_ok=True)
                Path(target).mkdir(parents=True, exist_ok=True)
                _mount("--bind", str(volume), target)
    for read_only in (_IMAGE, _STATE):
        _mount("-o", "remount,bind,ro", str(read_only))


def _placed(secret: Path, folder: Path, target: str) -> None:
    """Put a secret where a service finds it: the image is laid out below `folder` and not yet bound."""
    place = Path(target)
    if place.is_relative_to(_IMAGE):
        place = folder / "image" / place.relative_to(_IMAGE)
    place.parent.mkdir(exist_ok=True)
    shutil.copy(secret, place)


def _room(folder: Path, parent: Path) -> None:
    """Lay a folder over `parent` that has all that is in it, and can be written to without a trace."""
    before = folder / "before"
    before.mkdir()
    _mount("--rbind", str(parent), str(before))
    _mount("-t", "tmpfs", "tmpfs", str(parent))
    for entry in before.iterdir():
        if entry.is_dir() and not entry.is_symlink() and entry.name != _IMAGE.name:
            (parent / entry.name).mkdir()
            _mount("--rbind", str(entry), str(parent / entry.name))


def _mount(*arguments: str) -> None:
    subprocess.run(["/usr/bin/mount", *arguments], check=True)


def _used(folder: Path, running: dict[str, Running]) -> dict[str, Any]:
    """Land the source by a separate driver, let Airflow run the pipeline, compare, and look around."""
    driver = {**running["scheduler"].environment, "PYTHONPATH": f"{_IMAGE}:{_IMAGE / 'plugins'}:{PROJECT}"}
    master = running["spark-worker-1"].service.command[-1]

    def drive(step: str) -> str:
        process = subprocess.run(
            [str(_IMAGE / "docker/with-keys"), sys.executable, "-m", "tests.docker.driver", step, TABLE],
            env={**driver, "TIDEMARK_SPARK_MASTER": master},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=(folder / f"driver-{step}.log").open("wb"),
            text=True,
            check=True,
        )
        return process.stdout

    drive("land")
    airflow = Whole(Installation(_IMAGE, Path("/run/tidemark"), 8080))
    dag = f"tidemark_{NAME}"
    until(lambda: airflow.knows(dag), 120, every_s=0.5)
    answer = airflow.trigger(dag)
    answer.raise_for_status()
    run = answer.json()["dag_run_id"]
    state = airflow.ended(dag, run, within_s=STEPS_WITHIN_S)
    tasks = airflow.tasks(dag, run)
    assert state == "success", [
        airflow.log(dag, run, task) for task, task_state in tasks.items() if task_state == "failed"
    ]
    run_id = airflow.xcom(dag, run, "plan")["run_id"]
    words = set(re.findall(r"[\w-]{32,}={,2}", " ".join(path.read_text() for path in (folder / "secrets").iterdir())))
    with airflow.client() as client:
        report = client.get(f"/tidemark/reports/{dag}/{run_id}")
    with airflow.client(user=None) as client:
        without_login = client.get(f"/api/v2/dags/{dag}").status_code
    logs = [path for path in [*folder.glob("*.log"), *(_STATE / "logs").rglob("*")] if path.is_file()]
    return {
        "started": list(running),
        "tasks": tasks,
        "tables_in_store": [path.name for path in (_STATE / f"objects/tidemark/lake/{NAME}").iterdir()],
        "compared": drive("compare").strip(),
        "report": [report.status_code, len(report.content)],
        "without_login": without_login,
        "workers": {
            worker["id"]: httpx.get(f"{worker['webuiaddress']}/json/", trust_env=False).json()
            for worker in httpx.get("http://127.0.0.1:8081/json/", trust_env=False).json()["workers"]
        },
        "commands_with_secrets": [
            command.split()[0] for command in _commands() if any(word in command for word in words)
        ],
        "logs_with_secrets": [
            str(path) for path in logs if any(word in path.read_text(errors="replace") for word in words)
        ],
        "logs": len(logs),
    }


def _commands() -> Iterator[str]:
    """The command line of every process; one that has ended has none."""
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):  # also of zombies
            yield " ".join(process.cmdline())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
