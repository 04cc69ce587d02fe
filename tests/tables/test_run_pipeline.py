"""The pipeline of a run: the settings that the kind of the run changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from spark_jobs.pipeline.model import EndOfInput, LateData, Pipeline
from spark_jobs.tables.run import BACKFILL, CHANGED, FULL, REPAIR, Run
from spark_jobs.tables.run_pipeline import pipeline_for_run
from tests.support import history

SETTINGS = {
    "quality__max_late_ratio": "0.5",
    "quality__max_too_late_ratio": "0.5",
    "quality__max_invalid_ratio": "0.5",
    "quality__min_windows": "3",
    "quality__min_coverage": "0.9",
}
NAMES = [name.removeprefix("quality__") for name in SETTINGS]


@pytest.fixture(name="pipeline")
def _pipeline() -> Pipeline:
    return history.pipeline("readings", **SETTINGS)


def run(kind: str, arrived_to: datetime | None = None) -> Run:
    return Run("r", "p", "f", kind, 0, None, None, arrived_to=arrived_to)


def test_few_windows_of_changes_have_no_ratio_and_no_coverage(pipeline: Pipeline) -> None:
    quality = pipeline_for_run(pipeline, run(CHANGED)).quality
    assert {getattr(quality, name) for name in NAMES} == {None}
    assert replace(quality, **{name: getattr(pipeline.quality, name) for name in NAMES}) == pipeline.quality


@pytest.mark.parametrize("kind", [FULL, BACKFILL])
def test_a_run_has_the_settings_of_the_file(pipeline: Pipeline, kind: str) -> None:
    assert pipeline_for_run(pipeline, run(kind)) == pipeline


def test_a_repair_accepts_all_late_rows(pipeline: Pipeline) -> None:
    assert pipeline_for_run(pipeline, run(REPAIR)).windows == replace(pipeline.windows, late_data=LateData.UPDATE)


def test_the_input_of_a_run_over_arrivals_has_not_ended(pipeline: Pipeline) -> None:
    arrivals = pipeline_for_run(pipeline, run(CHANGED, datetime(2024, 3, 1, tzinfo=UTC)))
    assert arrivals.replay.end_of_input is EndOfInput.KEEP_OPEN
