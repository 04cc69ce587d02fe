"""A source that is restored to an earlier version behind a compaction: each row is published once."""

from __future__ import annotations

from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.cli import print_plan
from spark_jobs.jobs.plan.dry_run import foreseen
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import CHANGED
from tests.support import history
from tests.support.edited_source import EditedSource
from tests.support.engine import frame_of
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.soak
def test_rows_that_a_restore_brings_back_are_published_once(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    source = EditedSource(spark, tmp_path / "rows", history.events(300))
    source.land()
    table = f"delta.`{source.path}`"
    pipeline = history.pipeline(str(source.path))

    def restore(version: int) -> None:
        spark.sql(f"RESTORE {table} TO VERSION AS OF {version}").collect()

    run_steps(spark, pipeline, lake)
    appended = [{**source.rows[100], "id": 9_000 + number} for number in range(3)]
    source.append(appended)
    with_rows = source.version
    source.compact()
    DeltaTable.forPath(spark, str(source.path)).update("id > 100", {"reading": F.lit(0.0)})
    restore(with_rows)
    run_steps(spark, pipeline, lake, changed=True)
    run = ledger.published(spark, lake)[-1]
    assert (run.kind, run.counts["changed_rows"]) == (CHANGED, 3)
    assert_published(spark, lake, reference.replay(source.rows, pipeline))

    # Versions in between have a column more.
    with_rows = source.version
    wide = frame_of(spark, appended, history.SCHEMA).withColumn("unit", F.lit("m"))
    wide.write.format("delta").mode("append").option("mergeSchema", "true").save(str(source.path))
    source.compact()
    restore(with_rows)
    planned = foreseen(spark, pipeline, lake, Interval(), changed=True)
    assert (planned["run_id"], planned["note"]) == (run.run_id, "rows added or taken away: 0; windows affected: 0")
    lines = list(print_plan._lines(planned, run, has_windows=True))
    assert "this run is published: a replay has nothing to do" in lines
