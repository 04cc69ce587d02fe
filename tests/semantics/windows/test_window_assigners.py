"""Tumbling and sliding windows: half-open, regular on both sides of zero, refused where they make no grid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.pipeline.model import Windows
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.windows.window_assigners import (
    MOST_WINDOWS,
    SlidingWindows,
    TimeWindow,
    TumblingWindows,
    assigner,
)


@given(ts=st.integers(-(2**60), 2**60), size=st.integers(1, 2**40), shift=st.integers(-(2**40), 2**40))
def test_every_instant_lies_in_its_window_on_the_grid(ts: int, size: int, shift: int) -> None:
    offset = abs(shift) % size * (1 if shift > 0 else -1)
    (window,) = TumblingWindows(size, offset).assign(ts)
    assert window.start <= ts < window.end
    assert window.end - window.start == size
    assert (window.start - offset) % size == 0


def test_a_window_holds_its_start_and_not_its_end() -> None:
    windows = TumblingWindows(10, 3)
    assert windows.assign(3) == windows.assign(12) == (TimeWindow(3, 13),)
    assert windows.assign(13) == (TimeWindow(13, 23),)
    assert windows.assign(2) == (TimeWindow(-7, 3),)
    assert TimeWindow(3, 13).last == 12


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (-1, 0), (10, 10), (10, -10)])
def test_no_grid_of_empty_windows_or_whole_shifts(size: int, offset: int) -> None:
    with pytest.raises(ValueError, match="found a window"):
        TumblingWindows(size, offset)


@pytest.mark.parametrize(("size", "offset"), [(1, 0), (10, 9), (10, -9)])
def test_any_shift_shorter_than_a_window_is_a_grid(size: int, offset: int) -> None:
    assert TumblingWindows(size, offset).assign(offset) == (TimeWindow(offset, offset + size),)


def test_a_row_without_event_time_has_no_window() -> None:
    with pytest.raises(ValueError, match="without an event time"):
        TumblingWindows(10).assign(MIN)


def test_unknown_kinds_of_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="found window kind 'global', known: session, sliding, tumbling"):
        assigner(Windows(size_ms=10, kind="global"))  # type: ignore[arg-type]  # a kind that does not exist


@given(
    ts=st.integers(-(2**60), 2**60),
    size=st.integers(1, 500),
    slide=st.integers(1, 500),
    shift=st.integers(-(2**40), 2**40),
)
def test_an_instant_lies_in_all_sliding_windows_that_hold_it(ts: int, size: int, slide: int, shift: int) -> None:
    offset = abs(shift) % slide * (1 if shift > 0 else -1)
    windows = SlidingWindows(size, slide, offset).assign(ts)
    holding = [start for start in range(ts - size + 1, ts + 1) if (start - offset) % slide == 0]
    assert sorted(windows) == [TimeWindow(start, start + size) for start in holding]


def test_sliding_windows_overlap_and_begin_before_zero() -> None:
    assert SlidingWindows(5, 2).assign(0) == (TimeWindow(0, 5), TimeWindow(-2, 3), TimeWindow(-4, 1))
    assert SlidingWindows(5, 2).assign(1) == (TimeWindow(0, 5), TimeWindow(-2, 3))


def test_no_window_holds_an_instant_between_sliding_windows() -> None:
    assert SlidingWindows(2, 5).assign(1) == (TimeWindow(0, 2),)
    assert SlidingWindows(2, 5).assign(2) == ()


def test_windows_that_slide_by_their_size_tumble() -> None:
    assert SlidingWindows(10, 10, 3).assign(2) == TumblingWindows(10, 3).assign(2)


@pytest.mark.parametrize(
    ("size", "slide", "offset"), [(0, 1, 0), (1, 0, 0), (10, 5, 5), (10, 5, -5), (10_000_001, 1, 0)]
)
def test_no_sliding_grid_without_length_or_with_whole_shifts(size: int, slide: int, offset: int) -> None:
    with pytest.raises(ValueError, match="found a window"):
        SlidingWindows(size, slide, offset)


def test_a_row_without_event_time_has_no_sliding_window() -> None:
    with pytest.raises(ValueError, match="without an event time"):
        SlidingWindows(10, 5).assign(MIN)


def test_a_row_may_lie_in_as_many_windows_as_are_possible_and_in_no_more() -> None:
    assert SlidingWindows(MOST_WINDOWS, 1).size_ms == MOST_WINDOWS
    with pytest.raises(ValueError, match=f"a row may lie in at most {MOST_WINDOWS} windows"):
        SlidingWindows(MOST_WINDOWS + 1, 1)
