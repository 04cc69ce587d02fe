"""An object store with the interface of S3, in a process: moto's server, in which each request is atomic.

    python -m tests.support.object_store [unconditional]     prints its address, and serves until it is ended

An unconditional store ignores the conditions of writes, as some stores do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from typing import Any

#: The bucket of the store.
BUCKET = "lake"
_UNCONDITIONAL = "unconditional"
#: The key of the store, and its region.
KEYS = MappingProxyType({"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_REGION": "us-east-1"})


@contextmanager
def object_store(*, is_conditional: bool = True) -> Iterator[Mapping[str, str]]:
    """Serve an empty store with a bucket; the value is the variables by which programs find the store."""
    command = [sys.executable, "-m", "tests.support.object_store", *([] if is_conditional else [_UNCONDITIONAL])]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield {**KEYS, "AWS_ENDPOINT_URL": server.stdout.readline().strip()}
        finally:
            server.kill()


def main() -> None:
    """Serve the store."""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    os.environ.update(KEYS)
    # Threads would make the check of a conditional write and the write two steps.
    application = DomainDispatcherApplication(create_backend_app)
    served = _without_conditions(application) if _UNCONDITIONAL in sys.argv else application
    server = make_server("127.0.0.1", 0, served, threaded=False)
    address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    boto3.client("s3", endpoint_url=address, region_name=KEYS["AWS_REGION"]).create_bucket(Bucket=BUCKET)
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    Event().wait()


def _without_conditions(application: Any) -> Any:
    def served(environ: dict[str, Any], start_response: Any) -> Any:
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return application(environ, start_response)

    return served


if __name__ == "__main__":
    main()
