"""Tumbling windows: half-open, regular on both sides of zero, refused where they make no grid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.pipeline.model import Windows
from spark_jobs.semantics.instants import MIN
from spark_jobs.semantics.windows import TimeWindow, TumblingWindows, assigner


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
    with pytest.raises(ValueError, match="found window kind 'sliding', known: tumbling"):
        assigner(Windows(size_ms=10, kind="sliding"))
