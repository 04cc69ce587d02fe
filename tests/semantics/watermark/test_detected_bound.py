"""The bound is the longest delay of the newest rows: it grows with disorder at once and shrinks when that is past."""

from __future__ import annotations

import random

import pytest

from spark_jobs.semantics.watermark.detected_bound import DetectedBound
from tests.support.outputs import Output


def emitted(detected: DetectedBound, *times: int) -> int | None:
    output = Output()
    for ts in times:
        detected.on_event({}, ts, output)
    detected.on_periodic_emit(output)
    return output[-1] if output else None


def test_a_bound_grows_and_shrinks() -> None:
    detected = DetectedBound(rows=3, warm_up=0)
    assert emitted(detected) is None
    assert emitted(detected, 100) == 99
    assert emitted(detected, 90) == 89
    assert emitted(detected, 110, 120) == 120 - 10 - 1 - 0
    assert emitted(detected, 130) == 129


def test_no_watermark_is_emitted_during_the_warm_up() -> None:
    detected = DetectedBound(warm_up=3)
    assert emitted(detected, 1, 2) is None
    assert emitted(detected, 3) == 2


def test_bound_is_at_least_at_least_ms() -> None:
    assert emitted(DetectedBound(warm_up=0, at_least_ms=7), 100) == 92


def test_the_longest_delay_is_that_of_the_newest_rows() -> None:
    draw = random.Random(5)
    detected, times = DetectedBound(rows=6, warm_up=0), [draw.randrange(100) for _ in range(300)]
    delays = [max(times[: i + 1]) - ts for i, ts in enumerate(times)]
    for i, ts in enumerate(times):
        assert emitted(detected, ts) == max(times[: i + 1]) - max(delays[max(0, i - 5) : i + 1]) - 1


def test_a_bound_may_be_that_of_the_newest_row_alone() -> None:
    detected = DetectedBound(rows=1, warm_up=0)
    assert emitted(detected, 100, 90) == 100 - 10 - 1
    assert emitted(detected, 99) == 100 - 1 - 1


def test_a_bound_over_no_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="over 0 rows"):
        DetectedBound(rows=0)
