"""Values that differ have different JSON texts."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.replay.rows.json_text import json_text

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

_MICROSECOND = "map('at', timestamp_micros(1000001)), map('at', timestamp_micros(1000002))"
_WITHOUT_ZONE = "map('at', timestamp_ntz'2024-01-01 00:00:00.000001'), map('at', timestamp_ntz'2024-01-01')"
_MISSING = "map('a', cast(null as int)), cast(map() as map<string, int>)"
_EMPTY_FIELD = "named_struct('m', map(1, 2), 'x', cast(null as int)), named_struct('m', map(1, 2), 'x', 0)"

_VARIANT = "parse_json('{\"a\": 1}'), parse_json('{\"a\": 2}')"


@pytest.mark.parametrize("values", [_MICROSECOND, _WITHOUT_ZONE, _MISSING, _EMPTY_FIELD, _VARIANT])
def test_values_that_differ_have_different_texts(session: SparkSession, values: str) -> None:
    rows = session.range(1).selectExpr(f"explode(array({values})) as value")
    assert rows.select(json_text(rows["value"])).distinct().count() == 2
