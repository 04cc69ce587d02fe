"""Exact sums: the sum of doubles is rounded once, so that no order and no grouping of the values changes a bit.

Law: with R the rounding of a real number to the nearest double, ties to even,

    sum    R(x1 + ... + xn), the real sum; 0.0 if that is zero, also of values -0.0
    avg    R(sum / n)

A real sum beyond the greatest double is infinite, as R defines it; a greater sum on the way has no effect. The sum of
values with NaN, or with both infinities, is NaN. The sum of values with one infinity is that infinity. A `float` is the
double of the same value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def exact_sum(values: Sequence[float]) -> float:
    """Return the real sum of the values, rounded once; 0.0 for no values."""
    special = [value for value in values if not math.isfinite(value)]
    if special:
        # NaN and infinities give the same sum in every order.
        return sum(special)
    try:
        return math.fsum(values) + 0.0
    except OverflowError:
        return _rounded(sum(map(Fraction, values), Fraction(0)))


def average(values: Sequence[float]) -> float:
    """Return the exact sum divided by the number of values, of which there is at least one."""
    return exact_sum(values) / len(values)


def _rounded(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
