"""A query of delta-rs that waits for a store lets other threads run: pages of a server, and signs of life of a lease.

    python -m tests.tables.test_queries_beside_threads STORE     serves a proxy of the store

The proxy prints its address. It keeps the answer for a data file back until it gets a line, or gives up.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.tables import delta_rs
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import storage_options
from tests.support.flaky_proxy import FlakyProxy, _Handler, _print
from tests.support.object_store import BUCKET, object_store

GIVES_UP_AFTER_S = 15.0


def test_other_threads_run_while_a_query_waits_for_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(f"s3a://{BUCKET}/lake", "pipeline")
    path = lake.path("numbers")
    with object_store() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        write_deltalake(path, pa.table({"number": [1, 2]}), storage_options=storage_options(path))
        command = [sys.executable, "-m", "tests.tables.test_queries_beside_threads", variables["AWS_ENDPOINT_URL"]]
        root, pipe = Path(__file__).parents[2], subprocess.PIPE
        with subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True) as proxy:
            assert proxy.stdin is not None
            assert proxy.stdout is not None
            monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.stdout.readline().strip())
            answers: list[str] = []
            other = Thread(target=release, args=(proxy.stdout, proxy.stdin, answers), daemon=True)
            other.start()
            rows = delta_rs.read_table(lake, "numbers", "all", lambda table: table.select("select number from t"))
            other.join()
            proxy.kill()
    assert rows == [{"number": 1}, {"number": 2}]
    assert answers == ["released"], "no other thread ran while the query was waiting"


def release(output: IO[str], entry: IO[str], answers: list[str]) -> None:
    """Let the proxy answer as soon as a request waits; note whether it was waiting still."""
    assert output.readline() == "waiting\n"
    entry.write("\n")
    entry.flush()
    answers.append(output.readline().strip())


class Keeping(_Handler):
    """Keeps the answer for a data file back."""

    def _serve(self) -> None:
        server: Any = self.server
        if self.path.partition("?")[0].endswith(".parquet") and not server.has_waited:
            server.has_waited = True
            _print("waiting")
            _print("released" if server.line.wait(GIVES_UP_AFTER_S) else "given up")
        super()._serve()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815  names of the library


class KeepingProxy(FlakyProxy):
    """A proxy without faults, which keeps one answer back until there is a line."""

    def __init__(self, store: str) -> None:
        super().__init__(store, 0)
        self.RequestHandlerClass = Keeping
        self.has_waited, self.line = False, Event()

    def draw(self) -> str:
        return ""


if __name__ == "__main__":
    with KeepingProxy(sys.argv[1]) as served:
        _print(served.address)
        Thread(target=served.serve_forever, daemon=True).start()
        sys.stdin.readline()
        served.line.set()
        sys.stdin.read()
