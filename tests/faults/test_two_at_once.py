"""Two drivers that start at once over the same windows: one works, the other waits or is refused; they never mix.

The lake is in a folder, in an object store, and in an object store behind a network that fails.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.faults.drivers import PIPELINE, command, started
from tests.support import history
from tests.support.engine import rows_of
from tests.support.places import Kind, Place, place
from tests.support.runs import publish

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak]

# Of each test, and in each place.
TIMES = 15
HOUR = timedelta(hours=1)
FIRST = Interval(history.START + HOUR, history.START + 3 * HOUR)
SECOND = Interval(history.START + 2 * HOUR, history.START + 4 * HOUR)


@pytest.fixture(name="home", scope="module", params=list(Kind))
def _home(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Place]:
    with place(request.param, spark) as home:
        yield home


@pytest.fixture(name="file", scope="module")
def _file(spark: SparkSession, home: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("at-once")
    file = folder / "readings.yaml"
    file.write_text(PIPELINE.format(table=history.land(spark, history.events(), home.root(folder / "events"))))
    return file


def over(interval: Interval, file: Path, *options: str) -> list[str]:
    assert interval.start is not None
    assert interval.end is not None
    return command("run", file, "--from", interval.start.isoformat(), "--to", interval.end.isoformat(), *options)


def published(spark: SparkSession, lake: Lake) -> dict[str, list[str]]:
    """The rows of what a run over part of time publishes, without the run."""
    names = ("watermarks", "panes", "window_results", "late_events")
    rows = {name: rows_of(read_published(spark, lake, name).drop("run_id")) for name in names}
    return {name: sorted(str(sorted(row.items())) for row in table_rows) for name, table_rows in rows.items()}


@pytest.fixture(name="in_order", scope="module")
def _in_order(spark: SparkSession, home: Place, file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the runs publish one after the other: the same in either order."""
    lake = Lake(home.root(tmp_path_factory.mktemp("in-order")), "readings")
    for interval in (FIRST, SECOND):
        publish(spark, history.pipeline(home.root(file.parent / "events")), lake, interval)
    return published(spark, lake)


@pytest.mark.parametrize("time", range(TIMES))
def test_the_same_command_twice_publishes_once(
    spark: SparkSession, home: Place, file: Path, tmp_path: Path, time: int
) -> None:
    lake = Lake(home.root(tmp_path), "readings")
    drivers = [started(lake, over(FIRST, file, "--wait", "10 minutes")) for _ in range(2)]
    assert [driver.wait() for driver in drivers] == [0, 0]
    [run] = ledger.published(spark, lake)
    assert (run.interval_start, run.interval_end) == (FIRST.start, FIRST.end)
    assert set(run.versions.values()) == {0}


@pytest.mark.parametrize("time", range(TIMES))
def test_overlapping_ranges_are_published_one_after_the_other(
    spark: SparkSession, home: Place, file: Path, tmp_path: Path, in_order: dict[str, Any], time: int
) -> None:
    lake = Lake(home.root(tmp_path), "readings")
    commands = [over(interval, file) for interval in (FIRST, SECOND)[:: 1 if time % 2 else -1]]
    drivers = [started(lake, arguments, subprocess.PIPE) for arguments in commands]
    errors = [driver.communicate()[1] for driver in drivers]
    for driver, words, arguments in zip(drivers, errors, commands, strict=True):
        if driver.returncode:
            assert "at work on the windows from" in words, words
            assert started(lake, arguments).wait() == 0
    assert len(ledger.published(spark, lake)) == 2
    assert published(spark, lake) == in_order
