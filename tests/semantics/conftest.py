"""The pipeline that the tests of the reference start from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.model import Aggregate, Pipeline, Source, TimeField, Watermark, Windows
from tests.support.rows_by_hand import Change


@pytest.fixture
def pipeline() -> Pipeline:
    """Windows of 10 s without key, bound 2 s, allowed lateness 5 s, an emission after each row."""
    return Pipeline(
        name="stream",
        source=Source("stream", TimeField("happened"), arrival_time=TimeField("arrived")),
        watermark=Watermark(out_of_orderness_ms=2_000),
        windows=Windows(
            size_ms=10_000,
            allowed_lateness_ms=5_000,
            aggregates=(Aggregate("ids", "collect_list(id)"),),
        ),
    )


@pytest.fixture
def changed(pipeline: Pipeline) -> Change:
    """The pipeline with other settings, by the name of the part they belong to: `changed(windows={"key": ...})`."""

    def change(**parts: dict[str, Any]) -> Pipeline:
        return replace(pipeline, **{part: replace(getattr(pipeline, part), **new) for part, new in parts.items()})

    return change
