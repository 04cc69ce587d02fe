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
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.slicing_streams import drawn_pipeline, drawn_rows
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]

SEEDS = range(100)


def drawn_steps(draw: random.Random, rows: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What is done one after the other: `land` rows, run `arrivals` up to a moment, or replay a `part` of time."""
    late = draw.sample(rows, 3) if draw.random() < 0.25 else []
    waiting = [row for row in rows if row not in late]
    end = max(row["stored_at"] for row in rows if row["stored_at"])
    span = int((end - history.START).total_seconds())
    cuts = sorted(history.START + timedelta(seconds=draw.randrange(span)) for _ in range(draw.randint(1, 4)))
    for cut in cuts:
        batch = [row for row in waiting if row["stored_at"] is None or row["stored_at"] < cut + timedelta(minutes=5)]
        waiting = [row for row in waiting if row not in batch]
        yield "land", batch
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
def test_any_slicing_publishes_the_results_of_one_job(
    spark: SparkSession, tmp_path: Path, lake: Lake, number: int
) -> None:
    draw = random.Random(number)
    rows, table = drawn_rows(draw), tmp_path / "rows"
    pipeline = drawn_pipeline(draw, str(table))
    landed: list[dict[str, Any]] = []
    for step, argument in drawn_steps(draw, rows):
        if step == "land":
            landed += argument
            if argument or not table.exists():
                history.land(spark, argument, table)
            continue
        if step == "part":
            start, end = (aligned(moment, pipeline) for moment in argument)
            if start < end:
                run_steps(spark, pipeline, lake, Interval(start, end))
        else:
            run_steps(spark, pipeline, lake, arrived_to=argument)
        run = ledger.published(spark, lake)[-1]
        assert run.arrived_to is not None
        assert_published(spark, lake, replay_until(landed, pipeline, run.arrived_to), (step, argument))
