"""Values of options: times, intervals, durations and overrides, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.options import optional_moment, parse_interval, parse_moment, parse_overrides, parse_seconds
from spark_jobs.tables.interval import Interval


def test_a_time_is_utc_unless_it_has_an_offset() -> None:
    assert parse_moment("2013-07-01") == datetime(2013, 7, 1, tzinfo=UTC)
    assert parse_moment("2013-07-01T02:00+02:00") == datetime(2013, 7, 1, tzinfo=UTC)
    assert (optional_moment(""), optional_moment(None)) == (None, None)
    with pytest.raises(InputError, match="found the time 'yesterday', expected ISO 8601"):
        parse_moment("yesterday")


def test_an_absent_bound_is_no_bound() -> None:
    assert parse_interval(None, "") == Interval()
    assert parse_interval("2013-07-01", None) == Interval(datetime(2013, 7, 1, tzinfo=UTC), None)


def test_a_duration_is_seconds_and_names_its_option_when_it_is_wrong() -> None:
    assert parse_seconds("--wait", "1 hour") == 3600
    with pytest.raises(InputError, match="--wait: "):
        parse_seconds("--wait", "soon")


def test_overrides_are_pairs_and_values_may_have_equals_signs() -> None:
    assert parse_overrides(["windows.size=1 hour", "source.where=a = 1"]) == {
        "windows.size": "1 hour",
        "source.where": "a = 1",
    }
    for pair in ("windows.size", "=1 hour"):
        with pytest.raises(InputError, match=f"--set: found '{pair}', expected dotted.key=value"):
            parse_overrides([pair])
