"""Readings: the unit or pattern by which the values of a sample are times."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.readings import Reading, epoch_unit, readings
from spark_jobs.pipeline.model import TimeField, TimeUnit

NOW_S = 1_700_000_000


def of(name: str, kind: T.DataType, values: list[Any], *, requested: bool = False) -> tuple[list[Reading], str | None]:
    return readings(Leaf((name,), kind), values, requested=requested)


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([NOW_S, NOW_S + 9], TimeUnit.SECONDS),
        ([NOW_S * 10**3, None, 0], TimeUnit.MILLISECONDS),
        ([NOW_S * 10**6], TimeUnit.MICROSECONDS),
        ([NOW_S * 10**9], TimeUnit.NANOSECONDS),
        ([NOW_S + 0.5], TimeUnit.SECONDS),
        ([Decimal("1700000000.123")], TimeUnit.SECONDS),
        (["1700000000123", "x"], TimeUnit.MILLISECONDS),
        ([1, 2, 3], None),
        ([NOW_S, NOW_S * 1_000], None),
        ([float("nan")], None),
        ([], None),
    ],
)
def test_the_unit_of_numbers_follows_from_their_size(values: list[Any], unit: TimeUnit | None) -> None:
    assert epoch_unit(values) == unit


def test_numbers_need_a_name_of_a_time_unless_the_user_requests_them() -> None:
    possible, reason = of("amount", T.LongType(), [NOW_S])
    assert possible == []
    assert reason is not None
    assert "no name of a time" in reason
    (reading,), _ = of("amount", T.LongType(), [NOW_S], requested=True)
    assert reading.field == TimeField("amount", TimeUnit.SECONDS)


def test_text_of_digits_is_cast_to_a_number() -> None:
    (whole,), _ = of("ts", T.StringType(), ["1700000000123", ""])
    assert whole.field == TimeField("try_cast(ts AS bigint)", TimeUnit.MILLISECONDS)
    (fraction,), _ = of("ts", T.StringType(), ["1700000000.5"])
    assert fraction.field == TimeField("try_cast(ts AS decimal(28,9))", TimeUnit.SECONDS)


def test_a_day_that_is_a_number_is_cast_to_text() -> None:
    (reading,), _ = of("day", T.IntegerType(), [20240331, 20240401])
    assert reading.field == TimeField("CAST(day AS STRING)", format="yyyyMMdd")
    assert reading.is_local


def test_a_clock_without_a_zone_is_local() -> None:
    (ntz,), _ = of("a", T.TimestampNTZType(), [])
    (zoned,), _ = of("a", T.StringType(), ["2024-03-31T03:00:00Z"])
    (text,), _ = of("a", T.StringType(), ["2024-03-31 03:00:00"])
    assert [ntz.is_local, zoned.is_local, text.is_local] == [True, False, True]


def test_text_in_which_day_and_month_are_open_has_two_readings() -> None:
    possible, _ = of("a", T.StringType(), ["01/02/2024"])
    assert [reading.field.format for reading in possible] == ["dd/MM/yyyy", "MM/dd/yyyy"]
