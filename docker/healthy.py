"""Check the health of a service: `healthy.py URL KEY VALUE`, for the health checks of compose.yaml.

The exit code is 0 if the URL returns JSON with VALUE at KEY, a path with dots. Otherwise it is 1, and stderr has why.
"""

from __future__ import annotations

import json
import sys
from urllib.request import ProxyHandler, build_opener

WITHIN_S = 8

# A service of the same network is never behind a proxy, whatever the environment names.
_DIRECT = build_opener(ProxyHandler({}))


def main(arguments: list[str]) -> int:
    """Read the URL once and return the exit code."""
    url, key, value = arguments
    try:
        with _DIRECT.open(url, timeout=WITHIN_S) as response:
            status = json.load(response)
        for part in key.split("."):
            status = status[part]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        sys.stderr.write(f"{url}: {problem!r}\n")
        return 1
    if status != value:
        sys.stderr.write(f"{url}: {key} is {status!r}, not '{value}'\n")
    return int(status != value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
