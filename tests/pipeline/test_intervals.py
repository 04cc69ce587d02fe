"""A range that is cut into intervals: disjoint, in order, together the range, and no window in two of them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.intervals import MOST_INTERVALS, IntervalsError, cut
from spark_jobs.semantics.windows.grid import grid

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def pipeline(**windows: Any) -> Pipeline:
    size = {} if "gap" in windows else {"size": "10 minutes"}
    declared = {"kind": "tumbling", **size, "key": [], "aggregates": {"n": "count(*)"}, **windows}
    return from_mapping(
        {
            "name": "sales",
            "source": {"table": "/rows", "event_time": "at", "arrival_time": "known_at"},
            "watermark": {"out_of_orderness": "1 minute", "emit": {"every": "1 minute"}},
            "windows": declared,
        }
    )


TUMBLING, HOPPING = pipeline(), pipeline(kind="sliding", size="1 hour", slide="15 minutes", offset="5 minutes")
SESSIONS = pipeline(kind="session", gap="10 minutes")
DAYS = pipeline(size="1 day", timezone="Europe/Berlin")


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@settings(max_examples=200, deadline=None)
@given(
    declared=st.sampled_from([TUMBLING, HOPPING, DAYS]),
    first=st.integers(-40_000, 40_000),
    windows=st.integers(1, 900),
    step=st.integers(1, 30),
)
def test_intervals_are_the_range_and_cut_no_window(declared: Pipeline, first: int, windows: int, step: int) -> None:
    starts = grid(declared.windows)
    start, end = starts.start(first), starts.start(first + windows)
    intervals = cut(start, end, step * declared.windows.period_ms, declared)
    assert (intervals[0][0], intervals[-1][1]) == (start, end)
    assert all(before[1] == after[0] for before, after in pairwise(intervals))
    assert all(begin < finish for begin, finish in intervals)
    sizes = [starts.number(finish) - starts.number(begin) for begin, finish in intervals]
    assert set(sizes[:-1]) <= {step}
    assert 1 <= sizes[-1] <= step


@given(start=st.integers(-(10**12), 10**12), length=st.integers(1, 10**9), every=st.integers(10**7, 10**9))
def test_sessions_have_no_grid_and_are_cut_anywhere(start: int, length: int, every: int) -> None:
    intervals = cut(start, start + length, every, SESSIONS)
    assert [finish - begin for begin, finish in intervals[:-1]] == [every] * (len(intervals) - 1)
    assert sum(finish - begin for begin, finish in intervals) == length


def test_a_day_on_a_clock_has_its_own_hours() -> None:
    intervals = cut(ms("2024-03-29T23:00"), ms("2024-04-01T22:00"), DAY, DAYS)
    assert [(finish - begin) / HOUR for begin, finish in intervals] == [24, 23, 24]


@pytest.mark.parametrize(
    ("bounds", "every", "bound", "message"),
    [
        ((0, HOUR), 5 * MINUTE, "every", "found 5 minutes, but windows begin every 10 minutes; write a multiple"),
        ((0, HOUR), 25 * MINUTE, "every", "found 25 minutes, but windows begin every 10 minutes"),
        ((0, HOUR), 0, "every", "found 0s, but windows begin every 10 minutes"),
        (
            (MINUTE, HOUR),
            HOUR,
            "start",
            "cuts a window, which begins 1 minute earlier; the next begins 9 minutes later",
        ),
        ((0, HOUR + 1), HOUR, "end", "cuts a window"),
        ((0, 1001 * HOUR), HOUR, "every", "found 1 hour, which makes 1,001 intervals of this range, and at most 1,000"),
    ],
)
def test_a_range_that_cannot_be_cut_is_refused_with_what_is_wrong(
    bounds: tuple[int, int], every: int, bound: str, message: str
) -> None:
    with pytest.raises(IntervalsError) as refused:
        cut(*bounds, every, TUMBLING)
    assert (refused.value.bound, message in str(refused.value)) == (bound, True), str(refused.value)


def test_as_many_intervals_as_airflow_maps_are_allowed() -> None:
    assert len(cut(0, MOST_INTERVALS * HOUR, HOUR, TUMBLING)) == MOST_INTERVALS < 1024
