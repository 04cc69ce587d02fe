"""A line of progress is `[tidemark] step: text`, wherever in a log it stands; jobs write them, and so do tasks."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from spark_jobs.job_protocol import PROGRESS_MARK, progress_line

# Airflow's log puts time and level before a line, and the logger and its place behind it.
_LINE = re.compile(
    rf"{re.escape(PROGRESS_MARK)} (?P<step>[\w-]+): (?P<text>.*?)\s*(?:\[airflow[.\w]*\](?: \w+=\S*)*)?$"
)


@dataclass(frozen=True)
class Progress:
    """What a step is doing."""

    step: str
    text: str


def parse_progress(line: str) -> Progress | None:
    """Return the progress that a line of a log has; None for any other line."""
    match = _LINE.search(line.rstrip())
    return Progress(match["step"], match["text"]) if match else None


def print_progress(step: str, text: str) -> None:
    """Print a line of progress to standard output."""
    sys.stdout.write(f"{progress_line(step, text)}\n")
    sys.stdout.flush()
