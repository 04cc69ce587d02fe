"""A driver that is stopped while it has a lease, and goes on after another took over: it publishes nothing more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import delta_log, ledger
from spark_jobs.tables.lake import GATE_TABLE, Lake
from spark_jobs.tables.leases import SECONDS
from tests.faults.drivers import INTERPRETED, PIPELINE
from tests.faults.test_two_at_once import FIRST, SECOND, over, published
from tests.support import history
from tests.support.places import Kind, Place, place
from tests.support.runs import publish

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak]

LASTS_S = "5"
# Before the gate, the stopped run is not published. Behind the gate, the other driver publishes the rest of it, and the
# stopped driver finds that it is published.
BEFORE = ("before stage panes on-time", "before enter audit", f"before commit {GATE_TABLE}")
BEHIND = (f"after commit {GATE_TABLE}", "before commit window_results")


@pytest.fixture(name="home", scope="module", params=[Kind.FOLDER, Kind.STORE])
def _home(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Place]:
    with place(request.param, spark) as home:
        yield home


@pytest.fixture(name="file", scope="module")
def _file(spark: SparkSession, home: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped")
    file = folder / "readings.yaml"
    file.write_text(PIPELINE.format(table=history.land(spark, history.events(900), home.root(folder / "events"))))
    return file


@pytest.mark.parametrize("moment", [*BEFORE, *BEHIND])
def test_a_driver_that_was_stopped_publishes_nothing_after_another_took_over(
    spark: SparkSession, home: Place, file: Path, tmp_path: Path, moment: str
) -> None:
    lake = Lake(home.root(tmp_path / "lake"), "readings")
    environment = {
        **os.environ,
        "TIDEMARK_LAKE": lake.root,
        SECONDS: LASTS_S,
        "TIDEMARK_DRIVER_MEMORY": "1g",
        "PYSPARK_SUBMIT_ARGS": INTERPRETED,
    }
    stopping = [sys.executable, "-m", "tests.faults.dying", "SIGSTOP", moment, *over(FIRST, file)[2:]]
    with subprocess.Popen(
        stopping,
        env=environment,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as stopped:
        try:
            _, status = os.waitpid(stopped.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), f"{moment}: it never came"
            other = over(SECOND, file, "--wait", "5 minutes")
            subprocess.run(other, env=environment, check=True)
            runs, tables = ledger.published(spark, lake), published(spark, lake)
            versions = {name: delta_log.version(spark, lake.path(name)) for name in tables}
            os.killpg(stopped.pid, signal.SIGCONT)
            _, errors = stopped.communicate()
        finally:
            if stopped.poll() is None:
                os.killpg(stopped.pid, signal.SIGKILL)
    assert (stopped.returncode == 0) == (moment in BEHIND), errors
    assert ("another took over" in errors) == (moment in BEFORE)
    assert ledger.published(spark, lake) == runs
    assert published(spark, lake) == tables
    assert {name: delta_log.version(spark, lake.path(name)) for name in tables} == versions
    expected = Lake(home.root(tmp_path / "expected"), "readings")
    for interval in (SECOND,) if moment in BEFORE else (FIRST, SECOND):
        publish(spark, history.pipeline(home.root(file.parent / "events")), expected, interval)
    assert tables == published(spark, expected)
    assert len(runs) == (1 if moment in BEFORE else 2)
    # The stopped run can be taken again, and has both ranges then.
    subprocess.run(over(FIRST, file), env=environment, check=True)
    assert len(ledger.published(spark, lake)) == 2
