"""The stretches of a timeline against a search of its sorted watermarks; a row meets few of them, whatever the gaps."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.local_rows import local_rows
from spark_jobs.replay.watermark.stretches import CELL, FEW, REACHED_MS, REACHED_US, stretches

pytestmark = pytest.mark.spark

MINUTE, DAY, YEAR = 60_000, 86_400_000, 365 * 86_400_000
#: A sentinel of 1900, then a day with a burst in it, and a load at one moment of it: gaps within gaps.
GAPS = [-70 * YEAR, *range(50 * YEAR, 50 * YEAR + 60 * MINUTE, MINUTE), *range(50 * YEAR + DAY, 50 * YEAR + DAY + 90)]
GAPS += [50 * YEAR + DAY + 3 * MINUTE * number**2 for number in range(1, 60)]
RANDOM = sorted(random.Random(5).sample(range(-400, 400), 150))


@pytest.mark.parametrize(
    "watermarks", [sorted(GAPS), [7], RANDOM, [*RANDOM, 2**60]], ids=["gaps", "single", "dense", "far"]
)
def test_each_time_is_reached_by_the_first_watermark_at_it_or_after(
    session: SparkSession, watermarks: list[int]
) -> None:
    advances = [(place, watermark, place * 10) for place, watermark in enumerate(watermarks)]
    timeline = local_rows(session, advances, "epoch bigint, watermark_ms bigint, clock_us bigint").cache()
    by_cell = stretches(timeline)
    assert by_cell is not None
    times = {near for watermark in watermarks for near in (watermark - 1, watermark, watermark + 1)}
    times |= {watermarks[0] - YEAR, watermarks[-1] + YEAR, 2**62, -(2**62)}
    rows = local_rows(session, [(time,) for time in times], "time bigint")
    reached = by_cell.first_reaching(rows, F.col("time"))
    assert set(reached.columns) == {"time", REACHED_MS, REACHED_US}
    expected = {}
    for time in times:
        place = bisect_left(watermarks, time)
        expected[time] = (watermarks[place], place * 10) if place < len(watermarks) else (None, None)
    assert sorted((row["time"], (row[REACHED_MS], row[REACHED_US])) for row in reached.collect()) == sorted(
        expected.items()
    )
    fullness = [row["count"] for row in by_cell.entries.groupBy(CELL).count().collect()]
    assert max(fullness) <= FEW + 1
    assert sum(fullness) <= 4 * len(watermarks) * (len(by_cell.cuts) + 1)


def test_a_timeline_without_an_advance_has_no_stretches(session: SparkSession) -> None:
    nothing = local_rows(session, [], "epoch bigint, watermark_ms bigint, clock_us bigint")
    assert stretches(nothing) is None
