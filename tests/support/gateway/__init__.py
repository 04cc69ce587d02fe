"""Versity's S3 gateway: an S3 server in one program, which keeps objects as files of a folder.

It is built by Go from `go.mod`, with the checksums of `go.sum`, into `.tidemark/gateway`. Tests that need it are
skipped on a machine without Go.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import pytest

from tests.support.object_store import BUCKET, KEYS

_HERE, _ROOT = Path(__file__).parent, Path(__file__).parents[3]
_PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
_START_WITHIN_S = 30.0


@contextmanager
def gateway() -> Iterator[Mapping[str, str]]:
    """Serve an empty store with a bucket; the value is the variables by which programs find the store."""
    executable = program()
    with TemporaryDirectory(prefix="gateway-") as folder:
        (Path(folder) / BUCKET).mkdir()
        port = _free_port()
        command = [str(executable), "--port", f"127.0.0.1:{port}", "--access", KEYS["AWS_ACCESS_KEY_ID"]]
        command += ["--secret", KEYS["AWS_SECRET_ACCESS_KEY"], "--region", KEYS["AWS_REGION"], "--quiet"]
        with subprocess.Popen([*command, "posix", folder], stdout=subprocess.DEVNULL) as server:
            try:
                _wait(server, port)
                yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
            finally:
                server.kill()


def program() -> Path:
    """Return the gateway, built at its first use; without Go the test is skipped."""
    content = b"".join((_HERE / name).read_bytes() for name in ("go.mod", "go.sum"))
    executable = _ROOT / ".tidemark" / "gateway" / f"versitygw-{hashlib.sha256(content).hexdigest()[:16]}"
    if not executable.exists():
        go = shutil.which("go")
        if go is None:
            pytest.skip("there is no Go, which builds the S3 gateway: install Debian's package golang")
        built = executable.with_suffix(f".{os.getpid()}")
        subprocess.run([go, "build", "-mod=readonly", "-o", str(built), _PACKAGE], cwd=_HERE, check=True)
        built.replace(executable)
    return executable


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server accepts connections."""
    end = monotonic() + _START_WITHIN_S
    while True:
        assert server.poll() is None, "the S3 gateway has ended"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert monotonic() < end, f"the S3 gateway did not start within {_START_WITHIN_S:g} s"
            sleep(0.05)
