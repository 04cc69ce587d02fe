"""What tests share: a Spark session as the jobs open it, small enough for many small replays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# PySpark hands out timestamps in the machine's time zone; the tests read them as UTC.
os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session on two cores."""
    os.environ.setdefault("TIDEMARK_SPARK_MASTER", "local[2]")
    os.environ.setdefault("TIDEMARK_DRIVER_MEMORY", "2g")
    from spark_jobs.session import open_session

    # A broadcast table takes a whole page, by default tens of MiB: those of many small replays fill the driver.
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.buffer.pageSize=1m pyspark-shell"
    session = open_session("tidemark tests")
    del os.environ["PYSPARK_SUBMIT_ARGS"]
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    yield session
    session.stop()


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without compiled code, which takes longer to make than a scenario of a few dozen rows takes to run."""
    told = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: str(spark.conf.get(name)) for name in told}
    for name, value in told.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)
