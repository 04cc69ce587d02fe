"""Google's and Azure's stores by their own schemes: what a request to create an object passes to the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from spark_jobs.tables.objects import Objects


@dataclass
class Recorded:
    """A server that keeps requests, and answers each with `status`."""

    address: str
    status: int = 200
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture(name="server")
def _server() -> Iterator[Recorded]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            recorded.requests.append((self.command, self.path, headers))
            self.send_response(recorded.status)
            for name, value in {"ETag": '"1"', "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        recorded = Recorded(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield recorded
        server.shutdown()


def test_google_gets_the_condition_that_no_generation_exists(
    server: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.json"
    no_account = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    key.write_text(json.dumps({"gcs_base_url": server.address, "disable_oauth": True, **no_account}))
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(key))
    assert Objects("gs://company/lake/clicks").create("runs/1.json", b"{}")
    ((method, path, headers),) = server.requests
    assert (method, unquote(path)) == ("PUT", "/company/lake/clicks/runs/1.json")
    assert headers["x-goog-if-generation-match"] == "0"


def test_azure_gets_the_condition_that_no_object_exists(server: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    server.status = 201
    for name, value in {"ACCOUNT_NAME": "company", "ACCOUNT_KEY": "c2VjcmV0", "ENDPOINT": server.address}.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    assert Objects("abfss://events@company.dfs.core.windows.net/lake/clicks").create("runs/1.json", b"{}")
    ((method, path, headers),) = server.requests
    assert (method, path) == ("PUT", "/events/lake/clicks/runs/1.json")
    assert headers["if-none-match"] == "*"
    assert headers["authorization"].startswith("SharedKey company:")
