"""Which files may hold a moment, by what Delta has written down of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.pruning import overlap_condition, spans

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TEN = datetime(2024, 3, 4, 10, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def at(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stats(rows: int = 9, nulls: int = 0, **columns: tuple[datetime, datetime]) -> str:
    bounds = [{name: at(pair[i]) for name, pair in columns.items()} for i in (0, 1)]
    counts = dict.fromkeys(("window_start", "event_time"), nulls)
    return json.dumps({"numRecords": rows, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": counts})


def hour(first: int, last: int | None = None) -> tuple[datetime, datetime]:
    return TEN + timedelta(hours=first), TEN + timedelta(hours=first if last is None else last)


FILES = {
    "before": stats(window_start=hour(-3, -1)),
    "up to the start": stats(window_start=hour(-3, 0)),
    "finer than a millisecond": stats(window_start=(TEN - timedelta(hours=3), TEN - MILLISECOND)),
    "inside": stats(window_start=hour(1)),
    "around": stats(window_start=hour(-3, 9)),
    "just before the end": stats(window_start=(TEN + timedelta(hours=2) - MILLISECOND, TEN + timedelta(hours=9))),
    "from the end on": stats(window_start=hour(2, 9)),
    "told nothing": None,
    "told of no time": json.dumps({"numRecords": 9}),
    "without a window": stats(nulls=9),
}
KEPT = {
    "up to the start",
    "finer than a millisecond",
    "inside",
    "around",
    "just before the end",
    "told nothing",
    "told of no time",
}


def paths_where(spark: SparkSession, files: dict[str, Any], condition: str) -> set[str]:
    rows = spark.createDataFrame([*files.items()], "path string, stats string")
    return {row.path for row in rows.where(condition).collect()}


def test_file_is_pruned_only_if_its_statistics_exclude_the_range(spark: SparkSession) -> None:
    start, end = hour(0, 2)
    assert paths_where(spark, FILES, overlap_condition(["window_start"], start, end)) == KEPT
    assert paths_where(spark, FILES, overlap_condition(["window_start"], start, None)) == {*KEPT, "from the end on"}
    assert paths_where(spark, FILES, overlap_condition(["window_start"], None, end)) == {*KEPT, "before"}
    assert paths_where(spark, FILES, overlap_condition(["window_start"], None, None)) == {*FILES}


def test_any_of_several_columns_keeps_a_file(spark: SparkSession) -> None:
    files = {
        "by its event time": stats(window_start=hour(-3), event_time=hour(1)),
        "by its window": stats(window_start=hour(1), event_time=hour(9)),
        "by neither": stats(window_start=hour(-3), event_time=hour(-2)),
        "between the two": stats(window_start=hour(-3), event_time=hour(9)),
        "of one column nothing": stats(event_time=hour(9)),
        "of one column none": stats(nulls=9, event_time=hour(9)),
    }
    paths = paths_where(spark, files, overlap_condition(["window_start", "event_time"], *hour(0, 2)))
    assert paths == {*files} - {"by neither", "of one column none"}


def test_spans_come_from_statistics_and_lack_bounds_without_them() -> None:
    added = [
        {"add": {"path": path, **({} if file_spans is None else {"stats": file_spans})}}
        for path, file_spans in FILES.items()
    ]
    empty = {"add": {"path": "empty", "stats": json.dumps({"numRecords": 0, "minValues": {}, "maxValues": {}})}}
    file_spans = spans("window_start", [*added[3:5], {"commitInfo": {}}, empty, added[7], added[8]])
    starts, ends = zip(*file_spans, strict=True)
    assert starts == (TEN + timedelta(hours=1), TEN - timedelta(hours=3), None, None)
    assert [end and end > bound for end, bound in zip(ends, (hour(1)[1], hour(9)[1], TEN, TEN), strict=True)] == [
        True,
        True,
        None,
        None,
    ]
