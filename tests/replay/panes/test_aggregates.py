"""Aggregates that are put together from parts of a window, by how they are written; others take all of its rows."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from spark_jobs.replay.floats.compiled import compiled
from spark_jobs.replay.floats.exact_sum import Grids, Layout
from spark_jobs.replay.panes.aggregates import continued, state_parts, stored_columns
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

COLUMNS = "id long, site string, device string, reading double, happened timestamp, pair struct<a: int>"
PARTS = {
    "count(*)": 1,
    "COUNT(*)": 1,
    " Sum( reading ) ": 1,
    "sum(\n  reading\n)": 1,
    "sum(all reading)": 1,
    "count(coalesce(reading, 0))": 1,
    "count(site = 'a, b)')": 1,
    'max(if(site = "(", reading, 1))': 1,
    "min(`reading`)": 1,
    "avg(id)": 2,
    "mean(reading + 1)": 2,
    "count_if(reading > 0)": 1,
    "count(*) filter (where site = 'a')": 1,
    "sum(id) filter (where reading > 0)": 1,
    "sum(reading) + sum(id)": 2,
    "count(reading) / count(*)": 2,
    "max(reading) - min(reading)": 2,
    "round(avg(reading), 1)": 2,
    "coalesce(sum(id), 0)": 1,
    "cast(sum(reading) as int)": 1,
    "sum(id) / nullif(count(*), 0)": 2,
    "case when count(*) between 2 and 9 then max(site) end": 2,
    "concat('{}', max(site)) /* } */": 1,
    "transform(array(sum(id)), id -> id + count(*))": 2,
    "max(date(happened))": 1,
    "1D + max(cast(reading as decimal(10, 2)))": 1,
}
#: What cannot be continued, or not without doubt.
OF_ALL_ROWS = {
    "different values": ["count(distinct site)", "COUNT(DISTINCT site)", "1 + sum(distinct id)"],
    "several arguments": ["count(site, device)", "1 + count(site, device)", "count(pair.*)"],
    "sums of decimals": ["sum(cast(reading as decimal(10, 2)))", "round(avg(cast(reading as decimal(10, 2))), 1)"],
    "other aggregates": ["percentile(reading, 0.5)", "collect_list(id)", "count(*) + percentile(reading, 0.5)"],
    "a try that a sum on the way decides": ["try_sum(id)", "sum(id) + try_sum(id)"],
    "a column of the rows beside the calls": ["sum(id) + id", "concat(device, max(site))"],
    "a column of another table beside the calls": ["sum(id) + (select 1)"],
    "no call": ["1", "'sum(id)'"],
    "chance": ["sum(id) + rand()"],
    "windows of Spark": ["sum(id) + sum(count(*)) over ()"],
    "several rows": ["explode(array(sum(id)))"],
    "a state that no table can hold": ["extract(hour from max(happened - happened))", "max(struct(id, site)).site"],
    "a state in a collation": ["1 + length(max(site collate unicode_ci))"],
}


def parts_of(spark: SparkSession, expression: str) -> list[int] | None:
    """How many parts the state of an aggregate has, beside one that has a part always."""
    pipeline = history.pipeline("t", windows__aggregates=json.dumps({"a": expression, "n": "count(*)"}))
    aggregates = continued(spark.createDataFrame([], COLUMNS), pipeline)
    return None if aggregates is None else [len(aggregate.parts) for aggregate in aggregates]


@pytest.mark.parametrize("expression", PARTS)
def test_calls_of_one_argument_and_what_is_around_them_are_put_together(spark: SparkSession, expression: str) -> None:
    assert parts_of(spark, expression) == [PARTS[expression], 1]


@pytest.mark.parametrize("expression", [text for texts in OF_ALL_ROWS.values() for text in texts])
def test_aggregates_without_parts_need_all_rows(spark: SparkSession, expression: str) -> None:
    assert parts_of(spark, expression) is None


@pytest.mark.parametrize(
    ("layout", "parts", "stored"), [(Layout.PLAIN, 3, 1), (Layout.SPLIT, 4, 3), (Layout.TRIPLE, 5, 4)]
)
def test_a_part_of_several_aggregates_is_kept_once(
    spark: SparkSession, layout: Layout, parts: int, stored: int
) -> None:
    texts = {"total": "sum(reading)", "mean": "avg(reading)", "n": "count(*)"}
    rows = spark.createDataFrame([], "id long, reading double")
    pipeline = history.pipeline("t", windows__aggregates=json.dumps(texts))
    going_on = continued(rows, compiled(rows, pipeline, {"(reading)": Grids(layout)}))
    assert going_on is not None
    assert (len(state_parts(going_on)), len(stored_columns(going_on))) == (parts, stored)


@pytest.mark.parametrize("layout", [Layout.BINNED, Layout.LISTED])
def test_sums_with_an_array_are_not_continued(spark: SparkSession, layout: Layout) -> None:
    rows = spark.createDataFrame([], "id long, reading double")
    pipeline = history.pipeline("t", windows__aggregates="{total: sum(reading)}")
    assert continued(rows, compiled(rows, pipeline, {"(reading)": Grids(layout)})) is None
