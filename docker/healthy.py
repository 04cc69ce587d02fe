"""Asks a service how it is: `healthy.py URL KEY VALUE`, for the health checks of compose.yaml.

Ends with 0 if the URL answers with JSON that says VALUE at KEY, whose parts are divided by dots; else with 1 and why.
"""

from __future__ import annotations

import json
import sys
from urllib.request import ProxyHandler, build_opener

WITHIN_S = 8

# A service of the same network is never behind a proxy, whatever the environment names.
_DIRECT = build_opener(ProxyHandler({}))


def main(arguments: list[str]) -> int:
    """Ask once and give the exit code."""
    url, key, value = arguments
    try:
        with _DIRECT.open(url, timeout=WITHIN_S) as answer:
            said = json.load(answer)
        for part in key.split("."):
            said = said[part]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        sys.stderr.write(f"{url}: {problem!r}\n")
        return 1
    if said != value:
        sys.stderr.write(f"{url}: {key} is {said!r}, not '{value}'\n")
    return int(said != value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
