"""The look at a process from outside: its memory is that of its lasting processes."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.benchmarks import process

_MIB = 1 << 20
# Each child ends after a hundredth of a second, and until then holds the memory of its parent.
PROGRAM = """
import os, time
content = b"x" * (200 << 20)
ends = time.monotonic() + 1.5
while time.monotonic() < ends:
    if (child := os.fork()) == 0:
        until = time.monotonic() + 0.01
        while time.monotonic() < until:
            pass
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_short_children_that_share_memory_do_not_count(tmp_path: Path) -> None:
    ended = process.run(
        "forks", [sys.executable, "-c", PROGRAM], output=tmp_path / "output.txt", log=tmp_path / "errors.txt"
    )
    assert ended.peak_memory_bytes is not None
    assert 200 * _MIB < ended.peak_memory_bytes < 300 * _MIB
