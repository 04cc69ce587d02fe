"""Sessions of tests reach one store after the other, with one client of Java for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.airflow.waiting import until
from tests.support.object_store import BUCKET, object_store
from tests.support.places import found_by

pytestmark = pytest.mark.spark

#: The threads of one client of Amazon's library, as a client starts them.
THREADS_OF_A_CLIENT, PREFIX = 5, "sdk-ScheduledExecutor"


def test_a_session_reaches_the_next_store_and_leaves_no_client(spark: SparkSession, tmp_path: Path) -> None:
    table, before = f"s3a://{BUCKET}{tmp_path}/table", threads(spark)
    for store in ("first", "second"):
        with object_store() as variables, found_by(spark, variables):
            for _ in range(3):
                spark.createDataFrame([(store,)], "store string").write.format("delta").mode("append").save(table)
            assert [row.store for row in spark.read.format("delta").load(table).collect()] == [store] * 3
            assert threads(spark) - before <= THREADS_OF_A_CLIENT
        # A client that is closed ends its threads a moment later.
        until(lambda: threads(spark) == before)


def threads(spark: SparkSession) -> int:
    """Return how many threads of Amazon's clients the session has."""
    java: Any = spark._jvm
    alive = java.java.lang.Thread.getAllStackTraces().keySet()
    return sum(str(thread.getName()).startswith(PREFIX) for thread in alive)
