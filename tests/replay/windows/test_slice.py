"""The conditions of a slice as Spark evaluates them, against its definition row by row."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import WindowKind, Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.windows.slice import EVERYTHING, Slice

MINUTE = 60_000
SLICES = [
    EVERYTHING,
    Slice("late", 3 * MINUTE, None),
    Slice("early", None, 4 * MINUTE),
    Slice("middle", 2 * MINUTE, 5 * MINUTE),
    Slice("parts", -2 * MINUTE, None, ((-2 * MINUTE, -MINUTE), (MINUTE, 2 * MINUTE), (6 * MINUTE, None))),
]
#: The windows of an instant begin at these, oldest first; an instant between two windows has none.
KINDS = {
    "tumbling": Windows(size_ms=MINUTE),
    "sliding": Windows(kind=WindowKind.SLIDING, size_ms=3 * MINUTE, slide_ms=MINUTE),
    "with gaps": Windows(kind=WindowKind.SLIDING, size_ms=20_000, slide_ms=MINUTE),
}
TIMES = [MINUTE * number // 2 + 7 for number in range(-8, 24)]


def windows_of(ts: int, spec: Windows) -> list[int]:
    """Return the windows of an instant, or the window before it if it has none."""
    newest = ts // spec.period_ms * spec.period_ms
    starts = [
        start for start in range(newest, newest - 10 * spec.period_ms, -spec.period_ms) if start + spec.size_ms > ts
    ]
    return starts or [newest]


def contains(part: Slice, start: int) -> bool:
    return any(
        (first is None or first <= start) and (end is None or start < end)
        for first, end in part.stretches_ms or [(part.start_ms, part.end_ms)]
    )


@pytest.mark.spark
@pytest.mark.parametrize("part", SLICES, ids=lambda part: part.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_holds_windows_and_reaches_rows(spark: SparkSession, part: Slice, kind: str) -> None:
    spec = KINDS[kind]
    rows = spark.createDataFrame([(ts,) for ts in TIMES], f"{c.TS_MS} LONG")
    placed = rows.withColumn(c.WINDOW_MS, window_assigners.start_ms(F.col(c.TS_MS), spec))
    as_groups = placed.withColumns({"slice_ms": F.col(c.TS_MS), "window_ms": F.col(c.WINDOW_MS)})
    conditions = as_groups.select(
        c.TS_MS,
        part.holds(c.WINDOW_MS).alias("holds"),
        part.reaches_row(spec).alias("row"),
        part.reaches_group(spec).alias("group"),
    )
    for row in conditions.collect():
        starts = windows_of(row[c.TS_MS], spec)
        assert row["holds"] == contains(part, starts[0])
        assert row["row"] == row["group"] == any(contains(part, start) for start in starts)
