"""What tests of runs share: a table with a small history, and a lake for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.lake import Lake
from tests.spark import history


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, history.events(), tmp_path_factory.mktemp("source") / "readings")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), "readings")
