"""Runs in the order of offsets: staged in slices, with the drift of each partition, published as the reference says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.run import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger, staging
from spark_jobs.tables.lake import RESULT_TABLES, Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import Interval
from tests.spark import history
from tests.spark.engine import in_order, rows_of

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
        pytest.param(ALIGNED, 3, id="aligned"),
        pytest.param({}, 1, id="not aligned", marks=pytest.mark.soak),
        pytest.param({**ALIGNED, **SESSIONS}, 1, id="session", marks=pytest.mark.soak),
    ],
)
def test_slices_publish_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, overrides: dict[str, str], slices: int
) -> None:
    pipeline = by_offset(table, **overrides)
    outcomes = Runner(spark, pipeline, lake, slices=slices).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    expected = reference.replay(history.events(), pipeline)
    for name in RESULT_TABLES:
        found = rows_of(read_published(spark, lake, name).drop("run_id"))
        assert in_order(found) == in_order(getattr(expected, name)), name
    run = ledger.runs(spark, lake)[-1]
    drift = rows_of(staging.staged(spark, lake, run.run_id, "drift").drop("run_id"))
    assert in_order(drift) == in_order(expected.drift)
    assert bool(sum(row["paused_rounds"] for row in drift)) == (pipeline.watermark.alignment is not None)
    assert {name: run.counts[name] for name in expected.counts} == expected.counts
    assert min(run.counts["late"], run.counts["too_late"]) > 0


def test_an_offset_that_is_no_integer_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    for offset, message in (("device", "'device' is STRING: an offset is an integer"), ("ids", "did you mean 'id'")):
        with pytest.raises(InputError, match=rf"source\.offset: .*{message}"):
            Runner(spark, by_offset(table, source__offset=offset), lake).plan(Interval())
