"""Real flights: two ways of emission, cut into 1, 3 and 8 Spark partitions, give what the reference gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.land_flights import main as land_flights
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.pipeline.model import Emit, EmitKind
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.support.engine import in_order, rows_of
from tests.support.flights import PIPELINE

pytestmark = [pytest.mark.spark, pytest.mark.soak]

WAYS = {"per_event": Emit(EmitKind.PER_EVENT), "every minute": Emit(EmitKind.EVERY, interval_ms=60_000)}
TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")


@pytest.fixture(scope="module")
def flights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The first weeks of the year, from the table that the demo lands."""
    lake = tmp_path_factory.mktemp("lake")
    assert land_flights(["--lake", str(lake)]) == 0
    landed = spark.read.format("delta").load(str(lake / "flights"))
    return landed.where("landed_at < timestamp'2013-01-21 00:00:00'").localCheckpoint()


@pytest.fixture(scope="module")
def rows(flights: DataFrame) -> list[dict[str, Any]]:
    return rows_of(flights)


@pytest.fixture(scope="module", params=WAYS.values(), ids=list(WAYS))
def pipeline(request: pytest.FixtureRequest) -> Pipeline:
    loaded_pipeline = load(PIPELINE, environ={"TIDEMARK_LAKE": "lake"})
    return replace(loaded_pipeline, watermark=replace(loaded_pipeline.watermark, emit=request.param))


@pytest.fixture(scope="module")
def expected(pipeline: Pipeline, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    outcome = reference.replay(rows, pipeline)
    assert min(outcome.counts[name] for name in ("invalid", "on_time", "late", "too_late")) > 0
    return {name: in_order(getattr(outcome, name)) for name in TABLES}


@pytest.mark.parametrize("partitions", [3, 1, 8])
def test_flights_give_what_the_reference_gives(
    flights: DataFrame, pipeline: Pipeline, expected: dict[str, list[Any]], partitions: int
) -> None:
    outcome = replay(flights.repartition(partitions), pipeline)
    for name in TABLES:
        assert in_order(rows_of(getattr(outcome, name))) == expected[name], name
