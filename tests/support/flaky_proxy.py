"""A proxy before an object store whose network fails: one request in twenty is lost, slow or made twice.

    python -m tests.support.flaky_proxy STORE SEED

It prints its address, and how many faults of each kind it has made for each line of its input, until the input ends.
It is a separate process: delta-rs holds the lock of Python while it waits for a store, and would wait for itself.

    drop      the store never gets the request
    forget    the store does it, and the answer is lost
    delay     the answer comes a second later
    repeat    the store gets the request twice, and the second answer is returned
    refuse    the store is busy (503)

Each kind has the same share. The draw of a request depends on a seed and on its number.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

KINDS = ("drop", "forget", "delay", "repeat", "refuse")
_SHARE, _DELAY_S = 0.05, 1.0
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}
_BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class FlakyProxy(ThreadingHTTPServer):
    """The proxy as a server. `faults` counts what has happened to requests, by kind."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, store: str, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlsplit(store)
        self.store = (str(parts.hostname), int(parts.port or 80))
        self.faults = dict.fromkeys(KINDS, 0)
        self.ended = Event()
        self._seed, self._numbers = seed, count()

    @property
    def address(self) -> str:
        """The address that clients use."""
        return f"http://127.0.0.1:{self.server_port}"

    def draw(self) -> str:
        """Return what happens to the next request: a kind of fault, or an empty text."""
        draw = random.Random(f"{self._seed} {next(self._numbers)}")
        if draw.random() >= _SHARE:
            return ""
        kind = draw.choice(KINDS)
        self.faults[kind] += 1
        return kind


@dataclass(frozen=True)
class FlakyNetwork:
    """A proxy in a process. `address` is the address that clients use."""

    address: str
    _process: subprocess.Popen[str]

    @property
    def faults(self) -> dict[str, int]:
        """Return how many faults of each kind there were."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        faults: dict[str, int] = json.loads(self._process.stdout.readline())
        return faults


@contextmanager
def flaky(store: str, seed: int) -> Iterator[FlakyNetwork]:
    """Serve the proxy of a store, whose address is `store`."""
    command = [sys.executable, "-m", "tests.support.flaky_proxy", store, str(seed)]
    root, pipe = Path(__file__).parents[2], subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield FlakyNetwork(process.stdout.readline().strip(), process)
        finally:
            process.kill()


def main() -> None:
    """Serve the proxy until the input ends."""
    with FlakyProxy(sys.argv[1], int(sys.argv[2])) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        _print(proxy.address)
        for _ in sys.stdin:
            _print(json.dumps(proxy.faults))
        proxy.ended.set()
        proxy.shutdown()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is written in two parts. The second one would wait until the client confirms the first.
    disable_nagle_algorithm = True
    server: FlakyProxy

    def handle_one_request(self) -> None:
        """Handle a request; a client that is gone ends the connection."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.server.draw()
        if kind == "drop":
            self._hang_up()
        elif kind == "refuse":
            self._answer(503, "Slow Down", [("Content-Type", "application/xml")], _BUSY)
        else:
            for _ in range(2 if kind == "repeat" else 1):
                status, reason, headers, content = self._forwarded(body)
            if kind == "delay":
                self.server.ended.wait(_DELAY_S)
            if kind == "forget":
                self._hang_up()
            else:
                self._answer(status, reason, headers, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815  names of the library

    def _forwarded(self, body: bytes) -> tuple[int, str, list[tuple[str, str]], bytes]:
        """Make the request at the store; its signature stays valid, as every header stays as it is."""
        connection = HTTPConnection(*self.server.store, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, value)
            if "Content-Length" in self.headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            response: HTTPResponse = connection.getresponse()
            return response.status, response.reason, response.getheaders(), response.read()
        finally:
            connection.close()

    def _answer(self, status: int, reason: str, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status, reason)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length":
                # The answer to HEAD has the length of what it leaves out.
                length = value if self.command == "HEAD" else length
            elif name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main()
