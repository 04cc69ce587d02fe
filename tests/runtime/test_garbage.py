"""A process of one command collects garbage rarely, and ends without a last collection."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, gc
from spark_jobs.runtime import garbage
atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 1000))
garbage.collect_rarely()
"""


def test_garbage_is_collected_rarely_and_not_at_the_end() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ended.stdout == "20000 True\n"
