"""The interval join: near enough on both sides, late strictly behind, kept to the last instant."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.joins.interval_join import IntervalJoin, JoinBounds, Side

LEFT, RIGHT = Side.LEFT, Side.RIGHT


def pairs(join: IntervalJoin[str, str], side: Side, ts: int, row: str, key: str = "k") -> list[str] | None:
    """The pairs that a row completes, as text; None if it is late."""
    outcome = join.on_row(side, key, ts, row)
    return None if outcome.is_late else [f"{pair.left}{pair.right}@{pair.ts}" for pair in outcome.pairs]


def test_rows_join_within_the_bounds_whichever_comes_first() -> None:
    join: IntervalJoin[str, str] = IntervalJoin(JoinBounds(-1, 2))
    for ts in (8, 9, 12, 13):
        assert pairs(join, RIGHT, ts, str(ts)) == []
    assert pairs(join, LEFT, 10, "a") == ["a9@10", "a12@12"]
    assert pairs(join, RIGHT, 11, "11") == ["a11@11"]
    assert pairs(join, RIGHT, 11, "11", key="other") == []


def test_exclusive_bounds_are_a_millisecond_further_in() -> None:
    join: IntervalJoin[str, str] = IntervalJoin(JoinBounds(-1, 2, lower_inclusive=False, upper_inclusive=False))
    for ts in (9, 10, 11, 12):
        pairs(join, RIGHT, ts, str(ts))
    assert pairs(join, LEFT, 10, "a") == ["a10@10", "a11@11"]


def test_a_row_at_the_watermark_is_not_late() -> None:
    join: IntervalJoin[str, str] = IntervalJoin(JoinBounds(0, 0))
    join.on_watermark(10)
    assert pairs(join, LEFT, 9, "late") is None
    assert pairs(join, LEFT, 10, "a") == []
    assert pairs(join, RIGHT, 10, "b") == ["ab@10"]
    assert join.open_rows(LEFT) == [10]


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"), [(-3, 5, 15, 13), (2, 5, 15, 10), (-5, -2, 10, 15)]
)
def test_rows_are_dropped_at_their_last_instant(lower: int, upper: int, left_until: int, right_until: int) -> None:
    bounds = JoinBounds(lower, upper)
    for side, until in ((LEFT, left_until), (RIGHT, right_until)):
        join: IntervalJoin[str, str] = IntervalJoin(bounds)
        pairs(join, side, 10, "row")
        join.on_watermark(until - 1)
        assert join.open_rows(side) == [10]
        join.on_watermark(until)
        assert join.open_rows(side) == []


def test_exclusive_bound_drops_rows_a_millisecond_earlier() -> None:
    join: IntervalJoin[str, str] = IntervalJoin(JoinBounds(-3, 5, lower_inclusive=False, upper_inclusive=False))
    pairs(join, LEFT, 10, "left")
    pairs(join, RIGHT, 10, "right")
    join.on_watermark(12)
    assert (join.open_rows(LEFT), join.open_rows(RIGHT)) == ([10], [])
    join.on_watermark(14)
    assert join.open_rows(LEFT) == []


def test_row_at_the_watermark_misses_a_partner_that_was_just_dropped() -> None:
    join: IntervalJoin[str, str] = IntervalJoin(JoinBounds(-1, 1))
    pairs(join, LEFT, 3, "a")
    join.on_watermark(4)
    assert pairs(join, RIGHT, 4, "b") == []


def test_the_lower_bound_is_not_above_the_upper() -> None:
    with pytest.raises(ValueError, match="a lower bound of 1 ms and an upper bound of 0 ms"):
        JoinBounds(1, 0)
