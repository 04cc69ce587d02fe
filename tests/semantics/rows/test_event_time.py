"""Event time: every accepted form becomes microseconds; rows without a usable time have a reason."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.pipeline.model import TimeField, TimeUnit
from spark_jobs.semantics.rows import event_time
from spark_jobs.semantics.rows.event_time import TimeFieldError, TimeReader, invalid_reason
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.rows.text_times import UnreadablePatternError, parse

SECONDS, MILLIS, MICROS, NANOS = TimeUnit


def read(value: Any, **declared: Any) -> int | None:
    return TimeReader(TimeField("t", **declared)).micros({"t": value})


@pytest.mark.parametrize(
    ("value", "us"),
    [
        (datetime(1970, 1, 1, 0, 0, 1, 5), 1_000_005),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (date(1970, 1, 2), 86_400_000_000),
        (None, None),
    ],
)
def test_datetimes_and_dates(value: Any, us: int | None) -> None:
    assert read(value) == us


@pytest.mark.parametrize(
    ("unit", "value", "us"),
    [
        (SECONDS, 2, 2_000_000),
        (MILLIS, -1, -1_000),
        (MICROS, 7, 7),
        (NANOS, 1_999, 1),
        (NANOS, -1, -1),
        (SECONDS, 1461756862.123456, 1_461_756_862_123_456),
        (SECONDS, -0.0000001, -1),
        (MILLIS, 0.0019, 1),
        (NANOS, 1_500.0, 1),
        (SECONDS, Decimal("1.9999999996"), 2_000_000),
        (SECONDS, Decimal(10**29), None),
        (MILLIS, Decimal("12345678901234567.5"), None),
        (MICROS, 2**63 - 1, 2**63 - 1),
        (MICROS, -(2**63), -(2**63)),
        (MILLIS, 2**63 - 1, None),
        (SECONDS, float("nan"), None),
        (SECONDS, float("-inf"), None),
        (SECONDS, Decimal("NaN"), None),
        (SECONDS, 1e300, None),
        (SECONDS, None, None),
    ],
)
def test_numbers_are_floored_to_the_microsecond(unit: TimeUnit, value: Any, us: int | None) -> None:
    assert read(value, unit=unit) == us


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("2024-01-01", {}),
        (5, {}),
        (True, {"unit": SECONDS}),
        (datetime(2024, 1, 1), {"unit": SECONDS}),
        (5, {"format": "yyyy"}),
        ([], {}),
    ],
)
def test_a_value_of_another_type_than_declared_is_an_error(value: Any, declared: dict[str, Any]) -> None:
    with pytest.raises(TimeFieldError, match=r"'t' gave .*: expected a datetime or date"):
        read(value, **declared)


def utc(*parts: int) -> int:
    return micros(datetime(*parts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "pattern", "us"),
    [
        ("2024-03-09 08:07:06", "yyyy-MM-dd HH:mm:ss", utc(2024, 3, 9, 8, 7, 6)),
        ("2024-03-09 08:07:06.5", "yyyy-MM-dd HH:mm:ss.SSS", utc(2024, 3, 9, 8, 7, 6, 500_000)),
        ("2024-03-09 08:07:06.123456", "yyyy-MM-dd HH:mm:ss.SSSSSS", utc(2024, 3, 9, 8, 7, 6, 123_456)),
        ("2024-03-09 08:07:06.1234", "yyyy-MM-dd HH:mm:ss.SSS", None),
        ("9/3/2024 8:07", "d/M/yyyy H:mm", utc(2024, 3, 9, 8, 7)),
        ("19/12/2024 18:07", "d/M/yyyy H:mm", utc(2024, 12, 19, 18, 7)),
        ("2024-3-09", "yyyy-MM-dd", None),
        ("2024-03-09", "yyyy-MM-dd", utc(2024, 3, 9)),
        ("2024", "yyyy", utc(2024, 1, 1)),
        ("08:07", "HH:mm", utc(1970, 1, 1, 8, 7)),
        ("2024-03-09T08:07:06Z", "yyyy-MM-dd'T'HH:mm:ssX", utc(2024, 3, 9, 8, 7, 6)),
        ("2024-03-09T08:07:06+02", "yyyy-MM-dd'T'HH:mm:ssX", utc(2024, 3, 9, 6, 7, 6)),
        ("2024-03-09T08:07:06+0230", "yyyy-MM-dd'T'HH:mm:ssXX", utc(2024, 3, 9, 5, 37, 6)),
        ("2024-03-09T08:07:06-02:30", "yyyy-MM-dd'T'HH:mm:ssXXX", utc(2024, 3, 9, 10, 37, 6)),
        ("2024-03-09T08:07:06-0230", "yyyy-MM-dd'T'HH:mm:ssZ", utc(2024, 3, 9, 10, 37, 6)),
        ("2024-03-09 08 Europe/Berlin", "yyyy-MM-dd HH VV", utc(2024, 3, 9, 7)),
        ("2024-03-09 08 Atlantis/Centre", "yyyy-MM-dd HH VV", None),
        ("2024-03-09 12:30 AM", "yyyy-MM-dd hh:mm a", utc(2024, 3, 9, 0, 30)),
        ("2024-03-09 12:30 pm", "yyyy-MM-dd hh:mm a", utc(2024, 3, 9, 12, 30)),
        ("2024-03-09 1:30 PM", "yyyy-MM-dd h:mm a", utc(2024, 3, 9, 13, 30)),
        ("2024-03-09 13:30 PM", "yyyy-MM-dd hh:mm a", None),
        ("2024-02-30", "yyyy-MM-dd", None),
        ("2024-03-09 ", "yyyy-MM-dd", None),
        ("٢٠٢٤-03-09", "yyyy-MM-dd", None),
        ("2024 o'clock", "yyyy 'o''clock'", utc(2024, 1, 1)),
        ("2024'", "yyyy''", utc(2024, 1, 1)),
        ("2024+03", "yyyy+MM", utc(2024, 3, 1)),
        ("", "yyyy", None),
    ],
)
def test_texts_are_read_by_their_pattern(text: str, pattern: str, us: int | None) -> None:
    assert parse(text, pattern, "UTC") == us


@pytest.mark.parametrize(
    ("text", "zone", "us"),
    [
        ("2024-07-01 12", "Europe/Berlin", utc(2024, 7, 1, 10)),
        ("2024-07-01 12", "-05:30", utc(2024, 7, 1, 17, 30)),
        ("2024-10-27 02", "Europe/Berlin", utc(2024, 10, 27, 0)),
        ("2024-03-31 02", "Europe/Berlin", utc(2024, 3, 31, 1)),
    ],
)
def test_a_text_without_a_zone_is_local_time_in_the_declared_one(text: str, zone: str, us: int) -> None:
    assert read(text, format="yyyy-MM-dd HH", timezone=zone) == us


@pytest.mark.parametrize("pattern", ["yy-MM-dd", "yyyy-DDD", "MMM yyyy", "SSSSSSS", "E"])
def test_patterns_with_other_letters_are_refused(pattern: str) -> None:
    with pytest.raises(UnreadablePatternError, match="the reference reads"):
        parse("2024", pattern, "UTC")


def test_a_quote_without_an_end_is_refused() -> None:
    with pytest.raises(UnreadablePatternError, match="a quote has no end"):
        parse("2024", "yyyy'T", "UTC")


ARRIVED = micros(datetime(2024, 1, 1))
GUARD_US = 5_000


def reason(event_us: int | None, arrival_us: int | None = ARRIVED, **changed: Any) -> str | None:
    return invalid_reason(event_us, arrival_us, **{"arrival_is_declared": True, "future_guard_ms": 5, **changed})


def test_a_row_without_event_time_is_invalid_whatever_else_it_lacks() -> None:
    assert reason(None, None) == "event_time_missing"


def test_a_row_without_arrival_time_is_invalid_only_where_one_is_declared() -> None:
    assert reason(ARRIVED, None) == "arrival_time_missing"
    assert reason(ARRIVED, None, arrival_is_declared=False) is None


def test_event_times_that_windows_could_carry_out_of_tables_are_invalid() -> None:
    assert micros(datetime.min.replace(year=2)) == event_time.EARLIEST_US
    assert micros(datetime.max.replace(year=9998)) == event_time.LATEST_US
    assert reason(event_time.EARLIEST_US) is None
    assert reason(event_time.EARLIEST_US - 1) == "event_time_before_range"
    assert reason(event_time.LATEST_US, event_time.LATEST_US) is None
    assert reason(event_time.LATEST_US + 1) == "event_time_after_range"
    assert reason(event_time.LATEST_US + 1, None) == "arrival_time_missing"


def test_event_times_beyond_the_future_guard_are_invalid() -> None:
    assert reason(ARRIVED + GUARD_US) is None
    assert reason(ARRIVED + GUARD_US + 1) == "event_time_in_future"
    assert reason(ARRIVED + GUARD_US + 1, future_guard_ms=None) is None


def test_an_arrival_that_is_a_counter_guards_nothing() -> None:
    floor = event_time.ARRIVAL_CLOCK_FLOOR_US
    assert floor == micros(datetime(2000, 1, 1))
    assert reason(ARRIVED, floor, arrival_may_count=True) == "event_time_in_future"
    assert reason(ARRIVED, floor - 1, arrival_may_count=True) is None


def test_only_numbers_with_a_unit_are_counters() -> None:
    declared = (TimeField("t", TimeUnit.SECONDS), TimeField("t"), TimeField("t", format="yyyy"), None)
    assert list(map(event_time.may_count, declared)) == [True, False, False, False]
    assert reason(ARRIVED, 0) == "event_time_in_future"


def test_arrivals_that_no_table_can_hold_are_invalid() -> None:
    assert reason(0, event_time.LATEST_US) is None
    assert reason(0, event_time.LATEST_US + 1) == "arrival_time_after_range"
    assert reason(event_time.EARLIEST_US, event_time.EARLIEST_US, future_guard_ms=None) is None
    assert reason(0, event_time.EARLIEST_US - 1, future_guard_ms=None) == "arrival_time_before_range"
    assert reason(event_time.LATEST_US + 1, event_time.LATEST_US + 1) == "event_time_after_range"


def test_a_number_beyond_64_bits_of_microseconds_is_no_time() -> None:
    assert event_time.number_micros(2**63 - 1, TimeUnit.MICROSECONDS) == 2**63 - 1
    assert event_time.number_micros(2**63, TimeUnit.MICROSECONDS) is None
    assert event_time.number_micros(-(2**63), TimeUnit.MICROSECONDS) == -(2**63)
    assert event_time.number_micros(-(2**63) - 1, TimeUnit.MICROSECONDS) is None
