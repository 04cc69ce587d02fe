"""The staircase against a scan of the moments in order."""

import random
from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql import SparkSession

from spark_jobs.local_rows import local_rows
from spark_jobs.replay.watermark import staircase

Rise = tuple[str, int | None, int]  # partition, value, moment

SERIES = range(12)


def drawn(seed: int) -> tuple[dict[int, list[Rise]], dict[str, int | None]]:
    """Return the rises of each series, and the moment at which each partition joins (None: it always exists)."""
    draw = random.Random(seed)
    labels = [f"p{number}" for number in range(draw.randint(1, 5))]
    joined = {label: None if draw.random() < 0.3 else draw.randint(0, 8) for label in labels}
    rises = {
        series: [
            (label, draw.choice([None, *range(12)]), draw.randint(joined[label] or 0, 14))
            for label in labels
            for _ in range(draw.randint(0, 6))
        ]
        for series in SERIES
    }
    return rises, joined


def scanned(rises: Sequence[Rise], joined: Mapping[str, int | None]) -> list[int | None]:
    """Return the combined watermark after each of the moments 0 to 15, from its definition."""
    combined: list[int | None] = []
    highest: int | None = None
    for moment in range(16):
        existing = [label for label, join in joined.items() if join is None or join <= moment]
        reached = [
            max((value for of, value, at in rises if of == label and at <= moment and value is not None), default=None)
            for label in existing
        ]
        values = [value for value in reached if value is not None]
        if values and len(values) == len(reached):
            highest = min(values) if highest is None else max(highest, min(values))
        combined.append(highest)
    return combined


@pytest.mark.parametrize("seed", range(6))
def test_staircase_equals_a_scan_in_order(spark: SparkSession, seed: int) -> None:
    rises, joined = drawn(seed)
    rows = [(series, *rise) for series, of_series in rises.items() for rise in of_series]
    steps = staircase.steps(
        local_rows(spark, rows, "series int, partition string, value long, at int"),
        local_rows(spark, list(joined.items()), "partition string, joined int"),
        SERIES,
    ).localCheckpoint()
    expected = {series: scanned(rises[series], joined) for series in SERIES}

    probes = [(series, value) for series in SERIES for value in range(13)]
    reaching = staircase.first_reaching(local_rows(spark, probes, "series int, value long"), steps)
    assert {(row.series, row.value): row.at for row in reaching.collect()} == {
        (series, value): next(
            (at for at, reached in enumerate(expected[series]) if reached is not None and reached >= value), None
        )
        for series, value in probes
    }

    # A point lies after the rises of its moment; moments are doubled, so that points lie between them.
    doubled = steps.selectExpr("series", "above", "at * 2 as at")
    points = [(series, 2 * moment + 1) for series in SERIES for moment in range(16)]
    after = staircase.after(local_rows(spark, points, "series int, at int"), doubled)
    assert {(row.series, row.at // 2): row.value for row in after.collect()} == {
        (series, moment): reached for series in SERIES for moment, reached in enumerate(expected[series])
    }
