"""Grids by the clock of a zone: days of 23 and 25 hours, clocks that change at midnight, and days that do not exist."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from spark_jobs.semantics.rows.text_times import zone
from spark_jobs.semantics.spec import WindowKind, Windows
from spark_jobs.semantics.windows.grid import (
    FixedGrid,
    LocalGrid,
    grid,
    instant,
    newest_start,
    next_start,
    previous_start,
    wall,
)
from spark_jobs.semantics.windows.window_assigners import TimeWindow, assigner
from tests.support.local_days import DAY, HOUR, ODD_DAYS, ZONES, ms


def window(zone_name: str, ts: str, **lengths: int) -> list[tuple[str, float]]:
    """Return the start in UTC and the hours of each window of an instant."""
    kind = WindowKind.SLIDING if "slide_ms" in lengths else WindowKind.TUMBLING
    declared = Windows(**{"size_ms": DAY, **lengths}, kind=kind, timezone=zone_name)  # type: ignore[arg-type]
    return [
        (datetime.fromtimestamp(w.start / 1000, UTC).isoformat()[:16], (w.end - w.start) / HOUR)
        for w in assigner(declared).assign(ms(ts))
    ]


def test_a_day_has_23_or_25_hours_where_the_clock_changes() -> None:
    assert window("Europe/Berlin", "2024-03-30T23:00") == [("2024-03-30T23:00", 23)]
    assert window("Europe/Berlin", "2024-03-31T21:59:59") == [("2024-03-30T23:00", 23)]
    assert window("Europe/Berlin", "2024-03-31T22:00") == [("2024-03-31T22:00", 24)]
    assert window("Europe/Berlin", "2024-10-27T12:00") == [("2024-10-26T22:00", 25)]


def test_weeks_start_on_thursday_and_offsets_move_them() -> None:
    assert window("Europe/Berlin", "2024-03-31T12:00", size_ms=7 * DAY) == [("2024-03-27T23:00", 7 * 24 - 1)]
    monday = window("Europe/Berlin", "2024-03-31T12:00", size_ms=7 * DAY, offset_ms=4 * DAY)
    assert monday == [("2024-03-24T23:00", 7 * 24 - 1)]
    at_six = window("Europe/Berlin", "2024-03-31T03:59", offset_ms=6 * HOUR)
    assert at_six == [("2024-03-30T05:00", 23)]


def test_sliding_windows_end_at_the_same_hour_of_the_clock() -> None:
    assert window("Europe/Berlin", "2024-03-31T12:00", size_ms=2 * DAY, slide_ms=DAY) == [
        ("2024-03-30T23:00", 47),
        ("2024-03-29T23:00", 47),
    ]


def test_a_day_that_does_not_exist_is_no_window() -> None:
    # On Samoa the 29th of December 2011 was followed by the 31st.
    assert window("Pacific/Apia", "2011-12-30T09:59") == [("2011-12-29T10:00", 24)]
    assert window("Pacific/Apia", "2011-12-30T10:00") == [("2011-12-30T10:00", 24)]
    three = window("Pacific/Apia", "2011-12-30T10:00", size_ms=3 * DAY, slide_ms=DAY)
    assert three == [("2011-12-30T10:00", 72), ("2011-12-29T10:00", 48)]


def test_a_clock_that_skips_midnight_starts_the_day_after_the_gap() -> None:
    # In Havana the clock went from 00:00 to 01:00.
    assert window("America/Havana", "2024-03-10T12:00") == [("2024-03-10T05:00", 23)]


@pytest.mark.parametrize("name", ZONES)
def test_numbers_and_starts_agree_with_a_list_of_all_days(name: str) -> None:
    draw, clock = random.Random(name), zone(name)
    for day in (*ODD_DAYS, "1890-01-01", "0001-01-03", "9999-12-30"):
        for period, offset in ((DAY, 0), (DAY, 90 * 60_000), (2 * DAY, DAY), (7 * DAY, 4 * DAY)):
            starts = LocalGrid(clock, period, offset)
            middle = (ms(day) - offset) // period
            listed = [instant(offset + n * period, clock) for n in range(middle - 4, middle + 5)]
            assert listed == sorted(listed)
            for _ in range(60):
                ts = ms(day) + draw.randrange(-2 * DAY, 2 * DAY)
                newest = max(start for start in listed if start <= ts)
                assert newest_start(ts, starts) == newest
                assert starts.start(starts.number(newest)) == newest
            for start, following in pairwise(sorted(set(listed))):
                assert (next_start(start, starts), previous_start(following, starts)) == (following, start)
                assert newest_start(following - 1, starts) == start


@pytest.mark.parametrize("name", ZONES)
def test_every_instant_lies_in_its_windows_and_in_no_other(name: str) -> None:
    draw, clock = random.Random(name), zone(name)
    for day in ODD_DAYS:
        for size, slide in ((DAY, DAY), (3 * DAY, DAY), (3 * DAY, 2 * DAY), (DAY, 2 * DAY)):
            kind = WindowKind.TUMBLING if size == slide else WindowKind.SLIDING
            declared = Windows(size_ms=size, slide_ms=slide, kind=kind, timezone=name)
            middle = ms(day) // slide
            every = {
                instant(n * slide, clock): TimeWindow(instant(n * slide, clock), instant(n * slide + size, clock))
                for n in range(middle - 6, middle + 7)
            }
            for _ in range(40):
                ts = ms(day) + draw.randrange(-2 * DAY, 2 * DAY)
                expected = sorted(w for w in every.values() if w.start <= ts < w.end)
                assert sorted(assigner(declared).assign(ts)) == expected


@pytest.mark.parametrize("offset_hours", [-8, 0, 5])
def test_a_zone_of_a_fixed_offset_is_a_shifted_grid(offset_hours: int) -> None:
    declared = Windows(size_ms=DAY, timezone=f"{offset_hours:+03}:00")
    fixed = FixedGrid(DAY, -offset_hours * HOUR)
    draw = random.Random(offset_hours)
    for _ in range(200):
        ts = draw.randrange(-(2**45), 2**47)
        (local,) = assigner(declared).assign(ts)
        assert (local.start, local.end) == (newest_start(ts, fixed), next_start(newest_start(ts, fixed), fixed))


def test_utc_is_the_fixed_grid() -> None:
    assert grid(Windows(size_ms=DAY)) == FixedGrid(DAY)
    assert not Windows(size_ms=DAY, timezone="UTC").are_local


def test_times_beyond_the_calendar_follow_the_rules_of_400_years_before() -> None:
    clock = zone("Europe/Berlin")
    summer = ms("9999-07-01") + 10 * 365 * DAY
    assert wall(summer, clock) - summer == 2 * HOUR
    assert instant(wall(summer, clock), clock) == summer
    ancient = ms("0001-01-01") - 3 * 365 * DAY
    assert timedelta(milliseconds=wall(ancient, clock) - ancient) == timedelta(minutes=53, seconds=28)
