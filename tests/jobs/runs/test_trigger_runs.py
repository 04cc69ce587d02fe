"""Runs of windows that fire at intervals and by counts: staged, sliced, checked and published as by the reference."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.trigger_pipelines import CONTINUOUS, COUNT, DISCARDING, OPEN, SESSION, SLIDING
from tests.support.whole_run import assert_a_range_changes_nothing, assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]


CASES = [
    pytest.param({**CONTINUOUS}, 3, id="continuous tumbling"),
    pytest.param({**COUNT, **SLIDING}, 3, id="count sliding"),
    pytest.param({**SESSION, "windows__trigger": "{continuous: 10 seconds}"}, 1, id="continuous session"),
    pytest.param({**CONTINUOUS, **DISCARDING, **OPEN}, 2, id="continuous discarding open"),
    pytest.param({**CONTINUOUS, **SLIDING, **DISCARDING}, 2, id="continuous sliding"),
    pytest.param({**COUNT, **DISCARDING}, 2, id="count discarding"),
    pytest.param({**COUNT, **OPEN}, 2, id="count open"),
    pytest.param({**COUNT, **SESSION}, 1, id="count session"),
    pytest.param({**CONTINUOUS, **SESSION, **DISCARDING}, 1, id="discarding session"),
    pytest.param({**COUNT, **SESSION, **DISCARDING}, 1, id="count discarding session"),
    pytest.param({**CONTINUOUS, "watermark__emit": "per_event"}, 2, id="continuous per event"),
    pytest.param({**COUNT, "watermark__emit": "per_event"}, 2, id="count per event"),
]


@pytest.mark.parametrize(("settings", "slices"), CASES)
def test_a_run_passes_its_checks_and_publishes_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, settings: dict[str, str], slices: int
) -> None:
    pipeline = history.pipeline(table, **settings)
    run, _ = assert_publishes_the_references(spark, pipeline, lake, slices=slices)
    assert min(run.counts[name] for name in ("early_panes", "late", "too_late")) > 0


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**SESSION, **CONTINUOUS}, id="session"),
        pytest.param({**SESSION, **CONTINUOUS, **DISCARDING}, id="discarding session"),
        pytest.param({**SESSION, **COUNT}, id="session count"),
        pytest.param({**CONTINUOUS}, id="tumbling"),
        pytest.param({**COUNT, **SLIDING}, id="count sliding"),
    ],
)
def test_a_range_of_the_same_pipeline_changes_nothing(
    spark: SparkSession, table: str, lake: Lake, settings: dict[str, str]
) -> None:
    pipeline = history.pipeline(table, **settings)
    start = history.START + timedelta(minutes=50)
    assert_a_range_changes_nothing(spark, pipeline, lake, Interval(start, start + timedelta(minutes=30)))
