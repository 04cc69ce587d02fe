"""The census after an edit, from the census before it: equal to a new count of all rows."""

from __future__ import annotations

import random
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.replay.watermark.census import census
from spark_jobs.replay.watermark.changed_census import CHANGE, can_recount, recounted
from tests.sampling import sampled
from tests.support import history
from tests.support.edited_source import EditedSource, Row
from tests.support.engine import frame_of
from tests.support.slicing_streams import drawn_rows, drawn_settings

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

# Of groups without a place in the arrival order, only the number of rows has a meaning.
PLACED = ("max_ts_ms", "last_clock_us")


def counted(groups: DataFrame) -> list[str]:
    placed = F.col("bucket").isNotNull()
    named = {name: F.when(placed, F.col(name)) for name in PLACED}
    rows = groups.withColumns(named).select(*sorted(groups.columns)).collect()
    return sorted(str(row) for row in rows)


def census_of(spark: SparkSession, rows: list[Row], pipeline: Pipeline) -> DataFrame:
    events = frame_of(spark, rows, history.SCHEMA)
    return census(arrival_order.with_epoch(prepare(events, pipeline), pipeline), pipeline)


def changes(before: list[Row], after: list[Row]) -> list[tuple[Row, int]]:
    """Return the rows that differ, each with the number by which it became more."""
    numbers: dict[str, tuple[Row, int]] = {}
    for rows, sign in ((before, -1), (after, 1)):
        for row in rows:
            key = str(sorted(row.items()))
            numbers[key] = (row, numbers.get(key, (row, 0))[1] + sign)
    return [(row, n) for row, n in numbers.values() if n]


@pytest.mark.parametrize("seed", [sampled(seed, quick=seed == 3) for seed in (0, *range(3, 30))])
def test_a_change_of_rows_changes_the_census_as_a_new_count_would(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    pipeline = history.pipeline(str(tmp_path), **drawn_settings(draw))
    assert can_recount(pipeline)
    source = EditedSource(spark, tmp_path / "rows", drawn_rows(draw)[:120])
    source.land()
    before = [dict(row) for row in source.rows]
    # Identical rows change by more than one.
    source.append([{**before[7]}, {**before[7]}])
    for _ in range(3):
        source.draw_edit(draw)
    by_number: dict[int, list[Row]] = {}
    for row, number in changes(before, source.rows):
        by_number.setdefault(number, []).append(row)
    changed = reduce(
        DataFrame.unionByName,
        (
            prepare(frame_of(spark, rows, history.SCHEMA), pipeline).withColumn(CHANGE, F.lit(number))
            for number, rows in by_number.items()
        ),
    )
    events = frame_of(spark, source.rows, history.SCHEMA)
    again = recounted(census_of(spark, before, pipeline).localCheckpoint(), changed.localCheckpoint(), events, pipeline)
    assert counted(again.census) == counted(census_of(spark, source.rows, pipeline))
    placed, placed_before = (
        counted(census_of(spark, rows, pipeline).where("bucket is not null")) for rows in (source.rows, before)
    )
    assert again.is_same == (placed == placed_before)


def test_a_column_of_the_source_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    # Spark's own name for values that are taken out of arrays.
    pipeline, rows = history.pipeline(str(tmp_path)), history.events(60)
    rest, deleted = rows[:40], rows[40:]

    def named(some: list[Row]) -> DataFrame:
        return frame_of(spark, some, history.SCHEMA).withColumn("col", F.col("id"))

    def of(some: list[Row]) -> DataFrame:
        return census(arrival_order.with_epoch(prepare(named(some), pipeline), pipeline), pipeline, measures)

    measures = {"highest": F.max("col")}
    changed = prepare(named(deleted), pipeline).withColumn(CHANGE, F.lit(-1))
    again = recounted(of(rows), changed, named(rest), pipeline, measures)
    assert counted(again.census.where("bucket is not null")) == counted(of(rest).where("bucket is not null"))


def test_a_mended_value_leaves_the_census_the_same(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, rows = history.pipeline(str(tmp_path)), history.events(60)
    place = next(i for i, row in enumerate(rows) if i > 20 and row["reading"] is not None and row["reading"] < 40)
    row = rows[place]
    for other, is_same in (({**row, "reading": 1.0}, True), ({**row, "happened_at": row["stored_at"]}, False)):
        after = [*rows[:place], other, *rows[place + 1 :]]
        parts = (([row], -1), ([other], 1))
        changed = reduce(
            DataFrame.unionByName,
            (
                prepare(frame_of(spark, some, history.SCHEMA), pipeline).withColumn(CHANGE, F.lit(number))
                for some, number in parts
            ),
        )
        events = frame_of(spark, after, history.SCHEMA)
        assert recounted(census_of(spark, rows, pipeline), changed, events, pipeline).is_same is is_same
