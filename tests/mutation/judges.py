"""A judge runs the tests that should notice a broken module, and stops at the first that does."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from threading import Timer
from typing import Any, Protocol

from tests.mutation.mutants import Mutant
from tests.mutation.reach import Reach

#: Longer than all tests of a judge take, in seconds; a mutant that takes longer does not end.
LONGEST_OF_REFERENCE_S, LONGEST_OF_SPARK_S = 400, 1_500
#: Before anything is broken all tests run; only a much longer limit distinguishes them from a hang.
LONGEST_AT_FIRST_S = 5_000

_QUIET = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not soak and not spark")
_REFERENCE = ("tests/semantics", "tests/worked", "tests/vectors")
_REPLAY = "spark_jobs/replay"
#: Test files that judge the engine.
JUDGES_OF_SPARK = (
    "tests/worked",
    "tests/replay/continuation/test_handover.py",
    "tests/replay/continuation/test_resumable.py",
    "tests/replay/sessions/test_session_scan.py",
    "tests/replay/test_supported.py",
    "tests/replay/watermark/test_partition_runner.py",
    "tests/jobs/advise/test_advise.py",
    "tests/replay/panes/test_aggregates.py",
    "tests/jobs/plan/test_arrival_slices.py",
    "tests/replay/rows/test_arrival_order.py",
    "tests/replay/panes/test_complete_results.py",
    "tests/replay/panes/test_complete_totals.py",
    "tests/replay/watermark/test_custom.py",
    "tests/replay/rows/test_event_time.py",
    "tests/jobs/operate/test_handover.py",
    "tests/replay/rows/test_identical_rows.py",
    "tests/replay/joins/test_copies.py",
    "tests/replay/joins/test_join_properties.py",
    "tests/replay/joins/test_as_of_join.py",
    "tests/replay/joins/test_interval_join.py",
    "tests/replay/panes/test_late_panes.py",
    "tests/replay/watermark/test_rounds.py",
    "tests/replay/rows/test_partition_labels.py",
    "tests/replay/continuation/test_resume.py",
    "tests/replay/test_scenarios.py",
    "tests/replay/sessions/test_session_components.py",
    "tests/replay/watermark/test_idleness.py",
    "tests/replay/panes/test_triggers.py",
    "tests/replay/watermark/test_union.py",
    "tests/replay/joins/test_window_join.py",
    "tests/replay/windows/test_window_slices.py",
)


class Judge(Protocol):
    """A judge: it runs the tests on the tree as it is."""

    def prepare(self) -> bool:
        """Run all tests before anything is broken; return whether they pass."""

    def passes(self, mutant: Mutant) -> bool:
        """Return whether all tests pass that should notice the mutant, which is in the tree."""


class Reference:
    """Judges the plain Python modules, by tests that need no Spark, each time in a new process."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def prepare(self) -> bool:
        """See `Judge`."""
        return self._passes()

    def passes(self, mutant: Mutant) -> bool:
        """See `Judge`."""
        return self._passes()

    def _passes(self) -> bool:
        command = [sys.executable, "-m", "pytest", *_QUIET, *_REFERENCE]
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
    """Judges modules of the Spark engine, in one process with one Spark: its start takes longer than most tests.

    A mutant is judged by the tests that reach its lines, quick and different ones first, for as many seconds as given.
    """

    def __init__(self, tree: Path, seconds: float, folder: Path) -> None:
        self._tree, self._seconds, self._folder = tree, seconds, folder
        self._process: subprocess.Popen[str] | None = None
        self._reach = Reach()
        self._is_ready = False

    def prepare(self) -> bool:
        """See `Judge`. Reaches that are kept are read, the others measured."""
        if not self._is_ready and all(map(self.measure, JUDGES_OF_SPARK)):
            self._reach = Reach.joined(Reach.read(self._file(tests)) for tests in JUDGES_OF_SPARK)
            self._is_ready = True
        return self._is_ready

    def measure(self, tests: str) -> bool:
        """Measure the reach of a test file and keep it, if it is not kept; return whether the tests pass."""
        target = self._file(tests)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if target.exists():
                return True
            unfinished, output = target.with_suffix(".part"), list[str]()
            if not self._run_request({"tests": [tests], "reach": (_REPLAY, str(unfinished))}, output):
                sys.stderr.writelines(output)
                return False
            unfinished.replace(target)
            return True

    def _file(self, tests: str) -> Path:
        return self._folder / (tests.replace("/", "-") + ".json")

    def passes(self, mutant: Mutant) -> bool:
        """See `Judge`."""
        tests = self._reach.tests(mutant.path, range(mutant.line, mutant.last_line + 1))
        spent = accumulate(self._reach.seconds[test] for test in tests)
        few = [test for test, so_far in zip(tests, spent, strict=True) if so_far <= self._seconds]
        # A module that no test uses: every mutant of it survives.
        return not tests or self._run_request({"tests": few or tests[:1]})

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _run_request(self, request: dict[str, Any], output: list[str] | None = None) -> bool:
        """Return whether the tests of the request pass; lines of their output are added to `output`."""
        lines = [] if output is None else output
        process = self._process or self._started()
        watch = Timer(LONGEST_OF_SPARK_S if output is None else LONGEST_AT_FIRST_S, process.kill)
        watch.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answer = None
            for line in process.stdout:
                lines.append(line)
                if line.startswith("verdict "):
                    answer = line
                    break
        finally:
            watch.cancel()
        if answer is None:
            self.close()
        return answer == "verdict passed\n"

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
