"""A handover in the lake is read again without Spark, as long as it is that of the results in force."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.jobs.operate.handover_file import Handover, Versions, read, write
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.lake import HANDOVER as HANDOVER_FILE
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import ARRIVALS, Run, Step
from tests.support import history
from tests.support.fake_lake import AT, run_id

HANDOVER = Handover(
    "readings",
    run_id(1),
    exact=True,
    reason=None,
    covered_until=datetime(2024, 3, 31, tzinfo=UTC),
    versions={"": Versions(8, 9, None)},
    watermark=datetime(2024, 3, 30, 23, tzinfo=UTC),
    partition_watermarks={"north": datetime(2024, 3, 30, 23, tzinfo=UTC), "south": None},
    open_windows=3,
    fired_windows=0,
    partitions_to_wait_for=["south"],
    broker_offsets={"0": 17},
)


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"), "readings")
    write(lake, HANDOVER)
    return lake


@pytest.fixture(name="pipeline")
def _pipeline() -> Pipeline:
    return history.pipeline("nowhere")


def published(number: int, pipeline: Pipeline) -> Run:
    """Return a published run of the pipeline by its number."""
    steps = (Step("publish", "done", AT, AT, versions={"panes": number}),)
    return Run(run_id(number), "readings", pipeline.fingerprint, ARRIVALS, 8, None, None, steps=steps)


def test_a_handover_is_read_as_it_was_written(lake: Lake, pipeline: Pipeline) -> None:
    assert read(lake, pipeline, [published(1, pipeline)]) == HANDOVER


def test_other_results_have_another_handover(lake: Lake, pipeline: Pipeline) -> None:
    runs = [published(1, pipeline)]
    assert read(lake, pipeline, []) is None
    assert read(lake, pipeline, [*runs, published(2, pipeline)]) is None
    assert read(lake, history.pipeline("nowhere", windows__size="20 minutes"), runs) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        json.dumps({"run_id": run_id(1)}),
        json.dumps({**HANDOVER.as_json(), "more": 1}),
        json.dumps({**HANDOVER.as_json(), "versions": {"": {"read": 8}}}),
        json.dumps({**HANDOVER.as_json(), "watermark": "yesterday"}),
    ],
)
def test_a_file_of_another_form_is_no_handover(lake: Lake, pipeline: Pipeline, text: str) -> None:
    lake.objects.write(HANDOVER_FILE, text.encode())
    assert read(lake, pipeline, [published(1, pipeline)]) is None


def test_a_lake_without_the_file_has_no_handover(lake: Lake, pipeline: Pipeline) -> None:
    lake.objects.delete([HANDOVER_FILE])
    assert read(lake, pipeline, [published(1, pipeline)]) is None
