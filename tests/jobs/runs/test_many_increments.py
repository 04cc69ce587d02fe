"""Increments, each in a program that has read no table before, as scheduled runs are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake
from tests.support import history
from tests.support.aged_lake import strictly
from tests.support.whole_run import assert_published, published

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]

ROWS = 900
# Delta makes a checkpoint of every tenth version.
INCREMENTS, EVERY = 13, timedelta(minutes=5)
# The increment to which the lake is rolled back.
BEFORE = 10


def forget_tables(spark: SparkSession) -> None:
    """Let Delta read every log again, as a new program does."""
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def test_increments_behind_checkpoints_are_those_of_one_run(spark: SparkSession, tmp_path: Path) -> None:
    table = history.land(spark, history.events(ROWS), tmp_path / "events")
    pipeline = history.pipeline(table, quality__max_too_late_ratio="1", replay__end_of_input="keep_open")
    lake, last = Lake(str(tmp_path / "lake"), "readings"), history.START + INCREMENTS * EVERY
    run_ids = []
    for number in range(1, INCREMENTS + 1):
        forget_tables(spark)
        run_ids.append(Runner(spark, pipeline, lake).run(Interval(), history.START + number * EVERY)[-1].run_id)
        if number == BEFORE:
            before = published(spark, lake)
    assert delta_log.version(spark, lake.path(GATE_TABLE)) == INCREMENTS - 1
    rows = [row for row in history.events(ROWS) if row["stored_at"] is None or row["stored_at"] < last]
    assert_published(spark, lake, reference.replay(rows, pipeline))
    newest = published(spark, lake)
    assert before != newest
    for run_id, tables in ((run_ids[BEFORE - 1], before), (run_ids[-1], newest)):
        forget_tables(spark)
        Runner(spark, pipeline, lake).rollback(run_id)
        assert published(spark, lake) == tables
    forget_tables(spark)
    maintain(spark, lake, strictly(2))
    assert published(spark, lake) == newest
