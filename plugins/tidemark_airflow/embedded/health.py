"""The health of an embedded Airflow: the state of each of its parts, read over HTTP on this machine."""

from __future__ import annotations

import json
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

# The machine's own address is never behind a proxy, even if the shell names one.
_DIRECT = build_opener(ProxyHandler({}))
_PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


def unhealthy(url: str) -> list[str]:
    """Return the parts that are not healthy yet, `api-server` if nothing answers; empty if all are."""
    try:
        with _DIRECT.open(url, timeout=5) as answer:
            health = json.load(answer)
        return [part for part in _PARTS if health[part]["status"] != "healthy"]
    except (URLError, OSError, ValueError, KeyError, TypeError):
        return ["api-server"]
