"""Totals of complete results, and the order of the faithful results in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.replay.panes import complete_results
from spark_jobs.replay.sessions.complete_sessions import by_start

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

AT = datetime(2024, 3, 4, tzinfo=UTC)


def test_totals_count_windows_without_all_rows_and_windows_not_shown(spark: SparkSession) -> None:
    results = spark.createDataFrame([(0, True), (2, True), (5, False), (0, True)], "missed_rows long, is_shown boolean")
    assert complete_results.totals(results).collect()[0].asDict() == {
        "windows": 4,
        "lacking": 2,
        "not_shown": 1,
        "missed": 7,
    }
    nothing = complete_results.totals(results.where("false")).collect()[0].asDict()
    assert nothing == {"windows": 0, "lacking": 0, "not_shown": 0, "missed": 0}


def test_sessions_that_are_shown_stand_in_the_order_of_their_bounds(spark: SparkSession) -> None:
    bounds = [(0, 9), (-5, 2), (0, 4), (-5, 1), (3, 4), (-90, 0)]
    sessions = [(AT + timedelta(seconds=a), AT + timedelta(seconds=b), {f"{a}": b}) for a, b in bounds]
    kind = "shown array<struct<window_start timestamp, window_end timestamp, counts map<string, int>>>"
    frame = spark.createDataFrame([(sessions,)], kind).select(by_start(F.col("shown")).alias("shown"))
    parts = [(part.window_start, part.window_end, part.counts) for part in frame.collect()[0].shown]
    in_order = sorted(sessions, key=lambda part: part[:2])
    assert [(a.replace(tzinfo=UTC), b.replace(tzinfo=UTC), counts) for a, b, counts in parts] == in_order
