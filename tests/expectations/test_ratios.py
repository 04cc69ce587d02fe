"""Limits of ratios that are learned from earlier runs."""

from __future__ import annotations

import pytest

from expectations import ratios
from spark_jobs.pipeline.model import Learned, Quality


def ran(too_late: int, late: int = 0, invalid: int = 0, rows: int = 1000) -> dict[str, int]:
    """The counts of a run of `rows` rows that belong to windows, and of `invalid` besides."""
    return {
        "on_time": rows - late - too_late,
        "late": late,
        "too_late": too_late,
        "invalid": invalid,
        "rows_read": rows + invalid,
    }


def test_nothing_is_usual_before_seven_runs() -> None:
    assert ratios.usual([ran(5)] * 6) == {}
    assert set(ratios.usual([ran(5)] * 7)) == {"late", "too_late", "invalid"}


def test_what_is_usual_is_the_median_and_four_deviations() -> None:
    # Distances from the median 4 are 3 2 1 0 1 2 96, of which the median is 2.
    limits = ratios.usual([ran(n) for n in (1, 2, 3, 4, 5, 6, 100)])
    assert limits["too_late"] == pytest.approx((4 + 4 * 1.4826 * 2) / 1000)
    assert limits["late"] == 0


def test_one_that_is_far_off_changes_little() -> None:
    assert ratios.usual([ran(10)] * 8 + [ran(900)])["too_late"] == pytest.approx(0.01)


def test_only_the_newest_runs_count() -> None:
    assert ratios.usual([ran(500)] * 40 + [ran(1)] * 30)["too_late"] == pytest.approx(0.001)


def test_rows_for_windows_closed_before_a_run_came_too_late_as_well() -> None:
    counts = {"on_time": 90, "late": 0, "too_late": 4, "too_late_behind": 6, "rows_read": 100}
    assert ratios.usual([counts] * 7)["too_late"] == pytest.approx(0.1)


def test_runs_without_rows_give_no_limits() -> None:
    assert ratios.usual([ran(0, rows=0)] * 10) == {}


def test_a_learned_limit_warns_and_one_that_is_set_blocks() -> None:
    limited_ratios = (
        *ratios.late_ratios("late", "too_late", "all_rows", "belong to a window", ""),
        ratios.invalid_ratio("bad", "rows_read"),
    )
    invariants = ratios.invariants(
        Quality(max_late_ratio=Learned.LEARNED, max_too_late_ratio=0.1, max_invalid_ratio=0.0), limited_ratios
    )
    assert [(invariant.name, invariant.blocks) for invariant in invariants] == [
        ("not_too_many_rows_are_late", False),
        ("not_too_many_rows_are_too_late", True),
        ("not_too_many_rows_are_invalid", True),
    ]
    assert ratios.invariants(Quality(max_invalid_ratio=None), limited_ratios) == ()
    assert [i.name for i in ratios.invariants(Quality(), limited_ratios)] == ["not_too_many_rows_are_invalid"]
