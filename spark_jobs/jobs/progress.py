"""What a job says while it works: a line a step, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable

Progress = Callable[[str, str], None]
"""Called with the step's name and what it is doing."""


def to_stderr(step: str, text: str) -> None:
    """`[tidemark] step: text`."""
    print(f"[tidemark] {step}: {text}", file=sys.stderr, flush=True)


def silent(step: str, text: str) -> None:
    """Nothing."""
