"""A pipeline that becomes one of another kind under its name: tables come, go, and come back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.run import Runner
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import PublishError
from tests.spark import history, whole_run
from tests.spark.test_join_runs import published, readings, split

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.soak
def test_windows_may_become_a_join_and_windows_again(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    table = history.land(spark, readings(), tmp_path / "readings")
    strict, lenient = (history.pipeline(table, watermark__out_of_orderness=b) for b in ("10s", "1 hour"))
    first, _ = whole_run.assert_publishes_the_references(spark, strict, lake, rows=readings())
    before = whole_run.published(spark, lake)
    joined = split({"readings": table})
    second = whole_run.taken(spark, joined, lake)
    assert [outcome.state for outcome in second] == ["done"] * 4
    pairs = published(spark, lake)
    with pytest.raises(ValueError, match="has invalid_events, late_events, pairs"):
        read_published(spark, lake, "panes")
    runner = Runner(spark, joined, lake)
    assert runner.rollback(first.run_id).state == "done"
    assert whole_run.published(spark, lake) == before
    assert runner.rollback(second[0].run_id).state == "done"
    assert published(spark, lake) == pairs
    # Versions of other tables count from elsewhere: what was published last is still the last.
    assert [run.kind for run in ledger.published(spark, lake)] == ["full", "full", "rollback", "rollback"]
    hour = Interval(history.START, history.START + timedelta(hours=1))
    with pytest.raises(PublishError, match="late_events: asked to replace the windows from 2024"):
        whole_run.taken(spark, strict, lake, hour, restate=True)
    whole_run.assert_publishes_the_references(spark, lenient, lake, rows=readings())
