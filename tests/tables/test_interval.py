"""Intervals of windows with gaps: what they contain and overlap, against a count of windows one by one."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.tables.interval import Interval, in_words, joined

START = datetime(2024, 5, 1, tzinfo=UTC)
HOURS = range(-2, 14)


def at(hour: int | None) -> datetime | None:
    return None if hour is None else START + timedelta(hours=hour)


def drawn(draw: random.Random) -> Interval:
    """Draw one stretch or several, with open bounds now and then."""
    edges = sorted(draw.sample(range(12), draw.choice([2, 2, 4, 6])))
    bounds: list[int | None] = [*edges]
    if draw.random() < 0.2:
        bounds[0] = None
    if draw.random() < 0.2:
        bounds[-1] = None
    interval = joined(Interval(at(a), at(b)) for a, b in zip(bounds[::2], bounds[1::2], strict=True))
    assert interval is not None
    return interval


def windows(interval: Interval) -> set[int]:
    """Return the hours that are in the interval."""
    hour = timedelta(hours=1)
    return {n for n in HOURS if interval.overlaps(Interval(START + n * hour, START + (n + 1) * hour))}


@pytest.mark.parametrize("seed", range(200))
def test_intervals_are_sets_of_windows(seed: int) -> None:
    draw = random.Random(seed)
    first, second = drawn(draw), drawn(draw)
    together = joined([first, second])
    assert together is not None
    assert windows(together) == windows(first) | windows(second)
    assert first.overlaps(second) == bool(windows(first) & windows(second))
    assert first.contains(second) == (windows(first) >= windows(second))
    assert together.contains(first)
    assert together.contains(second)
    assert first.hull.contains(first)


def test_stretches_that_touch_become_one() -> None:
    assert joined([Interval(at(2), at(3)), Interval(at(0), at(2))]) == Interval(at(0), at(3))
    apart = joined([Interval(at(2), at(3)), Interval(at(0), at(1))])
    assert apart == Interval(at(0), at(3), stretches=(Interval(at(0), at(1)), Interval(at(2), at(3))))
    assert joined([]) is None
    assert joined([Interval(), Interval(at(2), at(3))]) == Interval()


def test_an_interval_with_gaps_is_never_whole() -> None:
    gaps = joined([Interval(None, at(1)), Interval(at(2), None)])
    assert gaps is not None
    assert not gaps.whole
    assert in_words(gaps) == "of 2 stretches from the first to the last"
    assert in_words(Interval(at(0), at(1))) == "from 2024-05-01 00:00 to 2024-05-01 01:00"
