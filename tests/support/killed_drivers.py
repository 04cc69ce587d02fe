"""Drivers that run until a moment and are killed."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable


def run_until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 300) -> None:
    """Let the process run until the condition holds or it ends."""
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None:
        assert time.monotonic() < end, f"not within {seconds} s"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
