"""A PostgreSQL of a test's own: Debian's programs, a folder, a port of this machine, a password."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.airflow.clone import free_port

# It refuses to run as root.
_ORDINARY = "postgres"


@contextmanager
def postgresql() -> Iterator[str]:
    """Start one; gives the URL of an empty database in it, and takes all of it away at the end."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-postgresql-"))
    user = {"user": _ORDINARY, "group": _ORDINARY} if os.geteuid() == 0 else {}
    password, port, data = secrets.token_urlsafe(12), free_port(), folder / "data"
    secret = folder / "password"
    secret.write_text(password, encoding="utf-8")
    if user:
        for path in (folder, secret):
            shutil.chown(path, _ORDINARY, _ORDINARY)
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"

    def run(name: str, *arguments: str) -> None:
        command = [program(name), "--pgdata", str(data), *arguments]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **user)  # type: ignore[call-overload]

    try:
        run("initdb", "--username=airflow", "--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8")
        run("pg_ctl", "start", "--wait", f"--log={folder / 'log'}", f"--options={options}")
        try:
            yield f"postgresql://airflow:{password}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "stop", "--mode=immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs, which Debian may not put on the PATH."""
    path = shutil.which(name) or next(iter(sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))), None)
    assert path, f"{name} is missing: install Debian's package postgresql"
    return path
