"""Tasks that fail: Spark takes them again, and no row is there twice; where it gives up, nothing is published."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE
from tests.support import history
from tests.support.whole_run import published

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak, pytest.mark.usefixtures("session")]

ROWS = history.events(900)


def ended(master: str, flags: Path, times: int, file: Path, lake: Lake) -> tuple[int, str]:
    """Return the exit code and the last line of a run whose first `times` tasks with an aggregate fail."""
    environment = {**os.environ, "TIDEMARK_LAKE": lake.root, "TIDEMARK_SPARK_MASTER": master}
    flags.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.faults.flaky", str(flags), str(times), "run", str(file)]
    here = Path(__file__).parents[2]
    process = subprocess.run(command, env=environment, cwd=here, check=False, capture_output=True, text=True)
    return process.returncode, process.stderr.splitlines()[-1]


def test_a_task_that_fails_twice_is_taken_a_third_time(spark: SparkSession, tmp_path: Path) -> None:
    table = history.land(spark, ROWS, tmp_path / "events")
    file = tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table=table).replace("sum(reading)", "sum(flaky(reading))"))
    lake, undisturbed = (Lake(str(tmp_path / name), "readings") for name in ("lake", "undisturbed"))

    # Spark tries a local task once, unless the master sets another number.
    code, last_line = ended("local[2]", tmp_path / "flags", 1, file, lake)
    assert (code, "failed on purpose" in last_line) == (1, True), last_line
    assert ledger.published(spark, lake) == []
    assert ended("local[2,4]", tmp_path / "flags", 3, file, lake)[0] == 0
    assert len(list((tmp_path / "flags").iterdir())) == 3, "no task has failed"

    Runner(spark, history.pipeline(table), undisturbed).run(Interval())
    assert published(spark, lake) == published(spark, undisturbed)
