"""Progress of a job: a line a step, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable

from spark_jobs.job_protocol import progress_line
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.environment import hide_values

Progress = Callable[[str, str], None]
"""Called with the step's name and what it is doing."""


def to_stderr(step: str, text: str) -> None:
    """Print `[tidemark] step: text`."""
    print(progress_line(step, hide_values(text)), file=sys.stderr, flush=True)


def staged(count: int, of: int, seconds: float) -> str:
    """Return how many slices are staged, and about how long the rest takes at the pace so far."""
    text = f"slice {count} of {of} staged"
    left_ms = round(seconds / count * (of - count)) * 1000
    return f"{text}, about {format_duration(left_ms)} left" if left_ms else text


def silent(step: str, text: str) -> None:
    """Print nothing."""
