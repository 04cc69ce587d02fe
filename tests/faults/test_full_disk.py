"""A disk that fills up: one line names it, nothing is half published; with more room the same command finishes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs import failures
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE
from tests.faults.small_disk import small_disk
from tests.support import history
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.usefixtures("session")]

ROOMY_KIB = 64 * 1024


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, history.events(), tmp_path_factory.mktemp("source") / "events")


@pytest.mark.soak
@pytest.mark.parametrize("more_kib", [pytest.param(240, id="few"), pytest.param(40, id="many")])
def test_run_continues_once_the_disk_has_room(spark: SparkSession, table: str, tmp_path: Path, more_kib: int) -> None:
    """The disk fills up before the plan is written down, then further and further on, at last behind publishing."""
    pipeline, kib, failed = history.pipeline(table), 8, 0
    expected = reference.replay(history.events(), pipeline)
    with small_disk(tmp_path / "disk", kib) as disk:
        lake = Lake(str(disk.folder), "readings")
        while True:
            try:
                outcomes = Runner(spark, pipeline, lake).run(Interval())
                break
            except (LakeError, OSError, PySparkException, Py4JError) as problem:
                message = failures.describe(problem, lake)
            assert message.startswith(f"the disk of {disk.folder} is full ("), (kib, message)
            assert "Make room, then run the same command: it continues" in message
            if ledger.published(spark, lake):
                assert_published(spark, lake, expected, kib)
            failed, kib = failed + 1, kib + more_kib
            disk.resize(kib)
        assert failed > 1
        assert Path(str(outcomes[-1].report)).is_file()
        assert_published(spark, lake, expected)
        assert len(ledger.runs(spark, lake)) == 1


@pytest.mark.soak
@pytest.mark.parametrize("full", ["TIDEMARK_LAKE", "SPARK_LOCAL_DIRS"])
def test_error_of_the_command_names_the_full_disk(spark: SparkSession, table: str, tmp_path: Path, full: str) -> None:
    file = tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table=table))
    with small_disk(tmp_path / "disk", 24) as disk:
        environment = {**os.environ, "TIDEMARK_LAKE": str(tmp_path / "lake"), full: str(disk.folder)}
        command = [sys.executable, "-m", "spark_jobs.cli", "replay", str(file), "--json"]
        failed = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert failed.returncode == 1
        assert f"the disk of {disk.folder} is full" in json.loads(failed.stdout)["error"]
        lake = Lake(environment["TIDEMARK_LAKE"], "readings")
        assert ledger.published(spark, lake) == []
        disk.resize(ROOMY_KIB)
        assert subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 0
        assert_published(spark, lake, reference.replay(history.events(), load(file)))
