"""Whole runs with Comet and without publish equal tables, row for row: of flights, and of the benchmark's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.figures import NATIVE_SHARE
from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.jobs.land_flights import main as land_flights
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.pipeline.model import Emit, EmitKind
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.benchmarks import events
from tests.benchmarks.pipelines import pipeline_of
from tests.benchmarks.shapes import Shape
from tests.support.flights import PIPELINE

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("comet")]

EVENTS = 1_000_000
FLIGHTS = 336_776
EMISSIONS = {"per_event": Emit(EmitKind.PER_EVENT), "every minute": Emit(EmitKind.EVERY, interval_ms=60_000)}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Land a year of flights; return the lake."""
    lake = tmp_path_factory.mktemp("flights")
    assert land_flights(["--lake", str(lake)]) == 0
    return lake


@pytest.fixture(scope="module")
def benchmark_events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the table of the benchmark's events."""
    path = events.path_of(tmp_path_factory.mktemp("benchmark"), EVENTS, events.DEFAULT_SEED)
    events.generate(spark, path, EVENTS, events.DEFAULT_SEED)
    return path


@pytest.mark.parametrize("emission", EMISSIONS)
def test_flights_are_published_alike(spark: SparkSession, flights: Path, tmp_path: Path, emission: str) -> None:
    loaded_pipeline = load(PIPELINE, environ={"TIDEMARK_LAKE": str(flights)})
    watermark = replace(loaded_pipeline.watermark, emit=EMISSIONS[emission])
    counts = assert_published_alike(spark, replace(loaded_pipeline, watermark=watermark), tmp_path)
    assert counts["rows_read"] == FLIGHTS
    assert min(counts[name] for name in ("invalid", "on_time", "late", "too_late")) > 0


@pytest.mark.parametrize("shape", Shape)
def test_the_benchmark_is_published_alike(
    spark: SparkSession, benchmark_events: Path, tmp_path: Path, shape: Shape
) -> None:
    counts = assert_published_alike(spark, pipeline_of(benchmark_events, shape), tmp_path)
    assert counts["rows_read"] == EVENTS


def assert_published_alike(spark: SparkSession, pipeline: Pipeline, folder: Path) -> Mapping[str, int]:
    """Run a pipeline by both engines, compare all that is published, and return what the runs counted."""
    native, alone = (Lake(str(folder / name), pipeline.name) for name in ("native", "alone"))
    native_replay = replayed(spark, pipeline, native)
    spark.conf.set(COMET_ENABLED, "false")
    try:
        alone_replay = replayed(spark, pipeline, alone)
        versions = ledger.published(spark, alone)[-1].versions
        assert ledger.published(spark, native)[-1].versions.keys() == versions.keys()
        for name in versions:
            assert_same_rows(spark, name, native, alone)
    finally:
        spark.conf.set(COMET_ENABLED, "true")
    assert native_replay.counts == alone_replay.counts
    # Else one engine was compared with itself.
    assert native_replay.figures[NATIVE_SHARE.name] > 0.1
    assert alone_replay.figures[NATIVE_SHARE.name] == 0
    return native_replay.counts


def replayed(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> StepResult:
    """Take all steps of a run; return how its replay ended."""
    results = Runner(spark, pipeline, lake).run(Interval())
    assert {result.state for result in results} == {StepState.DONE}
    return next(result for result in results if result.step == "replay")


def assert_same_rows(spark: SparkSession, name: str, first: Lake, second: Lake) -> None:
    """Assert that a published table has the same rows, as often, in two lakes. The runs' ids differ."""
    rows, other_rows = (read_published(spark, lake, name).drop("run_id") for lake in (first, second))
    assert rows.schema == other_rows.schema
    assert rows.exceptAll(other_rows).take(3) == []
    assert other_rows.exceptAll(rows).take(3) == []
