"""What advise foretells of a year of flights is what runs with these settings count and publish."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.advise.advise import Advice, Settings, advise
from spark_jobs.jobs.land_flights import main as land_flights
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support.advice import with_settings
from tests.support.flights import PIPELINE
from tests.support.whole_run import run_steps

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

TARGET = Fraction(9999, 10_000)


@pytest.fixture(name="flights", scope="module")
def _flights(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """The demo's pipeline over the table that the demo lands; a run may miss as many rows as it will."""
    lake = tmp_path_factory.mktemp("lake")
    assert land_flights(["--lake", str(lake)]) == 0
    pipeline = load(PIPELINE, environ={"TIDEMARK_LAKE": str(lake)})
    return replace(pipeline, quality=replace(pipeline.quality, max_too_late_ratio=None))


@pytest.fixture(name="advice", scope="module")
def _advice(spark: SparkSession, flights: Pipeline) -> Advice:
    return advise(spark, flights, Settings(target=TARGET))


@pytest.mark.parametrize("choice", ["now", "recommended", "hastiest"])
def test_a_run_counts_what_was_foretold(
    spark: SparkSession, flights: Pipeline, advice: Advice, lake: Lake, choice: str
) -> None:
    hastiest = max(advice.candidates, key=lambda candidate: candidate.too_late)
    candidate = {"now": advice.now, "recommended": advice.recommended, "hastiest": hastiest}[choice]
    assert candidate is not None
    outcomes = run_steps(spark, with_settings(flights, candidate), replace(lake, pipeline=flights.name))
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    counts = outcomes[1].counts
    foretold = {"on_time": candidate.on_time, "late": candidate.late, "too_late": candidate.too_late}
    assert {name: counts[name] for name in foretold} == foretold
    late_events = read_published(spark, replace(lake, pipeline=flights.name), "late_events")
    assert late_events.select("window_start").distinct().count() == candidate.windows_missing_rows
    if choice == "recommended":
        assert candidate.completeness >= TARGET
        assert sum(foretold.values()) == advice.now.on_time + advice.now.late + advice.now.too_late
