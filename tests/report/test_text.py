"""How values are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from spark_jobs.report import text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<script>alert(1)</script>", "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"),
        ("\"'&", "<bdi>&#34;&#39;&amp;</bdi>"),
        ("a\u202eb", "<bdi>a\\u202eb</bdi>"),
        ("a\u200bb\x00\n", "<bdi>a\\u200bb\\u0000\\u000a</bdi>"),
        ("\ud800", "<bdi>\\ud800</bdi>"),
        ("\U000e0001", "<bdi>\\U000e0001</bdi>"),
        ("Zürich 東京 🛫", "<bdi>Zürich 東京 🛫</bdi>"),
    ],
)
def test_what_cannot_be_seen_or_would_be_markup_is_written_out(value: str, expected: str) -> None:
    assert text.excerpt(value) == expected


def test_a_text_longer_than_its_place_is_cut_with_the_number_of_characters_left_out() -> None:
    assert text.excerpt("x" * 20, 20) == f"<bdi>{'x' * 20}</bdi>"
    assert text.excerpt("x" * 1025, 20) == f'<bdi>{"x" * 20}</bdi><span class="cut">… cut, 1,005 more characters</span>'


def test_null_is_not_an_empty_text_and_neither_is_the_word_null() -> None:
    assert len({text.excerpt(None), text.excerpt(""), text.excerpt("null"), text.excerpt("empty text")}) == 4


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 10, "0%"),
        (1, 3, "33.33%"),
        (10, 10, "100%"),
        (1, 1_000_000, "under 0.01%"),
        (999_999, 1_000_000, "over 99.99%"),
        (0, 0, "—"),
    ],
)
def test_a_share_is_never_0_of_something_nor_100_of_less_than_all(part: int, whole: int, expected: str) -> None:
    assert text.share(part, whole) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (336_776, "336,776"),
        (12.346, "12.35"),
        (55.8, "55.8"),
        (-3.0, "-3"),
        (1.234e-7, "1.23e-07"),
        (1e18, "1e+18"),
        (None, "—"),
        (float("nan"), "—"),
        (float("-inf"), "-∞"),
    ],
)
def test_numbers_are_written_for_people(value: float | None, expected: str) -> None:
    assert text.number(value) == expected


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "1970-01-01 00:00"),
        (61_000, "1970-01-01 00:01:01"),
        (-1, "1969-12-31 23:59:59.999"),
        (253_402_300_799_999, "9999-12-31 23:59:59.999"),
    ],
)
def test_instants_are_as_exact_as_they_need_to_be(ms: int, expected: str) -> None:
    assert text.instant(ms) == expected


def test_moments_are_written_in_utc() -> None:
    at = datetime(2026, 1, 5, 1, tzinfo=timezone(timedelta(hours=2)))
    assert text.moment(at) == text.moment(at.astimezone(UTC)) == "2026-01-04 23:00:00"


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "0s"),
        (5, "5 ms"),
        (59_999, "59 seconds 999 ms"),
        (3_600_000, "1 hour"),
        (93_784_005, "1 day 2 hours"),
        (-5_400_000, "-1 hour 30 minutes"),
    ],
)
def test_durations_are_written_in_their_two_largest_units(ms: int, expected: str) -> None:
    assert text.duration(ms) == expected


@pytest.mark.parametrize(("ms", "unit"), [(0, "ms"), (1_999, "ms"), (2_000, "seconds"), (7_200_000, "hours")])
def test_an_axis_is_in_a_unit_of_which_it_shows_at_least_two(ms: int, unit: str) -> None:
    assert text.unit_for(ms)[1] == unit


@pytest.mark.parametrize(("count", "words"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1,000 runs")])
def test_one_thing_has_no_plural(count: int, words: str) -> None:
    assert text.counted(count, "run") == words
    assert text.counted(count, "entry", "entries") == words.replace("runs", "entries").replace("run", "entry")


def test_a_range_of_equal_ends_is_one_value() -> None:
    assert text.extent("1%", "3%") == "from 1% to 3%"
    assert text.extent("3.33%", "3.33%") == "3.33%"
