"""The ledger's column `figures`: ledgers of earlier versions lack it, are read as before, and get it with a new row."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import ledger, run_history
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run, Step
from tests.support.fake_lake import AT, add_rows, run_id, steps
from tests.support.sample_report_runs import FIGURES

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

Record = Callable[[SparkSession, Lake, Run, Step], Run]
WRITERS: dict[str, Record] = {
    "by Spark": ledger.record_by_spark,
    "by delta-rs": lambda spark, lake, run, step: run_history.record(lake, run, step),
}


@pytest.mark.parametrize("record", WRITERS.values(), ids=WRITERS)
def test_a_ledger_of_an_earlier_version_is_read_and_extended(spark: SparkSession, lake: Lake, record: Record) -> None:
    (folder := lake.folder) or pytest.fail("the lake is a local folder")
    assert folder is not None
    add_rows(folder.parent, "readings", steps(1, pipeline="readings"))
    (old,) = ledger.runs(spark, lake)
    assert (old, {}) == (run_history.find(lake, run_id(1)), *[step.figures for step in old.steps[:1]])
    new = Run(run_id(2), "readings", "f", "full", 2, None, None)
    at = AT + timedelta(days=1)
    record(spark, lake, new, Step("plan", "done", at, at))
    record(spark, lake, new, Step("replay", "done", at, at + timedelta(seconds=9), figures=FIGURES))
    first, second = ledger.runs(spark, lake)
    assert first == old
    assert [step.figures for step in second.steps] == [{}, FIGURES]
    assert run_history.every(lake) == ledger.runs_by_spark(spark, lake) == [first, second]
    assert list(reversed(run_history.newest(lake, 100).runs)) == [first, second]
    stored = spark.read.format("delta").load(lake.path("runs"))
    assert stored.where("figures is null").count() == 6
    assert dict(stored.dtypes)["figures"] == "map<string,double>"


def test_a_ledger_that_was_removed_and_made_anew_is_not_taken_for_the_old_one(spark: SparkSession, lake: Lake) -> None:
    for number in (1, 2):
        shutil.rmtree(lake.home, ignore_errors=True)
        run = Run(run_id(number), "readings", "f", "full", 2, None, None)
        ledger.record(spark, lake, run, Step("plan", "done", AT, AT))
        assert [entry.run_id for entry in ledger.runs(spark, lake)] == [run_id(number)]
