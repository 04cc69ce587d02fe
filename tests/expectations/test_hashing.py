"""A hash of several values distinguishes a null from every other value, wherever it stands."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations.hashing import hashed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [(None, 5), (5, None), (None, None), (5, 5)]),
        ("string", [(None, ""), ("", None), ("", "")]),
        ("array<int>", [([None, 1], None), ([1, None], None), (None, [1, None]), ([], None), ([1], None)]),
        ("struct<a: int, b: int>", [((None, 1), None), ((1, None), None), (None, (1, None)), ((None, None), None)]),
        ("map<string, int>", [({"a": None}, None), ({}, None), (None, {}), (None, {"a": None})]),
    ],
)
def test_different_values_have_different_numbers(spark: SparkSession, kind: str, values: list[object]) -> None:
    rows = spark.createDataFrame(values, f"one {kind}, two {kind}")
    numbers = rows.select(hashed((F.col(f.name), f.dataType) for f in rows.schema).alias("n")).collect()
    assert len({row.n for row in numbers}) == len(values)
    assert None not in {row.n for row in numbers}
