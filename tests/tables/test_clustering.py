"""Published tables that are clustered by time: Delta knows the columns, and `OPTIMIZE` of others changes no row."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.aged_lake import strictly
from tests.support.runs import publish, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

PART = Interval(history.START, history.START + timedelta(hours=1))
BY_TIME = {"panes": ["window_start"], "window_results": ["window_start"], "late_events": ["window_start"]}


def clustering_of(spark: SparkSession, lake: Lake) -> dict[str, list[str]]:
    """Return the columns that cluster each table, by Delta."""
    details = {name: spark.sql(f"DESCRIBE DETAIL delta.`{lake.path(name)}`").head() for name in BY_TIME}
    return {name: list(detail["clusteringColumns"]) for name, detail in details.items() if detail is not None}


@pytest.mark.soak
def test_tables_are_clustered_from_the_run_on_that_has_the_setting(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    table = history.land(spark, history.events(300), tmp_path / "rows")
    first = publish(spark, history.pipeline(table), lake, Interval())
    assert set(map(tuple, clustering_of(spark, lake).values())) == {()}
    clustered = history.pipeline(table, results__clustered="true")
    publish(spark, clustered, lake, PART)
    assert clustering_of(spark, lake) == BY_TIME
    rows = published(spark, lake)
    for name in BY_TIME:
        spark.sql(f"OPTIMIZE delta.`{lake.path(name)}` FULL")
    assert published(spark, lake) == rows
    maintain(spark, lake, strictly(9))
    assert published(spark, lake) == rows
    Runner(spark, clustered, lake).rollback(first)
    assert clustering_of(spark, lake) == BY_TIME, "a rollback restores rows, not settings"
    other = history.pipeline(table, results__clustered="false", windows__allowed_lateness="10 minutes")
    publish(spark, other, lake, PART, restate=True)
    assert set(map(tuple, clustering_of(spark, lake).values())) == {()}


@pytest.mark.soak
def test_a_new_table_is_clustered_with_its_first_commit(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    table = history.land(spark, history.events(100), tmp_path / "rows")
    settings = {"results__clustered": "true", "results__change_data_feed": "true"}
    publish(spark, history.pipeline(table, **settings), lake, Interval())
    assert clustering_of(spark, lake) == BY_TIME
