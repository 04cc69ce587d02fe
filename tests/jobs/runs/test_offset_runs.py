"""Runs in the order of offsets: staged in slices, with the drift of each partition, published as by the reference."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.whole_run import assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ALIGNED = {"watermark__alignment": "{max_drift: 4 minutes, update_interval: 2s}", "source__arrival_time": "null"}
SESSIONS = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}


def by_offset(table: str, **overrides: str) -> Pipeline:
    """The site's rows numbered as they were stored, ten a round."""
    offset = {"replay__order": "offset", "replay__rows_per_round": "10", "source__offset": "id"}
    more = {"watermark__emit": "{every: 2 seconds}", "quality__max_too_late_ratio": "1"}
    return history.pipeline(table, **{**offset, **more, **overrides})


@pytest.mark.parametrize(
    ("overrides", "slices"),
    [
        pytest.param(ALIGNED, 3, id="aligned", marks=pytest.mark.soak),
        pytest.param({}, 1, id="not aligned", marks=pytest.mark.soak),
        pytest.param({**ALIGNED, **SESSIONS}, 1, id="session", marks=pytest.mark.soak),
    ],
)
def test_slices_publish_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, overrides: dict[str, str], slices: int
) -> None:
    pipeline = by_offset(table, **overrides)
    run, expected = assert_publishes_the_references(spark, pipeline, lake, slices=slices)
    drift = rows_of(staging.read_staged(spark, lake, run.run_id, "drift").drop("run_id"))
    assert in_order(drift) == in_order(expected.drift)
    assert bool(sum(row["paused_rounds"] for row in drift)) == (pipeline.watermark.alignment is not None)
    assert min(run.counts["late"], run.counts["too_late"]) > 0


def test_an_offset_that_is_no_integer_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    for offset, message in (("device", "'device' is STRING: an offset is an integer"), ("ids", "did you mean 'id'")):
        with pytest.raises(InputError, match=rf"source\.offset: .*{message}"):
            Runner(spark, by_offset(table, source__offset=offset), lake).plan(Interval())
