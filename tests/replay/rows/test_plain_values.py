"""Collected values as plain values: names of structs, zones of times, contents of variants, also inside of others."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import types as T

from spark_jobs.replay.rows.plain_values import plain_value

NOON = datetime(2024, 5, 1, 12)
#: The variant 1: a header and a byte, and an empty dictionary of names.
VARIANT = T.VariantVal(b"\x0c\x01", b"\x01\x00\x00")


TIME, WHOLE, VARIANTS = T.TimestampType(), T.IntegerType(), T.VariantType()
IN_UTC = NOON.replace(tzinfo=UTC)


def struct(kind: T.DataType) -> T.StructType:
    return T.StructType([T.StructField("a", kind)])


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (WHOLE, 1, 1),
        (struct(WHOLE), None, None),
        (TIME, NOON, IN_UTC),
        (T.TimestampNTZType(), NOON, NOON),
        (VARIANTS, VARIANT, 1),
        (T.ArrayType(VARIANTS), [VARIANT, None], [1, None]),
        (T.MapType(TIME, VARIANTS), {NOON: VARIANT}, {IN_UTC: 1}),
        (struct(T.ArrayType(struct(TIME))), Row(a=[Row(a=NOON)]), {"a": [{"a": IN_UTC}]}),
    ],
)
def test_a_collected_value_has_its_names_zone_and_content(kind: T.DataType, value: Any, plain: Any) -> None:
    assert plain_value(value, kind) == plain


def test_a_time_of_another_zone_of_this_process_is_the_same_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        value = plain_value([NOON], T.ArrayType(TIME))
    time.tzset()
    assert value == [datetime(2024, 5, 1, 3, tzinfo=UTC)]
