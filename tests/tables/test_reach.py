"""How far a published run has come, by its ledger and its tables without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.reach import Reach, reach
from spark_jobs.tables.run import ARRIVALS, Run, Step
from tests.support import history
from tests.support.arrivals import CUTS, replay_until
from tests.support.whole_run import run_steps

AT, HOUR = datetime(2024, 3, 4, tzinfo=UTC), timedelta(hours=1)
RUN = "r0123456789abcde"


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), "readings")


def publish(lake: Lake, run_id: str = RUN, *, arrived_to: datetime | None = None, **versions: int) -> None:
    run = Run(run_id, "readings", "f", ARRIVALS, 0, None, None, arrived_to=arrived_to)
    step = Step(StepName.PUBLISH, StepState.DONE, AT, AT, versions={"late_events": 0, **versions})
    run_history.record(lake, run, step)


def write(lake: Lake, table: str, column: str, *moments: datetime | None) -> None:
    rows = pa.table({column: pa.array(moments, pa.timestamp("us", tz="UTC"))})
    write_deltalake(lake.path(table), rows, mode="append")


def test_a_run_has_come_as_far_as_its_version_of_the_tables(lake: Lake) -> None:
    write(lake, "advances", "watermark", AT, AT + HOUR)
    write(lake, "watermarks", "watermark_at_fire", AT, None)
    publish(lake, arrived_to=AT + 2 * HOUR, advances=0, watermarks=0)
    write(lake, "advances", "watermark", AT + 5 * HOUR)
    assert reach(lake, RUN) == Reach(AT + 2 * HOUR, AT + HOUR)


def test_a_closed_input_has_the_greatest_watermark(lake: Lake) -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    write(lake, "advances", "watermark", AT)
    write(lake, "watermarks", "watermark_at_fire", AT, end)
    publish(lake, advances=0, watermarks=0)
    assert reach(lake, RUN) == Reach(None, end)


def test_of_a_run_without_a_calendar_the_watermark_is_not_known(lake: Lake) -> None:
    publish(lake, arrived_to=AT)
    assert reach(lake, RUN) == Reach(AT, None)
    assert reach(lake, "r00000000000000f") == Reach()


def test_a_table_that_cannot_be_read_is_an_error_of_the_lake(lake: Lake) -> None:
    publish(lake, advances=3)
    with pytest.raises(LakeError, match="advances cannot be read at version 3"):
        reach(lake, RUN)


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_run_over_arrivals_has_come_to_its_moment_and_to_the_watermark_of_the_job(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    rows = history.events(900)
    pipeline = history.pipeline(history.land(spark, rows, tmp_path / "rows"), replay__end_of_input="keep_open")
    until = CUTS[1]
    outcomes = run_steps(spark, pipeline, lake, arrived_to=until)
    reached = reach(lake, outcomes[0].run_id)
    assert reached.covered_until == until
    live = replay_until(rows, pipeline, until)
    fired = max(row["watermark_at_fire"] for row in live.watermarks if row["watermark_at_fire"] is not None)
    assert reached.watermark is not None
    assert fired <= reached.watermark < until
    whole = run_steps(spark, history.pipeline(pipeline.source.table), lake)
    assert reach(lake, whole[0].run_id) == Reach(None, datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC))
