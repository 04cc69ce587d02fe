"""Drivers killed at any moment of any step: readers see a whole run or none of it, and the same command finishes.

Sixty moments in a folder, and forty in an object store, once with a whole network and once with one that fails.
The option `-k "full-17"` selects one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.dying import PHASES, killing
from tests.faults.kill_moments import SCENARIOS, Prepared, check_a_kill, prepared
from tests.support.places import Kind, Place, place

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak, pytest.mark.usefixtures("session")]

IN_A_FOLDER = {"full": 18, "part": 16, "arrivals": 16, "join": 10}
IN_A_STORE = {"full": 12, "part": 10, "arrivals": 10, "join": 8}
Prepare = Callable[[Place, str], Prepared]


def cases(numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name, number) for name, count in numbers.items() for number in range(count)]


@pytest.fixture(name="prepare", scope="module")
def _prepare(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepare:
    folder, ready = tmp_path_factory.mktemp("moments"), dict[str, Prepared]()

    def prepare(home: Place, name: str) -> Prepared:
        title = f"{name}-{home.kind}"
        if title not in ready:
            ready[title] = prepared(spark, home, SCENARIOS[name], folder / title)
        return ready[title]

    return prepare


@pytest.fixture(name="store", scope="module", params=[Kind.STORE, Kind.FLAKY_STORE])
def _store(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Place]:
    with place(request.param, spark) as store:
        yield store


@pytest.mark.parametrize(("name", "number"), cases(IN_A_FOLDER))
def test_a_driver_killed_at_any_moment_leaves_work_that_the_same_command_finishes(
    spark: SparkSession, prepare: Prepare, tmp_path: Path, name: str, number: int
) -> None:
    with place(Kind.FOLDER, spark) as folder:
        check_a_kill(spark, prepare(folder, name), number, tmp_path)


@pytest.mark.parametrize(("name", "number"), cases(IN_A_STORE))
def test_a_driver_killed_beside_an_object_store_leaves_work_that_the_same_command_finishes(
    spark: SparkSession, store: Place, prepare: Prepare, tmp_path: Path, name: str, number: int
) -> None:
    check_a_kill(spark, prepare(store, name), number, tmp_path)


@pytest.mark.parametrize("phase", PHASES)
def test_kill_comes_before_or_behind_the_named_work(tmp_path: Path, phase: str) -> None:
    calls: list[str] = []

    def work() -> None:
        calls.append("work")
        (tmp_path / "written").touch()

    with_kill = killing(f"{phase} write", lambda: calls.append("kill"))
    for name in ("other", "write"):
        with_kill(name, str(tmp_path), work)
    assert calls[0] == "work", "another work is not the one that was meant"
    assert calls[1:] == (["kill", "work"] if phase == "before" else ["work", "kill"])
