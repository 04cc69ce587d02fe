"""Instants: floor to milliseconds, clamping at MAX, and how tables hold them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from spark_jobs.semantics.rows.instants import (
    END_OF_INPUT,
    MAX,
    MIN,
    InstantOutOfTableError,
    clamped_add,
    floor_to_ms,
    micros,
    table_time,
)


@pytest.mark.parametrize(("us", "ms"), [(1999, 1), (1000, 1), (999, 0), (0, 0), (-1, -1), (-1000, -1), (-1001, -2)])
def test_microseconds_are_floored_also_before_1970(us: int, ms: int) -> None:
    assert floor_to_ms(us) == ms


def test_addition_stops_at_max() -> None:
    assert clamped_add(MAX - 1, 1) == MAX
    assert clamped_add(MAX - 1, 2) == MAX
    assert clamped_add(MAX - 2, 1) == MAX - 1


def test_no_watermark_is_null_in_tables() -> None:
    assert table_time(MIN) is None


def test_the_end_of_the_input_is_the_last_millisecond_of_year_9999() -> None:
    assert table_time(MAX) == END_OF_INPUT == datetime.max.replace(microsecond=999_000, tzinfo=UTC)


def test_table_times_are_aware_and_utc() -> None:
    moment = table_time(1_700_000_000_123)
    assert moment == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert moment is not None
    assert moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize("ms", [MAX - 1, MIN + 1, 253_402_300_800_000, -62_135_596_800_001])
def test_instants_that_no_table_can_hold_are_refused(ms: int) -> None:
    with pytest.raises(InstantOutOfTableError, match="years 1 to 9999"):
        table_time(ms)


def test_naive_datetimes_are_utc() -> None:
    assert micros(datetime(1970, 1, 1, 0, 0, 1)) == 1_000_000
    assert micros(datetime(1970, 1, 1, 1, 0, 1, tzinfo=timezone(timedelta(hours=1)))) == 1_000_000
    assert micros(datetime(1969, 12, 31, 23, 59, 59, 999_999)) == -1
