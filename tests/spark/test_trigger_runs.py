"""Runs of windows that fire at intervals and by counts: staged, sliced, checked and published as the reference says."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.run import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import RESULT_TABLES, Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import Interval
from tests.spark import history
from tests.spark.engine import in_order, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

CONTINUOUS, COUNT = {"windows__trigger": "{continuous: 3 minutes}"}, {"windows__trigger": "{count: 7}"}
DISCARDING = {"windows__accumulation": "discarding"}
SLIDING = {
    "windows__kind": "sliding",
    "windows__size": "25 minutes",
    "windows__slide": "10 minutes",
    "windows__allowed_lateness": "50 minutes",
}
SESSION = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
OPEN = {"replay__end_of_input": "keep_open"}

CASES = [
    pytest.param({**CONTINUOUS}, 3, id="continuous tumbling"),
    pytest.param({**COUNT, **SLIDING}, 3, id="count sliding", marks=pytest.mark.soak),
    pytest.param(
        {**SESSION, "windows__trigger": "{continuous: 10 seconds}"}, 1, id="continuous session", marks=pytest.mark.soak
    ),
    pytest.param({**CONTINUOUS, **DISCARDING, **OPEN}, 2, id="continuous discarding open", marks=pytest.mark.soak),
    pytest.param({**CONTINUOUS, **SLIDING, **DISCARDING}, 2, id="continuous sliding", marks=pytest.mark.soak),
    pytest.param({**COUNT, **DISCARDING}, 2, id="count discarding", marks=pytest.mark.soak),
    pytest.param({**COUNT, **OPEN}, 2, id="count open", marks=pytest.mark.soak),
    pytest.param({**COUNT, **SESSION}, 1, id="count session", marks=pytest.mark.soak),
    pytest.param({**CONTINUOUS, **SESSION, **DISCARDING}, 1, id="discarding session", marks=pytest.mark.soak),
    pytest.param({**COUNT, **SESSION, **DISCARDING}, 1, id="count discarding session", marks=pytest.mark.soak),
    pytest.param({**CONTINUOUS, "watermark__emit": "per_event"}, 2, id="continuous per event", marks=pytest.mark.soak),
    pytest.param({**COUNT, "watermark__emit": "per_event"}, 2, id="count per event", marks=pytest.mark.soak),
]


def published(spark: SparkSession, lake: Lake) -> dict[str, list[dict[str, Any]]]:
    return {name: rows_of(read_published(spark, lake, name).drop("run_id")) for name in RESULT_TABLES}


def firing(table: str, settings: dict[str, str]) -> Pipeline:
    return history.pipeline(table, **settings)


@pytest.mark.parametrize(("settings", "slices"), CASES)
def test_a_run_passes_its_checks_and_publishes_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, settings: dict[str, str], slices: int
) -> None:
    pipeline = firing(table, settings)
    outcomes = Runner(spark, pipeline, lake, slices=slices).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    expected, found = reference.replay(history.events(), pipeline), published(spark, lake)
    for name in RESULT_TABLES:
        assert in_order(found[name]) == in_order(getattr(expected, name)), name
    counts = ledger.runs(spark, lake)[-1].counts
    assert {name: counts[name] for name in expected.counts} == expected.counts
    assert min(counts["early_panes"], counts["late"], counts["too_late"]) > 0


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**SESSION, **CONTINUOUS}, id="session", marks=pytest.mark.soak),
        pytest.param({**SESSION, **CONTINUOUS, **DISCARDING}, id="discarding session", marks=pytest.mark.soak),
        pytest.param({**SESSION, **COUNT}, id="session count", marks=pytest.mark.soak),
        pytest.param({**CONTINUOUS}, id="tumbling", marks=pytest.mark.soak),
        pytest.param({**COUNT, **SLIDING}, id="count sliding", marks=pytest.mark.soak),
    ],
)
def test_a_range_of_the_same_pipeline_changes_nothing(
    spark: SparkSession, table: str, lake: Lake, settings: dict[str, str]
) -> None:
    pipeline = firing(table, settings)
    Runner(spark, pipeline, lake).run(Interval())
    before = published(spark, lake)
    start = history.START + timedelta(minutes=50)
    outcomes = Runner(spark, pipeline, lake, slices=2).run(Interval(start, start + timedelta(minutes=30)))
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    after = published(spark, lake)
    for name in RESULT_TABLES:
        assert in_order(after[name]) == in_order(before[name]), name
