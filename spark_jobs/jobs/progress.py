"""What a job says while it works: a line a step, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable

from spark_jobs.pipeline.durations import format_duration

Progress = Callable[[str, str], None]
"""Called with the step's name and what it is doing."""


def to_stderr(step: str, text: str) -> None:
    """`[tidemark] step: text`."""
    print(f"[tidemark] {step}: {text}", file=sys.stderr, flush=True)


def staged(done: int, of: int, seconds: float) -> str:
    """How many slices are staged, and about how long the others will take if each takes as long as those have."""
    told = f"slice {done} of {of} staged"
    left_ms = round(seconds / done * (of - done)) * 1000
    return f"{told}, about {format_duration(left_ms)} left" if left_ms else told


def silent(step: str, text: str) -> None:
    """Nothing."""
