"""Rows that a run stores for later steps: computed once, read without a job, and copied for another run."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def test_a_copy_has_the_rows_and_outlives_its_original(spark: SparkSession, lake: Lake) -> None:
    staging.write_work_once(lambda: spark.range(5), lake, "r1", "census", spark)
    staging.copy_work_once(lake, "r1", "census", "r2", "whole/census")
    lake.objects.remove("_work/r1")
    assert not staging.has_work(lake, "r1", "census")
    assert staging.read_work(spark, lake, "r2", "whole/census").count() == 5
    with pytest.raises(LookupError, match="no rows are stored"):
        staging.copy_work_once(lake, "r1", "census", "r2", "other")


def test_rows_of_another_format_are_computed_again(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored(count: int) -> DataFrame:
        return staging.write_work_once(lambda: spark.range(count), lake, "r1", "census", spark)

    assert stored(5).count() == stored(7).count() == 5
    monkeypatch.setattr(staging, "WORK_FORMAT", "of a later release")
    assert stored(7).count() == 7


def test_stored_rows_are_read_without_a_job(spark: SparkSession, lake: Lake) -> None:
    staging.write_work_once(
        lambda: spark.range(5).selectExpr("id", "array(struct(id)) AS pair"), lake, "r1", "nested", spark
    )
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("reading", "")
    rows = staging.read_work(spark, lake, "r1", "nested")
    assert rows.dtypes == [("id", "bigint"), ("pair", "array<struct<id:bigint>>")]
    assert not tracker.getJobIdsForGroup("reading")
    spark.sparkContext.setJobGroup("", "")
