"""The main path of a replay is native: no row of the source passes through Spark's own operators."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.replay.engine import stages_of
from spark_jobs.replay.floats import compiled, measured
from spark_jobs.replay.floats.exact_sum import Layout
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.joins.interval_join import interval_join
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.stages.pane_stages import PaneStages
from spark_jobs.replay.watermark.census import census
from spark_jobs.session import SmallPlans
from spark_jobs.tables import source
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.join_histories import split

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("comet")]

OF_ROWS = {"CometNativeScan", "CometFilter", "CometProject", "CometHashAggregate"}
JOINED = {*OF_ROWS, "CometBroadcastHashJoin", "CometBroadcastExchange"}


@pytest.fixture(name="stages_for")
def _stages_for(spark: SparkSession, table: str, lake: Lake) -> Callable[..., PaneStages]:
    """Return the stages of a replay over the table, with intermediates in a lake."""

    def stages_for(**settings: str) -> PaneStages:
        pipeline, store = history.pipeline(table, **settings), LakeStore(spark, lake, "r1")
        rows = SourceRows(source.read(spark, table, 0), pipeline, store)
        stages = stages_of(Ground(rows, pipeline, store, plans=SmallPlans.interpreted(spark)))
        assert isinstance(stages, PaneStages)
        return stages

    return stages_for


def operators(frame: DataFrame) -> set[str]:
    """Return the names of the operators of the plan that would run."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    names = [line.lstrip("+-: *()0123456789").split()[0] for line in plan.splitlines() if line.strip()]
    # Python reads rows.
    assert names[0] == "CometColumnarToRow"
    return set(names[1:])


def test_the_census_is_native(spark: SparkSession, table: str) -> None:
    pipeline = history.pipeline(table)
    rows = SourceRows(source.read(spark, table, 0), pipeline, LakeStore(spark, Lake("none", "none"), "r1"))
    assert operators(census(rows.placed, pipeline)) == (OF_ROWS - {"CometFilter"}) | {"CometExchange"}


def test_the_census_measures_sums_natively(spark: SparkSession, table: str) -> None:
    pipeline = history.pipeline(table)
    rows = SourceRows(source.read(spark, table, 0), pipeline, LakeStore(spark, Lake("none", "none"), "r1"))
    values = compiled.measured(rows.prepared, pipeline)
    assert len(values) == 1
    plan = census(rows.placed, pipeline, measured.columns(values))
    assert operators(plan) == (OF_ROWS - {"CometFilter"}) | {"CometExchange"}


def test_the_pairs_of_an_interval_join_are_native(spark: SparkSession, table: str, lake: Lake) -> None:
    every = {"out_of_orderness": "2 minutes", "emit": {"every": "30 seconds"}}
    pipeline = split({"readings": table}, watermark=every)
    left, right = source.inputs(spark, pipeline, {"": 0})
    store = LakeStore(spark, lake, "r1")
    joined = interval_join(left, right, joining(pipeline), bounds(pipeline), store)
    assert {name for name in operators(joined.pairs) if not name.startswith("Comet")} <= {"ReusedExchange"}


def test_on_time_panes_are_native(stages_for: Callable[..., PaneStages]) -> None:
    assert operators(stages_for().on_time_panes()) == {*JOINED, "CometExchange"}


@pytest.mark.parametrize(
    ("value", "layout"),
    [("reading", Layout.PLAIN), ("reading / 3", Layout.SPLIT), ("reading / 3 + id / 3e15", Layout.TRIPLE)],
)
def test_exact_sums_are_native(stages_for: Callable[..., PaneStages], value: str, layout: Layout) -> None:
    stages = stages_for(windows__aggregates=json.dumps({"total": f"sum({value})", "mean": f"avg({value})"}))
    ground = stages._ground
    (grids,) = measured.grids(ground.census, ground._measured, ground.pipeline).values()
    assert grids.layout is layout
    assert operators(stages.on_time_panes()) == {*JOINED, "CometExchange"}


def test_rows_behind_their_windows_are_found_natively(stages_for: Callable[..., PaneStages], tmp_path: Path) -> None:
    stages = stages_for()
    assert operators(stages.on_time) == JOINED - {"CometHashAggregate"}
    assert operators(stages.late_rows) == {"CometNativeScan"}


def test_results_are_native(stages_for: Callable[..., PaneStages]) -> None:
    stages = stages_for()
    for write in (*stages.first_panes, *stages.more_panes):
        write()
    names = operators(stages._results())
    assert {name for name in names if not name.startswith("Comet")} <= {"ReusedExchange"}


def test_the_last_value_of_a_frame_is_left_to_spark(spark: SparkSession) -> None:
    """Comet reads all rows of the frame for each of its rows."""
    so_far = Window.partitionBy(F.lit(0)).orderBy("id").rowsBetween(Window.unboundedPreceding, 0)
    rows = spark.range(9).withColumn("even", F.when(F.col("id") % 2 == 0, F.col("id")))
    last, most = (
        str(rows.select("id", value.over(so_far))._jdf.queryExecution().executedPlan().toString())
        for value in (F.last("even", ignorenulls=True), F.max("even"))
    )
    assert "CometWindow" in most
    assert "CometWindow" not in last
