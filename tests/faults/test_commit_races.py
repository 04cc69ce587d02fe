"""Two drivers that commit the same version of a table at once: one commits, and the other finds out that it has not.

The table is in a folder, in an object store, and in an object store behind a network that fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import commit_files
from spark_jobs.tables.objects import Objects
from tests.faults.drivers import INTERPRETED
from tests.support.places import Kind, Place, place

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak]

# Each turn starts two drivers.
TURNS, RACES = 6, 50


@pytest.fixture(name="home", scope="module", params=list(Kind))
def _home(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Place]:
    with place(request.param, spark) as home:
        yield home


class Committer:
    """A driver as a process."""

    def __init__(self, name: str, table: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.committer", table],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": INTERPRETED, "TIDEMARK_DRIVER_MEMORY": "1g"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            process.kill()

    def write(self, line: str) -> None:
        """Give the driver a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """Wait for its next answer."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        assert answer, f"driver {self.name} has ended"
        return answer


@pytest.mark.parametrize("turn", range(TURNS))
def test_one_of_two_drivers_commits_a_version(spark: SparkSession, home: Place, tmp_path: Path, turn: int) -> None:
    table = home.root(tmp_path / "table")
    spark.createDataFrame([("first",)], "application string").write.format("delta").save(table)
    with ExitStack() as stack:
        drivers = [stack.enter_context(Committer(name, table)) for name in ("a", "b")]
        for number in range(1, RACES + 1):
            for driver in drivers:
                driver.write(f"{driver.name}-{number}")
            assert [driver.answer() for driver in drivers] == ["ready", "ready"]
            for driver in drivers[:: 1 if number % 2 else -1]:
                driver.write("go")
            answers = {f"{driver.name}-{number}": driver.answer() for driver in drivers}
            assert sorted(answers.values()) == [str(number), "lost"], answers
            (winner,) = (name for name, answer in answers.items() if answer != "lost")
            actions = commit_files.read(Objects(table), number)
            assert actions is not None
            assert [action["txn"]["appId"] for action in actions if "txn" in action] == [winner]
    assert commit_files.read(Objects(table), RACES + 1) is None
    assert spark.read.format("delta").load(table).count() == 1 + RACES
