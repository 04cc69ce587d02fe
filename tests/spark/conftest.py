"""What tests of runs share: a table with a small history, and a lake for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.replay.rows import arrival_order
from spark_jobs.tables.lake import Lake
from tests.spark import history


@pytest.fixture(scope="session", autouse=True)
def short_stretches() -> Iterator[None]:
    """Rows that are grouped and numbered in many stretches of the clock, though they are few and lie close together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival_order, "_GROUPING_STRETCH_US", 20_000)
        patch.setattr(arrival_order, "_NUMBERING_STRETCH_US", 50_000)
        yield


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, history.events(), tmp_path_factory.mktemp("source") / "readings")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), "readings")
