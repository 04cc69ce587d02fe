"""The health of an embedded Airflow: what each of its parts says of itself, asked over HTTP on this machine."""

from __future__ import annotations

import json
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

# The machine's own address is never behind a proxy, whatever the shell names.
_DIRECT = build_opener(ProxyHandler({}))
_PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


def unhealthy(url: str) -> list[str]:
    """The parts that are not healthy yet, `api-server` if nothing answers; empty when all is well."""
    try:
        with _DIRECT.open(url, timeout=5) as answer:
            said = json.load(answer)
        return [part for part in _PARTS if said[part]["status"] != "healthy"]
    except (URLError, OSError, ValueError, KeyError, TypeError):
        return ["api-server"]
