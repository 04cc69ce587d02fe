"""A driver that dies in the middle of a replay: nothing of it is visible, and the next run finishes the work."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log, ledger, staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE, command, started
from tests.sampling import sampled
from tests.support import history
from tests.support.killed_drivers import run_until
from tests.support.runs import publish
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.usefixtures("session")]

MOMENTS: dict[str, str] = {
    "the census is written": f"_work/{{run}}/census/{staging.WORK_FORMAT}.json",
    "the first slice's panes are staged": "panes/staged/{run}/_delta_log/00000000000000000000.json",
    "the second slice's panes are staged": "panes/staged/{run}/_delta_log/00000000000000000002.json",
}
CASES = [sampled(file, quick="first slice" in moment, id=moment) for moment, file in MOMENTS.items()]


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, history.events(), tmp_path_factory.mktemp("source") / "events")


@pytest.mark.parametrize("moment", CASES)
def test_the_next_run_finishes_what_a_killed_driver_began(
    spark: SparkSession, table: str, tmp_path: Path, moment: str
) -> None:
    file = tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table=table))
    lake = Lake(str(tmp_path / "lake"), "readings")
    planned, _ = Runner(spark, history.pipeline(table), lake).plan(Interval())
    run_id = planned.run.run_id
    arguments = command("replay", file, "--run-id", run_id, "--slices", "2")

    killed = started(lake, arguments)
    reached = Path(lake.home, moment.format(run=run_id))
    run_until(reached.exists, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert killed.returncode == -signal.SIGKILL, "the step ended before it could be killed"
    assert not any(delta_log.exists(spark, lake.path(name)) for name in RESULT_TABLES)
    assert ledger.find(spark, lake, run_id).finished_step("replay") is None  # type: ignore[union-attr]

    assert publish(spark, history.pipeline(table), lake, Interval(), slices=2) == run_id
    assert_published(spark, lake, reference.replay(history.events(), history.pipeline(table)))
