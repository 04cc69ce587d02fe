"""Lateness: each boundary of the three verdicts, to the millisecond."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.watermark.comparisons import advances
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time, is_due, judge
from spark_jobs.semantics.windows.window_assigners import TimeWindow

WINDOW = TimeWindow(1000, 2000)


@pytest.mark.parametrize(
    ("watermark", "verdict"),
    [
        (MIN, Lateness.ON_TIME),
        (1998, Lateness.ON_TIME),
        (1999, Lateness.LATE),
        (2498, Lateness.LATE),
        (2499, Lateness.TOO_LATE),
        (MAX, Lateness.TOO_LATE),
    ],
)
def test_a_window_is_late_from_its_last_instant_and_too_late_from_its_cleanup(
    watermark: int, verdict: Lateness
) -> None:
    assert judge(WINDOW, 500, watermark) is verdict


@pytest.mark.parametrize(("watermark", "verdict"), [(1998, Lateness.ON_TIME), (1999, Lateness.TOO_LATE)])
def test_no_row_is_late_without_allowed_lateness(watermark: int, verdict: Lateness) -> None:
    assert judge(WINDOW, 0, watermark) is verdict


def test_a_cleanup_beyond_the_end_of_time_does_not_wrap_around() -> None:
    window = TimeWindow(MAX - 1000, MAX)
    assert cleanup_time(window, 5000) == MAX
    assert judge(window, 5000, MAX - 1) is Lateness.LATE


def test_only_a_larger_watermark_is_news() -> None:
    assert advances(5, 4)
    assert not advances(5, 5)
    assert not advances(4, 5)


def test_a_timer_runs_when_the_watermark_reaches_it() -> None:
    assert is_due(10, 10)
    assert not is_due(10, 9)
