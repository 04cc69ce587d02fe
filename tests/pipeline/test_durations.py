"""Durations: a number with its unit, whole milliseconds."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.pipeline.durations import LONGEST_MS, DurationError, format_duration, parse_duration

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("500 ms", 500),
        ("500ms", 500),
        ("1 minute", 60_000),
        ("6 hours", 6 * HOUR),
        ("6 Hours", 6 * HOUR),
        ("1 day", 24 * HOUR),
        ("2 weeks", 14 * 24 * HOUR),
        ("1h 30m", 90 * 60_000),
        ("1h30m", 90 * 60_000),
        ("1 day 6 hours 5 min 4 s 3 ms", 30 * HOUR + 304_003),
        ("1.5 hours", 90 * 60_000),
        ("0.001 s", 1),
        ("  6 hours  ", 6 * HOUR),
        ("PT6H", 6 * HOUR),
        ("P1DT12H", 36 * HOUR),
        ("P2W", 14 * 24 * HOUR),
        ("PT1H30M", 90 * 60_000),
        ("PT0.5S", 500),
        (f"{LONGEST_MS} ms", LONGEST_MS),
    ],
)
def test_a_duration_is_read_in_milliseconds(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    ("text", "ms"), [("-8 hours", -8 * HOUR), ("- 8h", -8 * HOUR), ("-PT8H", -8 * HOUR), ("-0s", 0)]
)
def test_a_negative_duration_is_read_only_where_it_is_allowed(text: str, ms: int) -> None:
    assert parse_duration(text, negative=True) == ms
    with pytest.raises(DurationError, match="a negative duration is not allowed here"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["6", "0", "1.5", "1 day 6"])
def test_a_bare_number_is_refused_with_its_units(text: str) -> None:
    number = text.rsplit(maxsplit=1)[-1]
    with pytest.raises(DurationError, match=f"write the unit of {number}: '{number} hours'"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["100 us", "1 microsecond", "5 ns", "0.5 ms", "1.0005 s", "PT0.0001S", "3 µs"])
def test_finer_than_a_millisecond_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="finer than a millisecond"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["1 month", "2 years", "1M", "1 quarter", "P1M", "P1Y", "P1Y2M3D", "1 mo"])
def test_a_span_without_fixed_length_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="no fixed length; write days"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no duration; write a number and a unit"),
        ("soon", "no duration; write a number and a unit"),
        ("hours 6", "no duration"),
        ("1e3 s", "unknown unit 'e'"),
        ("6 houres", r"unknown unit 'houres'; did you mean 'hours'\? units: ms, s, min, h, days, weeks"),
        ("6 H", "unknown unit 'H'"),
        ("1,5 hours", "write the unit of 1"),
        ("1.5.5 h", "write the unit of 1.5"),
        ("30m 1h", "from large to small"),
        ("1h 1h", "from large to small, each once"),
        ("6 hours ago", "no duration"),
        ("1 -2 h", "write the unit of 1"),
        ("P", "no ISO 8601 duration"),
        ("PT", "no ISO 8601 duration"),
        ("P1DT", "no ISO 8601 duration"),
        ("PT6", "no ISO 8601 duration"),
        ("PT1.2.3S", "no ISO 8601 duration"),
        (f"{LONGEST_MS + 1} ms", "longer than the 3652059 days"),
        ("9" * 99 + "h", "longer than the 3652059 days"),
        ("9" * 5000 + "h", "longer than 100 characters"),
        ("\u0661 hour", "no duration"),
    ],
)
def test_text_that_is_no_duration_is_an_error_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(DurationError, match=message):
        parse_duration(text)


@given(st.integers(-LONGEST_MS, LONGEST_MS))
def test_a_formatted_duration_reads_back_as_the_same(ms: int) -> None:
    assert parse_duration(format_duration(ms), negative=True) == ms


@given(st.text(max_size=120))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(DurationError):
        assert abs(parse_duration(text, negative=True)) <= LONGEST_MS


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1 ms"),
        (1_000, "1 second"),
        (HOUR, "1 hour"),
        (90 * 60_000, "1 hour 30 minutes"),
        (-8 * HOUR, "-8 hours"),
        (30 * HOUR, "1 day 6 hours"),
    ],
)
def test_a_duration_is_written_as_people_do(ms: int, text: str) -> None:
    assert format_duration(ms) == text
