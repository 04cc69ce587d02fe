"""The condition that an interval contains a window, as Spark evaluates it, against the definition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds

START = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
#: Half a second apart, before 1970 and after; the last is no window at all.
MOMENTS = [START + timedelta(milliseconds=500 * number) for number in range(12)]


def between(first: int | None, end: int | None) -> Interval:
    start = None if first is None else MOMENTS[first] + timedelta(microseconds=1)
    return Interval(start, None if end is None else MOMENTS[end])


STRETCHES = (between(None, 1), between(2, 4), between(6, 7), between(9, None))
INTERVALS = [
    Interval(),
    between(3, None),
    between(None, 5),
    between(2, 8),
    Interval(MOMENTS[4], MOMENTS[4]),
    Interval(stretches=STRETCHES),
    Interval(STRETCHES[1].start, STRETCHES[2].end, stretches=STRETCHES[1:3]),
]


@pytest.mark.spark
@pytest.mark.parametrize("interval", INTERVALS)
def test_an_interval_holds_the_windows_of_its_pieces(spark: SparkSession, interval: Interval) -> None:
    micros = [(moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for moment in MOMENTS]
    rows = spark.createDataFrame([*enumerate(micros), (99, None)], "number INT, us LONG")
    inside = rows.where(holds(interval, "timestamp_micros(us)")).select("number").collect()
    expected = {
        number
        for number, moment in enumerate(MOMENTS)
        for piece in interval.pieces
        if (piece.start is None or piece.start <= moment) and (piece.end is None or moment < piece.end)
    }
    # A row without a window is in the interval of all time alone.
    assert {row.number for row in inside} == expected | ({99} if interval.whole else set())


@pytest.mark.spark
def test_files_are_skipped_by_the_condition(spark: SparkSession) -> None:
    rows = spark.range(1).select(F.timestamp_millis("id").alias("window_start"))
    plan = rows.where(holds(Interval(stretches=STRETCHES[1:3]), "window_start"))._jdf.queryExecution()
    # Delta and Parquet compare a column with constants.
    assert "timestamp_micros(" not in str(plan.optimizedPlan()).lower()
