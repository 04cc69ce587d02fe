"""Moments: variance and standard deviation of doubles, with the same bits in every order of the values.

Law: with n values in ascending order,

    c            avg(x), but at least the least value and at most the greatest: equal values have the variance 0
    m2           (x1 - c)^2 + ... + (xn - c)^2, added in this order, each step rounded
    var_pop      m2 / n
    var_samp     m2 / (n - 1); null for one value

A standard deviation is the square root of the variance. With NaN or an infinity among the values, all are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add

from spark_jobs.semantics.floats.exact import average


def variance(values: Sequence[float], *, is_sample: bool, in_given_order: bool = False) -> float | None:
    """Return the variance; None without values, and of one value for a sample.

    `in_given_order` adds in the order of `values`, which is then the order of arrival, also for the mean.
    """
    n = len(values)
    if n < 1 + is_sample:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = added(values) / n if in_given_order else average(values)
    centre = min(max(mean, min(values)), max(values))
    distances = [value - centre for value in (values if in_given_order else sorted(values))]
    return added([distance * distance for distance in distances]) / (n - is_sample)


def deviation(values: Sequence[float], *, is_sample: bool, in_given_order: bool = False) -> float | None:
    """Return the square root of `variance`."""
    squared = variance(values, is_sample=is_sample, in_given_order=in_given_order)
    return None if squared is None else math.sqrt(squared)


def added(values: Sequence[float]) -> float:
    """Return the values added one after the other, each step rounded; of one value it is the value."""
    return reduce(add, values)
