"""Merging windows: what touches becomes one, what has gone is met by nobody."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.semantics.sessions.merging_windows import Merge, MergingWindows, touches
from spark_jobs.semantics.windows.window_assigners import TimeWindow


def in_flight(*windows: tuple[int, int]) -> MergingWindows:
    merger = MergingWindows()
    for window in windows:
        merger.apply(merger.merge(TimeWindow(*window)))
    return merger


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [((0, 10), (5, 15), True), ((0, 10), (10, 20), True), ((0, 10), (11, 20), False), ((0, 10), (3, 4), True)],
)
def test_windows_touch_if_one_ends_where_the_other_starts(
    first: tuple[int, int], second: tuple[int, int], answer: bool
) -> None:
    assert (
        touches(TimeWindow(*first), TimeWindow(*second)) is touches(TimeWindow(*second), TimeWindow(*first)) is answer
    )


def test_a_window_alone_stays_as_it_is() -> None:
    assert in_flight((0, 10)).merge(TimeWindow(11, 21)) == Merge(TimeWindow(11, 21), ())


def test_a_bridge_joins_both_sides() -> None:
    merger = in_flight((0, 10), (20, 30), (40, 50))
    bridge = merger.merge(TimeWindow(10, 20))
    assert bridge == Merge(TimeWindow(0, 30), (TimeWindow(0, 10), TimeWindow(20, 30)))
    assert len(merger) == 3
    merger.apply(bridge)
    assert list(merger) == [TimeWindow(0, 30), TimeWindow(40, 50)]


def test_a_window_inside_another_changes_nothing() -> None:
    merger = in_flight((0, 30))
    inside = merger.merge(TimeWindow(10, 20))
    assert inside == Merge(TimeWindow(0, 30), (TimeWindow(0, 30),))
    merger.apply(inside)
    assert list(merger) == [TimeWindow(0, 30)]


def test_retired_window_does_not_merge() -> None:
    merger = in_flight((0, 10))
    merger.retire(TimeWindow(0, 10))
    assert merger.merge(TimeWindow(5, 15)) == Merge(TimeWindow(5, 15), ())


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 20)), max_size=20))
def test_windows_in_flight_never_touch_and_cover_all_that_came(windows: list[tuple[int, int]]) -> None:
    merger = in_flight(*((start, start + length) for start, length in windows))
    apart = list(merger)
    assert all(first.end < second.start for first, second in pairwise(apart))
    covered = {instant for window in apart for instant in range(*window)}
    assert covered == {instant for start, length in windows for instant in range(start, start + length)}


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 20)), min_size=1, max_size=20))
def test_a_window_absorbs_all_windows_in_flight_that_touch_it(windows: list[tuple[int, int]]) -> None:
    *before, (start, length) = windows
    merger = in_flight(*((start, start + length) for start, length in before))
    window = TimeWindow(start, start + length)
    assert list(merger.merge(window).absorbed) == [other for other in merger if touches(window, other)]
