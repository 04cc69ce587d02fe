"""Where a run goes on, worked by hand: windows of an hour, an hour of lateness, no bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.semantics.rows.instants import micros
from tests.support import history

pytestmark = pytest.mark.spark

MS = timedelta(milliseconds=1)
KEPT = (
    "emitted_at timestamp, watermark timestamp, "
    "partition_watermarks array<struct<source_partition: string, watermark: timestamp>>"
)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2024, 3, 4, hour, minute, tzinfo=UTC)


@pytest.fixture
def pipeline() -> Pipeline:
    return history.pipeline("any", windows__size="1 hour", windows__allowed_lateness="1 hour")


@pytest.fixture(scope="module")
def watermark_rows(session: SparkSession) -> DataFrame:
    """Each emission takes the watermark to the last millisecond of a window, or between two."""
    emissions = [
        (at(8, 5), at(8) - MS),
        (at(9, 5), at(9) - MS),  # fires 8 to 9, closes 7 to 8
        (at(10, 5), at(10) - MS),  # fires 9 to 10, closes 8 to 9
        (at(10, 40), at(10, 30)),
        (at(11, 5), at(11) - MS),  # fires 10 to 11, closes 9 to 10
    ]
    rows = [(clock, mark, [("a", mark), ("b", mark + MS), ("silent", None)]) for clock, mark in emissions]
    return session.createDataFrame(rows, KEPT)


def goes_on(watermark_rows: DataFrame, pipeline: Pipeline, covered: datetime) -> resume.Resumption | None:
    return resume.resumption(watermark_rows, micros(covered), pipeline)


@pytest.mark.parametrize(
    ("covered", "oldest", "since"),
    [
        # An emission at the very moment has happened; the one of 10:05 fires the oldest window, so it is not kept from.
        pytest.param(at(10, 40), at(9), at(9, 5), id="an open window that has fired"),
        pytest.param(at(11, 5) - MS, at(9), at(9, 5), id="just before the next closes"),
        pytest.param(at(11, 5), at(10), at(10, 40), id="just as it closes"),
        pytest.param(at(23), at(10), at(10, 40), id="long after"),
    ],
)
def test_run_resumes_after_the_last_emission_that_fires_no_open_window(
    watermark_rows: DataFrame, pipeline: Pipeline, covered: datetime, oldest: datetime, since: datetime
) -> None:
    mark = {at(9, 5): at(9) - MS, at(10, 40): at(10, 30)}[since]
    resumption = goes_on(watermark_rows, pipeline, covered)
    assert resumption is not None
    assert (resumption.covered_us, resumption.oldest_ms) == (micros(covered), micros(oldest) // 1000)
    assert (resumption.since_us, dict(resumption.partitions)) == (
        micros(since),
        {"a": micros(mark) // 1000, "b": micros(mark + MS) // 1000},
    )


def test_an_emission_that_lists_no_partitions_means_no_resumption(
    watermark_rows: DataFrame, pipeline: Pipeline
) -> None:
    """Emissions long before the end of a run with many source partitions list none of them."""
    is_early = F.col("emitted_at") < F.lit(at(10, 5))
    unlisted = watermark_rows.withColumn("partition_watermarks", F.when(~is_early, F.col("partition_watermarks")))
    assert goes_on(unlisted, pipeline, at(10, 40)) is None
    assert goes_on(unlisted, pipeline, at(11, 5)) is not None


@pytest.mark.parametrize(
    "covered",
    [
        pytest.param(at(8, 5) - MS, id="before any emission"),
        pytest.param(at(8, 5), id="the only emission fires the oldest window"),
    ],
)
def test_no_emission_before_the_oldest_window_means_no_resumption(
    watermark_rows: DataFrame, pipeline: Pipeline, covered: datetime
) -> None:
    assert goes_on(watermark_rows, pipeline, covered) is None
