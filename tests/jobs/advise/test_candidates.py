"""Candidates: which settings are weighed, which are recommended, and the text of the recommendation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spark_jobs.jobs.advise.candidates import (
    LADDER,
    Delay,
    candidate,
    in_words,
    pairs,
    parse_durations,
    parse_target,
    percent,
    recommended,
    rough,
    rounded_up,
    settings_to_show,
    steps,
)
from spark_jobs.jobs.errors import InputError

HOUR = 3_600_000
#: Of 1,000 rows, how many are behind a delay of so many hours.
BEHIND = {0: 700, 1: 200, 2: 9, 4: 8, 6: 1, 8: 0}
DELAYS = {
    h * HOUR: Delay(h * HOUR, n, n // 2, 1_000, 600, 500, h * HOUR + 5.0, h * HOUR + 9.0) for h, n in BEHIND.items()
}
ALL = pairs(sorted(DELAYS))


def test_a_candidate_is_judged_by_its_bound_and_by_the_sum() -> None:
    weighed_candidate = candidate(2 * HOUR, 4 * HOUR, DELAYS)
    assert (weighed_candidate.on_time, weighed_candidate.late, weighed_candidate.too_late) == (991, 8, 1)
    assert (weighed_candidate.completeness, weighed_candidate.windows_missing_rows, weighed_candidate.windows) == (
        0.999,
        0,
        600,
    )
    assert (weighed_candidate.final_after, weighed_candidate.windows_fired, weighed_candidate.max_wait) == (
        6 * HOUR,
        500,
        2 * HOUR + 9.0,
    )


@pytest.mark.parametrize(
    ("target", "bound", "sum_of_both"),
    [("0.3", 0, 0), ("80%", 1, 1), ("0.9915", 2, 4), ("99.9%", 2, 6), ("99.90001%", 2, 8), ("100%", 2, 8), ("0", 0, 0)],
)
def test_the_recommended_one_is_complete_enough_at_the_least_delay(target: str, bound: int, sum_of_both: int) -> None:
    best = recommended(ALL, DELAYS, parse_target(target))
    assert best is not None
    assert (best.out_of_orderness, best.final_after) == (bound * HOUR, sum_of_both * HOUR)


def test_greatest_bound_is_recommended_if_none_has_most_rows_on_time() -> None:
    best = recommended([(0, 2 * HOUR), (HOUR, HOUR)], DELAYS, Fraction(9, 10))
    assert best is not None
    assert best.out_of_orderness == HOUR


def test_no_candidate_is_recommended_if_none_is_complete_enough() -> None:
    assert recommended([(0, 0), (HOUR, 0)], DELAYS, Fraction(9, 10)) is None


@pytest.mark.parametrize(
    ("ms", "up"),
    [
        (0, 0),
        (1, 1),
        (3, 5),
        (501, 1_000),
        (61_000, 120_000),
        (HOUR, HOUR),
        (HOUR + 1, 2 * HOUR),
        (LADDER[-1] + 1, 2 * LADDER[-1]),
    ],
)
def test_durations_are_rounded_up_to_readable_ones(ms: int, up: int) -> None:
    assert rounded_up(ms) == up


def test_steps_reach_from_the_least_to_the_most_on_the_grid() -> None:
    assert steps(3, 60, 1) == [0, 5, 10, 20, 50, 100]
    assert steps(3, 60, 10) == [0, 10, 20, 50, 100]
    assert steps(3, 6, 7) == [0, 14]
    assert steps(0, 0, 1) == [0]


def test_shown_candidates_contain_the_configured_and_the_recommended() -> None:
    best = recommended(ALL, DELAYS, Fraction(999, 1000))
    shown_hours = [(0, 0), (0, 6), (2, 0), (2, 4), (3, 1), (8, 0)]
    assert settings_to_show([0, 2 * HOUR, 8 * HOUR], (3 * HOUR, HOUR), best) == [
        (b * HOUR, more * HOUR) for b, more in shown_hours
    ]
    assert settings_to_show([0], (1, 1), None) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("text", ["", "all", "101%", "-1", "1/0", "9.9.9%"])
def test_a_target_that_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--target"):
        parse_target(text)


def test_durations_stand_between_commas() -> None:
    assert parse_durations("--bounds", "1h, 5m,1h") == [300_000, HOUR]
    assert parse_durations("--bounds", "") == []
    with pytest.raises(InputError, match="--bounds '5m,soon'"):
        parse_durations("--bounds", "5m,soon")


def test_recommendation_text_contains_its_cost() -> None:
    assert in_words(candidate(2 * HOUR, 4 * HOUR, DELAYS), Fraction(999, 1000)) == (
        "For 99.9% of the rows: out_of_orderness 2 hours, allowed_lateness 4 hours. Of 1,000 rows 991 (99.1%) are on "
        "time, 8 revise results that have appeared, 1 is too late and missing from 0 of 600 windows. A result appears "
        "2h after its window's end on average, 2h at most; rows are taken until the watermark is 4 hours further."
    )
    assert "none is too late" in in_words(candidate(8 * HOUR, 0, DELAYS), Fraction(1))


def test_shares_are_never_rounded_to_all() -> None:
    assert [percent(s) for s in (1, 0.99999999, 0.5, 0.9999, 0)] == ["100%", "99.9999%", "50%", "99.99%", "0%"]


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0s"), (7, "7ms"), (1_500, "1s"), (61_000, "1m 1s"), (-HOUR, "-1h"), (26 * HOUR, "1d 2h"), (HOUR + 5, "1h")],
)
def test_measured_durations_have_two_units(ms: int, text: str) -> None:
    assert rough(ms) == text
