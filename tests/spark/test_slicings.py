"""Random slicings of random histories: whatever is run in whatever pieces and order, one job's answer is published.

Rows come into the source in several commits, a few of them after their time. Runs take arrivals up to moments in any
order, some twice, and parts of event time between them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.spark import history
from tests.spark.test_arrival_slices import seen
from tests.spark.whole_run import assert_published, taken

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]

SEEDS = range(100)
ROWS = 260


def drawn_rows(draw: random.Random) -> list[dict[str, Any]]:
    """Rows in the order of arrival; times often meet ticks and the ends of windows."""
    stored, rows = history.START, []
    sites = draw.sample(["north", "south", "east"], draw.randint(1, 3))
    for i in range(ROWS):
        stored += timedelta(seconds=draw.choice([0, 1, 7, 30, 30, 60, 90, 400]))
        delay = draw.choice([0, 0, 1, 10, 10, 30, 60, 120, 600] if draw.random() < 0.93 else [2400, 9000, 40_000, -90])
        row = {
            "id": i,
            "site": draw.choice(sites) if i > ROWS // 3 else sites[0],
            "device": draw.choice(["a", "b", None]),
            "happened_at": stored - timedelta(seconds=delay),
            "stored_at": stored,
            "reading": draw.randrange(-40, 200) / 4,
        }
        if draw.random() < 0.03:
            row[draw.choice(["happened_at", "stored_at"])] = None
        rows.append(row)
    return rows


def drawn_pipeline(draw: random.Random, table: str) -> Pipeline:
    """Mostly of those that go on where the last run has ended."""
    overrides = {
        "watermark__out_of_orderness": draw.choice(["0s", "10s", "1 minute", "20 minutes"]),
        "watermark__emit": "{every: " + draw.choice(["1s", "30s", "7 minutes"]) + "}",
        "watermark__placement": draw.choice(["source", "after_where"]),
        "windows__size": draw.choice(["1 minute", "10 minutes", "37 minutes", "3 hours"]),
        "windows__allowed_lateness": draw.choice(["0s", "3 minutes", "10 minutes", "2 hours"]),
        "windows__accumulation": draw.choice(["accumulating", "accumulating", "discarding", "retracting"]),
        "windows__late_data": draw.choice(["side_output", "side_output", "drop"]),
        "quality__max_too_late_ratio": "1",
    }
    if draw.random() < 0.2:
        overrides["windows__late_panes"] = "per_epoch"
    if draw.random() < 0.4:
        slide = draw.choice(["4 minutes", "10 minutes", "25 minutes", "1 hour"])
        overrides |= {"windows__kind": "sliding", "windows__slide": slide}
    elif draw.random() < 0.2:
        gap = draw.choice(["20 seconds", "5 minutes"])
        overrides |= {"windows__kind": "session", "windows__gap": gap, "windows__size": "null"}
        overrides |= {"windows__accumulation": "accumulating", "windows__late_data": "side_output"}
        overrides.pop("windows__late_panes", None)
    if draw.random() < 0.15:
        overrides["watermark__idle_timeout"] = "45 seconds"
    return history.pipeline(table, **overrides)


def drawn_steps(draw: random.Random, rows: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What is done one after the other: `land` rows, run `arrivals` up to a moment, or replay a `part` of time."""
    late = draw.sample(rows, 3) if draw.random() < 0.25 else []
    waiting = [row for row in rows if row not in late]
    end = max(row["stored_at"] for row in rows if row["stored_at"])
    span = int((end - history.START).total_seconds())
    cuts = sorted(history.START + timedelta(seconds=draw.randrange(span)) for _ in range(draw.randint(1, 4)))
    for cut in cuts:
        there = [row for row in waiting if row["stored_at"] is None or row["stored_at"] < cut + timedelta(minutes=5)]
        waiting = [row for row in waiting if row not in there]
        yield "land", there
        yield "arrivals", cut
        if draw.random() < 0.3:
            yield "arrivals", draw.choice(cuts[: cuts.index(cut) + 1])
        if draw.random() < 0.3:
            start = history.START + timedelta(seconds=draw.randrange(span))
            yield "part", (start, start + timedelta(seconds=draw.randrange(1, span)))
    yield "land", waiting + late
    yield "arrivals", end + timedelta(seconds=draw.choice([1, 60, 100_000]))


def aligned(moment: datetime, pipeline: Pipeline) -> datetime:
    period = timedelta(milliseconds=pipeline.windows.period_ms or 1)
    return moment - (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)) % period


@pytest.mark.parametrize("number", SEEDS)
def test_any_slicing_publishes_what_one_job_says(spark: SparkSession, tmp_path: Path, lake: Lake, number: int) -> None:
    draw = random.Random(number)
    rows, table = drawn_rows(draw), tmp_path / "rows"
    pipeline = drawn_pipeline(draw, str(table))
    landed: list[dict[str, Any]] = []
    for step, what in drawn_steps(draw, rows):
        if step == "land":
            landed += what
            if what or not table.exists():
                history.land(spark, what, table)
            continue
        if step == "part":
            start, end = (aligned(moment, pipeline) for moment in what)
            if start < end:
                taken(spark, pipeline, lake, Interval(start, end))
        else:
            taken(spark, pipeline, lake, arrived_to=what)
        shown = ledger.published(spark, lake)[-1]
        assert shown.arrived_to is not None
        assert_published(spark, lake, seen(landed, pipeline, shown.arrived_to), (step, what))
