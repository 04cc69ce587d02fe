"""A judge runs the tests that should notice a broken module, and stops at the first that does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Protocol

#: Longer than all tests of a judge take, in seconds; a mutant that takes longer does not end.
LONGEST_OF_REFERENCE_S, LONGEST_OF_SPARK_S = 400, 1_500

_QUIET = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not soak and not spark")
_REFERENCE = ("tests/unit/semantics", "tests/worked", "tests/vectors")
_WINDOWS = (
    "tests/worked",
    "tests/spark/test_silence.py",
    "tests/spark/test_late_data.py",
    "tests/spark/test_triggers.py",
    "tests/spark/test_custom_watermarks.py",
    "tests/spark/test_offset_order.py",
    "tests/spark/test_united_sources.py",
    "tests/spark/test_identical_rows.py",
    "tests/spark/test_window_slices.py",
    "tests/spark/test_sessions.py",
    "tests/spark/test_event_time.py",
    "tests/spark/test_commit_order.py",
    "tests/unit/replay",
    "tests/spark/test_scenarios.py",
)
_JOINS = ("tests/spark/test_joins.py", "tests/spark/test_window_joins.py", "tests/spark/test_join_properties.py")
_JOINING = ("inputs.py", "interval_join.py", "join_watermark.py", "window_join.py")


class Judge(Protocol):
    """Whoever says whether the tests pass on the tree as it is."""

    def tests(self, path: str) -> tuple[str, ...]:
        """Give the tests that should notice a fault in the module."""

    def passes(self, path: str) -> bool:
        """Say whether all of these pass."""


class Reference:
    """Judges the plain Python modules, by tests that need no Spark, each time in a new process."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def tests(self, path: str) -> tuple[str, ...]:
        """See `Judge`."""
        return _REFERENCE

    def passes(self, path: str) -> bool:
        """See `Judge`."""
        command = [sys.executable, "-m", "pytest", *_QUIET, *self.tests(path)]
        try:
            ended = subprocess.run(
                command,
                cwd=self._tree,
                env=_environment(self._tree),
                timeout=LONGEST_OF_REFERENCE_S,
                check=False,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode == 0


class SparkEngine:
    """Judges modules of the Spark engine, in one process with one Spark: its start takes longer than most tests."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._process: subprocess.Popen[str] | None = None

    def tests(self, path: str) -> tuple[str, ...]:
        """See `Judge`."""
        return _JOINS if path.rsplit("/", 1)[-1] in _JOINING else _WINDOWS

    def passes(self, path: str) -> bool:
        """See `Judge`."""
        process = self._process or self._started()
        watch = Timer(LONGEST_OF_SPARK_S, process.kill)
        watch.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(" ".join(self.tests(path)) + "\n")
            process.stdin.flush()
            answer = next((line for line in process.stdout if line.startswith("verdict ")), None)
        finally:
            watch.cancel()
        if answer is None:
            self.close()
        return answer == "verdict passed\n"

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.spark_server"],
            cwd=self._tree,
            env=_environment(self._tree),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self._process


def _environment(tree: Path) -> dict[str, str]:
    # Spark's Python workers import the project anew, from the tree.
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
