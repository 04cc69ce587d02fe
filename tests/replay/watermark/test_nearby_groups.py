"""Nearby groups have the watermarks of all groups in their range, and are few where the range is short."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.replay.watermark import combined
from spark_jobs.replay.watermark.census import census, moving
from spark_jobs.replay.watermark.nearby_groups import Range, has_nearby_groups, nearby_groups
from spark_jobs.replay.windows import calendar
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import frame_of
from tests.support.slicing_streams import drawn_rows, drawn_settings

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def census_of(spark: SparkSession, rows: list[dict[str, object]], pipeline: Pipeline) -> DataFrame:
    events = frame_of(spark, rows, history.SCHEMA)
    return census(arrival_order.with_epoch(prepare(events, pipeline), pipeline), pipeline).localCheckpoint()


def watermarks(groups: DataFrame, ticks: list[int], pipeline: Pipeline) -> list[str]:
    """Return the watermarks before the rows of `ticks` and after their emissions, and the end of the input."""
    moves, spark = moving(groups, pipeline), groups.sparkSession
    epochs = spark.createDataFrame([(tick,) for tick in ticks], "epoch long")
    points = (combined.points_before(epochs, pipeline), combined.points_after(epochs, pipeline))
    reached = [row for each in points for row in combined.combined(each, moves, moves, pipeline).collect()]
    end = moves.agg(F.max("bucket"), F.max("last_clock_us")).collect()[0]
    return [*sorted(map(str, reached)), str(tuple(end))]


@pytest.mark.parametrize("seed", [sampled(seed, quick=seed == 0) for seed in range(4)])
def test_watermarks_of_a_range_are_those_of_all_groups(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    drawn = (history.pipeline(str(tmp_path), **drawn_settings(draw)) for _ in count())
    pipeline = next(pipeline for pipeline in drawn if has_nearby_groups(pipeline))
    groups = census_of(spark, drawn_rows(draw), pipeline)
    ticks = sorted(row.bucket for row in groups.where("bucket is not null").select("bucket").distinct().collect())
    for _ in range(3):
        first, last = sorted(draw.choices(ticks, k=2))
        near = Range(draw.choice([first, first, None]), draw.choice([last, last, None]))
        inside = [tick for tick in ticks if (near.first or tick) <= tick <= (near.last or tick)]
        few = nearby_groups(groups, near, pipeline)
        assert watermarks(few, inside, pipeline) == watermarks(groups, inside, pipeline), (seed, near)


def test_few_groups_stand_for_a_long_history(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = history.pipeline(str(tmp_path))
    groups = census_of(spark, history.events(600), pipeline)
    placed = groups.where("bucket is not null")
    ticks = sorted(row.bucket for row in placed.select("bucket").distinct().collect())
    near = Range(ticks[len(ticks) // 2], ticks[len(ticks) // 2 + 2])
    partitions = placed.select("partition").distinct().count()
    few = nearby_groups(groups, near, pipeline)
    joined = placed.groupBy("partition").agg(F.min("bucket").alias("at")).agg(F.max("at")).collect()[0][0]
    stays = placed.where((F.col("bucket") <= joined) | near.holds(F.col("bucket"))).count()
    assert few.where("bucket is not null").count() <= stays + 2 * partitions < placed.count() / 2


def test_windows_that_fire_in_the_range_have_the_same_entries(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = history.pipeline(str(tmp_path))
    groups = census_of(spark, history.events(600), pipeline)
    book = calendar.calendar(groups, groups, pipeline).drop("holds").localCheckpoint()
    fired = sorted(row.fires_epoch for row in book.where("closes_epoch is not null").collect())
    near = Range(fired[len(fired) // 3], fired[2 * len(fired) // 3])
    inside = book.where(near.holds(F.col("fires_epoch")) & near.holds(F.col("closes_epoch")))
    few = nearby_groups(groups, near, pipeline).localCheckpoint()
    again = calendar.entries(inside.select("window_ms"), few, few, pipeline)
    assert inside.count() > 3
    assert sorted(map(str, again.collect())) == sorted(map(str, inside.select(*again.columns).collect()))
