"""A test waits for what it needs to see, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], within_s: float = 120.0, every_s: float = 0.05) -> None:
    """Return when the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s"
        time.sleep(every_s)
