"""The exact sum and the moments: one result in every order, the real sum rounded once, and rules at the edges."""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction

import pytest

from spark_jobs.semantics.floats.exact import average, exact_sum
from spark_jobs.semantics.floats.moments import added, deviation, variance
from tests.support.doubles import FAMILIES, bits

GREATEST = 1.7976931348623157e308
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("family", FAMILIES)
def test_no_order_changes_a_bit(family: str) -> None:
    draw = random.Random(family)
    for _ in range(50):
        values = [FAMILIES[family](draw) for _ in range(draw.randrange(1, 40))]
        shuffled = draw.sample(values, len(values))
        for of in (exact_sum, average, lambda v: variance(v, is_sample=False), lambda v: deviation(v, is_sample=True)):
            assert bits(of(shuffled)) == bits(of(values))


def test_the_sum_is_the_real_sum_rounded_once() -> None:
    draw = random.Random(1)
    for family in ("quarters", "prices", "mixed"):
        values = [FAMILIES[family](draw) for _ in range(300)]
        assert exact_sum(values) == float(sum(map(Fraction, values)))


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([], 0.0),
        ([-0.0], 0.0),
        ([-0.0, -0.0], 0.0),
        ([1.0, -1.0], 0.0),
        ([0.1] * 10, 1.0),
        ([1e100, 1.0, -1e100], 1.0),
        ([GREATEST, GREATEST, -GREATEST], GREATEST),
        ([GREATEST, GREATEST], INF),
        ([-GREATEST, -GREATEST], -INF),
        # Half of the last bit, alone and with more: a tie goes to the even double.
        ([1.0, 2.0**-53], 1.0),
        ([1.0, 2.0**-53, 5e-324], 1.0 + 2.0**-52),
        ([5e-324, 5e-324], 1e-323),
        ([INF, 1.0], INF),
        ([-INF, GREATEST], -INF),
        ([INF, -INF], NAN),
        ([NAN, INF], NAN),
        ([1.0, NAN], NAN),
    ],
)
def test_edges_of_a_sum(values: list[float], total: float) -> None:
    assert bits(exact_sum(values)) == bits(total)
    assert bits(exact_sum(values[::-1])) == bits(total)


def test_an_average_is_the_rounded_sum_divided() -> None:
    assert average([0.1, 0.1, 0.1]) == exact_sum([0.1, 0.1, 0.1]) / 3
    assert average([GREATEST, GREATEST]) == INF


@pytest.mark.parametrize("value", [0.1, 1e300, 5e-324, -7.3])
def test_equal_values_do_not_vary(value: float) -> None:
    assert variance([value] * 3, is_sample=True) == 0.0
    assert deviation([value] * 7, is_sample=False) == 0.0


def test_moments_are_those_of_the_textbook() -> None:
    values = [2.5, 4.0, 4.5, 9.25, -3.0]
    assert variance(values, is_sample=True) == pytest.approx(statistics.variance(values), rel=1e-15)
    assert deviation(values, is_sample=False) == pytest.approx(statistics.pstdev(values), rel=1e-15)
    assert variance([1e9 + 1, 1e9 + 2, 1e9 + 3], is_sample=True) == 1.0


def test_too_few_values_have_no_moment() -> None:
    assert variance([], is_sample=False) is None
    assert variance([1.0], is_sample=True) is None
    assert deviation([1.0], is_sample=True) is None
    assert variance([1.0], is_sample=False) == 0.0


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_moments_of_what_is_not_finite_are_nan(value: float) -> None:
    assert math.isnan(variance([value], is_sample=False) or 0.0)
    assert math.isnan(deviation([1.0, value, 2.0], is_sample=True) or 0.0)


def test_in_arrival_order_each_step_is_rounded() -> None:
    assert added([1e100, 1.0, -1e100]) == 0.0
    assert added([1e100, -1e100, 1.0]) == 1.0
    assert bits(added([-0.0])) == bits(-0.0)
    values = [3.1, -7.7, 1e8, 0.3]
    assert variance(values, is_sample=True, in_given_order=True) == pytest.approx(statistics.variance(values))
