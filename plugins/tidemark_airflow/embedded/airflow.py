"""An Airflow for one person, from the clone: `python -m tidemark_airflow.embedded up` starts it, `down` ends all of it.

It runs Airflow's four parts with SQLite, or with a PostgreSQL named by environment, each with a log file. It listens on
this machine alone. `up` ends when every part is healthy; `down` ends when no process carries its mark.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psutil

from spark_jobs.job_protocol import ExitCode
from tidemark_airflow.embedded import processes
from tidemark_airflow.embedded.health import unhealthy
from tidemark_airflow.embedded.installation import PORT, Installation, InstallationError

# The log servers are for logs on other machines; here the API server reads the files.
PARTS: Mapping[str, tuple[str, ...]] = {
    processes.LAST: ("api-server",),
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}
UP_WITHIN_S = 240.0
POLL_EVERY_S = 0.5
_PRIVATE = 0o600


def up(installation: Installation) -> int:
    """Start it, unless it runs. Returns the exit code."""
    running = processes.carrying(installation.home)
    if processes.of_demo(running):
        raise InstallationError("a demo is running in this folder, with the same database; wait for its end")
    if running:
        return _already(installation, running)
    if not _is_free(installation.port):
        problem = f"port {installation.port}, where Airflow would listen, is taken by another program"
        raise InstallationError(f"{problem}; name a free one: {PORT}=8081 make up")
    installation.make()
    variables = installation.variables(os.environ)
    _print("preparing its database")
    prepared = _run(
        installation, "database", (sys.executable, "-m", "tidemark_airflow.embedded.metadata"), variables
    ).wait()
    if prepared:
        return _gave_up(installation, f"its database could not be prepared (exit code {prepared})", ["database"])
    _print("starting " + ", ".join(PARTS))
    started = {name: start(installation, name, variables) for name in PARTS}
    try:
        return _await(installation, started)
    except KeyboardInterrupt:
        return _gave_up(installation, "interrupted", [])


def start(installation: Installation, part: str, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start one of its parts, and do not wait until it is healthy."""
    return _run(installation, part, (sys.executable, "-m", "airflow", *PARTS[part]), variables)


def down(installation: Installation) -> int:
    """End all of it. Returns the exit code."""
    if not processes.carrying(installation.home):
        _print("is not running")
        return ExitCode.DONE
    _print("stopping")
    left = processes.end(installation.home)
    if left:
        _complain("these processes did not end: " + ", ".join(f"{p.pid}" for p in left))
        return ExitCode.FAILED
    _print("is down, no process is left")
    return ExitCode.DONE


def _already(installation: Installation, running: list[psutil.Process]) -> int:
    served = replace(installation, port=processes.port_of(running) or installation.port)
    missing = unhealthy(served.health)
    if missing:
        _complain(
            f"{len(running)} of its processes are running, but these parts are not healthy: {', '.join(missing)}. "
            f"It may still be starting; if not, see {served.logs}, then make down and make up"
        )
        return ExitCode.FAILED
    _print("is running already")
    _introduce(served)
    return ExitCode.DONE


def _await(installation: Installation, started: Mapping[str, subprocess.Popen[bytes]]) -> int:
    deadline = time.monotonic() + UP_WITHIN_S
    missing: list[str] = []
    while time.monotonic() < deadline:
        now_missing = unhealthy(installation.health)
        if not now_missing:
            _print("is up")
            _introduce(installation)
            return ExitCode.DONE
        if now_missing != missing:
            _print("waiting for " + ", ".join(now_missing))
            missing = now_missing
        dead = [name for name, process in started.items() if process.poll() is not None]
        if dead:
            return _gave_up(installation, f"these parts ended: {', '.join(dead)}", dead)
        time.sleep(POLL_EVERY_S)
    reason = f"not up within {UP_WITHIN_S:.0f} s, still waiting for {', '.join(missing)}"
    return _gave_up(installation, reason, list(PARTS))


def _gave_up(installation: Installation, reason: str, parts: list[str]) -> int:
    processes.end(installation.home)
    _complain(f"could not be started: {reason}")
    for part in parts:
        log = _log(installation, part)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        sys.stderr.write(f"--- the end of {log}\n" + "".join(f"{line}\n" for line in lines))
    return ExitCode.FAILED


def _introduce(installation: Installation) -> None:
    passwords = json.loads(installation.passwords.read_text(encoding="utf-8"))
    _line(f"    {installation.url}")
    for user, password in passwords.items():
        _line(f"    user {user:<8} password {password}")
    _line(f"    logs in {installation.logs}")
    _line("    make down stops it")


def _run(
    installation: Installation, part: str, command: tuple[str, ...], variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    # Airflow writes the passwords that it makes into its log.
    file = _log(installation, part)
    file.touch()
    file.chmod(_PRIVATE)
    with file.open("wb") as log:
        return subprocess.Popen(
            command,
            umask=0o077,
            env={**variables, processes.PART: part},
            cwd=installation.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _log(installation: Installation, part: str) -> Path:
    return installation.logs / f"{part}.log"


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _print(text: str) -> None:
    _line(f"==> Airflow: {text}")


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(f"error: Airflow: {text}\n")


def main(arguments: list[str]) -> int:
    """Run the command that is named; returns its exit code."""
    commands = {"up": up, "down": down}
    if len(arguments) != 1 or arguments[0] not in commands:
        sys.stderr.write(f"error: found '{' '.join(arguments)}', expected one of: up, down\n")
        return ExitCode.WRONG_INPUT
    try:
        return commands[arguments[0]](Installation.of(os.environ))
    except InstallationError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.WRONG_INPUT
