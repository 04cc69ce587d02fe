"""What tests of many small replays on Spark share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without compiled code, which takes longer to make than a scenario of a few dozen rows takes to run."""
    told = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in told}
    for name, value in told.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)
