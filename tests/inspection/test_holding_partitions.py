"""The source, Spark and the published tables agree on who holds the watermark back, and who is idle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain.explanations import PartitionWatermark
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import of_source
from spark_jobs.inspection.bounded_source import Deadline
from spark_jobs.inspection.published_explanations import window_dates
from spark_jobs.inspection.replayed_explanations import ReplayedSource
from spark_jobs.inspection.row_choices import has_value
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.engine import frame_of
from tests.support.recorded_publication import land, publish

# Partition, minute of the event, and minute of the arrival.
JOINS_BEHIND = (("north", 30, 30), ("south", -60, 40), ("north", 120, 50), ("north", 121, 60))
ONE_FALLS_IDLE = (("south", 0, 0), ("north", 1, 1), ("north", 40, 41), ("north", 41, 45))
ALL_FALL_IDLE = (("south", 0, 0), ("north", 1, 1), ("north", 2, 60), ("north", 3, 61))
# The state of each partition before the last row: what it does to the watermark, its minute, and its idleness.
CASES = {
    "joins behind": (JOINS_BEHIND, "", [("north", False, 120, False), ("south", True, -60, False)]),
    "one falls idle": (ONE_FALLS_IDLE, "5 minutes", [("north", False, 40, False), ("south", False, 0, True)]),
    "all fell idle": (ALL_FALL_IDLE, "5 minutes", [("north", False, 2, False), ("south", False, 0, True)]),
}


def rows_of(moments: Sequence[tuple[str, int, int]]) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "site": site,
            "device": "a",
            "happened_at": history.START + timedelta(minutes=happened),
            "stored_at": history.START + timedelta(minutes=stored),
            "reading": 1.0,
        }
        for number, (site, happened, stored) in enumerate(moments)
    ]


def pipeline_of(table: str, idle_timeout: str) -> Pipeline:
    more = {"watermark__idle_timeout": idle_timeout} if idle_timeout else {}
    return history.pipeline(table, watermark__out_of_orderness="0s", **more)


def states(partitions: Sequence[PartitionWatermark] | None) -> list[tuple[str, bool, int, bool | None]]:
    assert partitions is not None
    return [
        (each.source_partition, each.holds_back, minute_of(each.watermark), each.is_idle)
        for each in sorted(partitions, key=lambda each: each.source_partition)
    ]


def minute_of(watermark: datetime | None) -> int:
    assert watermark is not None
    return round((watermark - history.START) / timedelta(minutes=1))


@pytest.mark.parametrize("name", CASES)
def test_the_source_names_who_holds_back_and_who_is_idle(name: str) -> None:
    moments, idle_timeout, expected = CASES[name]
    source = ReplayedSource(pipeline_of("rows", idle_timeout), rows_of(moments), Deadline.within(60))
    (row,) = source.rows(has_value("id", str(len(moments) - 1)), 9)
    assert states(row.partitions) == expected


@pytest.mark.spark
def test_spark_names_the_same(session: SparkSession) -> None:
    for moments, idle_timeout, expected in CASES.values():
        stream = of_source(frame_of(session, rows_of(moments), history.SCHEMA), pipeline_of("rows", idle_timeout))
        (row,) = explain_rows(stream, [F.col("id") == len(moments) - 1], 9)
        assert states(row.partitions) == expected


@pytest.mark.parametrize(
    ("moments", "idle_timeout", "minute", "expected"),
    [
        # The watermark passes 22:10 at the row of 22:40 alone: south is idle, and north decides.
        (ONE_FALLS_IDLE, "5 minutes", 0, [("north", False, 40, None), ("south", False, 0, True)]),
        (
            (("north", 1, 1), ("south", 2, 2), ("north", 50, 50), ("south", 20, 51)),
            "",
            0,
            [("north", False, 50, False), ("south", True, 20, False)],
        ),
        (
            (("north", 1, 1), ("south", 2, 2), ("north", 50, 50), ("south", 20, 51)),
            "10 hours",
            0,
            [("north", False, 50, None), ("south", True, 20, None)],
        ),
    ],
)
def test_the_tables_name_what_a_firing_proves(
    tmp_path: Path,
    moments: Sequence[tuple[str, int, int]],
    idle_timeout: str,
    minute: int,
    expected: list[tuple[str, bool, int, bool | None]],
) -> None:
    rows = rows_of(moments)
    pipeline = pipeline_of(str(land(tmp_path / "rows", rows)), idle_timeout)
    publication = publish(Lake(str(tmp_path / "lake"), "readings"), pipeline, [*rows, *later(rows)])
    dates = window_dates(publication, history.START + timedelta(minutes=minute))
    assert dates is not None
    assert states(dates.partitions) == expected


def later(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row that ends the minute of the last row."""
    last = rows[-1]
    return [{**last, "id": len(rows), "stored_at": last["stored_at"] + timedelta(minutes=2)}]
