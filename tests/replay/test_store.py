"""Both stores obey one law: an intermediate is computed once, and a written part is read as it was written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.store import MemoryStore, Store
from spark_jobs.session import SmallPlans
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

STATE = c.PREFIX + "state"


def panes(spark: SparkSession, count: int, timing: str = "on_time") -> DataFrame:
    start = F.timestamp_seconds("id").alias("window_start")
    return spark.range(count).select(start, F.lit(timing).alias("timing"), F.col("id").alias(STATE))


@pytest.fixture(params=["memory", "lake"])
def opened(request: pytest.FixtureRequest, spark: SparkSession, lake: Lake) -> Callable[[], Store]:
    """Opens the store; the lake's is another object each time, as in a repeated attempt."""
    memory = MemoryStore()
    return lambda: memory if request.param == "memory" else LakeStore(spark, lake, "r1")


def test_an_intermediate_is_computed_once(spark: SparkSession, opened: Callable[[], Store]) -> None:
    assert opened().keep("rows/a", lambda: panes(spark, 3)).count() == 3
    assert opened().keep("rows/a", lambda: panes(spark, 5)).count() == 3
    assert opened().keep("rows/b", lambda: panes(spark, 5)).count() == 5


def test_a_part_is_written_once_and_read_with_its_working_columns(
    spark: SparkSession, opened: Callable[[], Store]
) -> None:
    opened().write("panes", "all/on-time", panes(spark, 3))
    opened().write("panes", "all/on-time", panes(spark, 5))
    opened().write("panes", "all/late", panes(spark, 1, "late"))
    assert opened().read("panes", "all/on-time").columns[:3] == ["window_start", "timing", STATE]
    assert opened().read("panes", "all/on-time").count() == 3
    with pytest.raises(LookupError, match="all/retractions"):
        opened().read("panes", "all/retractions")


def test_a_table_in_memory_has_all_parts_and_no_working_column(spark: SparkSession) -> None:
    store = MemoryStore()
    store.write("panes", "all/on-time", panes(spark, 3))
    store.write("panes", "all/late", panes(spark, 2, "late").drop(STATE))
    assert store.table("panes").columns == ["window_start", "timing"]
    assert store.table("panes").count() == 5


def test_small_plans_begin_with_a_frame_of_their_session(spark: SparkSession, lake: Lake) -> None:
    plans, store = SmallPlans.interpreted(spark), LakeStore(spark, lake, "r1")
    assert store.keep("census", lambda: panes(spark, 3), plans).sparkSession is plans.session
    assert store.keep("census", lambda: panes(spark, 3)).sparkSession is spark


@pytest.mark.parametrize("table", ["panes", "late_events", "invalid_events"])
def test_a_window_of_a_large_table_is_in_few_files(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setattr("spark_jobs.tables.time_order.ROWS_OF_A_FILE", 10)
    store, tasks = LakeStore(spark, lake, "r1"), 2
    rows = panes(spark, 80).drop(STATE).repartition(tasks).sortWithinPartitions(F.xxhash64("window_start"))
    for part, most in (("few", 10), ("many", 11)):
        store.expect(most)
        store.write(table, part, rows)
        staged = staging.read_part(spark, lake, "r1", table, part)
        file = F.input_file_name().alias("file")
        spans = staged.groupBy(file).agg(F.min("window_start").alias("first"), F.max("window_start").alias("last"))
        files = spans.collect()
        assert staged.count() == 80
        assert len(files) >= 8
        overlapping = max(sum(other.first <= each.first <= other.last for other in files) for each in files)
        # Rows without a window, and those of small tables, stay in the order in which they are computed.
        assert (overlapping <= tasks) == (part == "many" and table != "invalid_events"), files
