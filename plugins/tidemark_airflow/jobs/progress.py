"""A line of progress is `[tidemark] step: text`, wherever in a log it stands; jobs write them, and so do tasks."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

MARK = "[tidemark]"

# Airflow's log puts time and level before a line, and behind it who logged it and where.
_LINE = re.compile(rf"{re.escape(MARK)} (?P<step>[\w-]+): (?P<text>.*?)\s*(?:\[airflow[.\w]*\](?: \w+=\S*)*)?$")


@dataclass(frozen=True)
class Progress:
    """What a step says that it is doing."""

    step: str
    text: str


def found_in(line: str) -> Progress | None:
    """The progress that a line of a log tells, if it tells any."""
    match = _LINE.search(line.rstrip())
    return Progress(match["step"], match["text"]) if match else None


def say(step: str, text: str) -> None:
    """Write a line of progress to standard output."""
    sys.stdout.write(f"{MARK} {step}: {text}\n")
    sys.stdout.flush()
