"""A null-safe join takes null as a value, and returns the columns that it compares once."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.replay.joins.null_safe import OTHER, null_safe_join

pytestmark = pytest.mark.spark


def test_null_equals_null(session: SparkSession) -> None:
    left = session.createDataFrame([("a", 1), (None, 2), ("b", 3)], "k string, n int")
    right = session.createDataFrame([("a", 4), (None, 5)], "k string, m int")
    joined = null_safe_join(left, right, ["k"])
    assert joined.columns == ["k", "n", "m"]
    assert sorted((row.n, row.m) for row in joined.collect()) == [(1, 4), (2, 5)]
    outer = null_safe_join(left, right, ["k"], how="left")
    assert sorted((row.n, row.m) for row in outer.collect()) == [(1, 4), (2, 5), (3, None)]


def test_a_shared_column_has_a_suffix_in_the_condition(session: SparkSession) -> None:
    left = session.createDataFrame([("a", 1), ("a", 5)], "k string, n int")
    right = session.createDataFrame([("a", 4)], "k string, n int")
    joined = null_safe_join(left, right, ["k"], F.col("n") < F.col("n" + OTHER))
    assert [(row.n, row["n" + OTHER]) for row in joined.collect()] == [(1, 4)]
