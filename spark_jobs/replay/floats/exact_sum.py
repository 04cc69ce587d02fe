"""Exact sums on columns: the real sum of doubles, rounded once, from sums that Spark and Comet compute natively.

Law: let all values be multiples of 2^l, and let their magnitudes have a sum of at most 2^e. A sum of multiples of 2^g
is exact as long as it is at most 2^(53 + g). Then no addition rounds, and the order has no effect. So

    PLAIN    e <= 53 + l: the sum of the values is exact
    SPLIT    each value is split at the grid 2^h with h = e - 51: into its nearest multiple of 2^h, and the rest, which
             is at most 2^(h - 1). With n values, both sums are exact if n * 2^(h - 1) <= 2^(53 + l). Their sum is
             rounded once, since both are doubles.
    TRIPLE   the rest is split again, at a second grid 2^g with g = h - 54 + log2(n). All three sums are exact if
             n * 2^(g - 1) <= 2^(53 + l). Three doubles are rounded once as below.
    BINNED   as TRIPLE, but what is left below 2^g is collected in an array, which is empty for most groups
             (`array_sum`).
    LISTED   all values are collected in an array

Infinite values and NaN are split apart as 0.0, and have a separate sum. It is 0.0 without them, and else the result.

The split is `(x + m) - m` with m = 1.5 * 2^(52 + h). The first sum lies between 2^(52 + h) and 2^(53 + h), so it rounds
to a multiple of 2^h. An addition of 0.0 turns -0.0 into 0.0.

The sum of three doubles a, b, c is a + (b + c) if b + c is exact, as in groups of few rows. Otherwise three sums of two
doubles follow, each as the rounded sum and its error:

    s + e = a + b        t + f = e + c        r + d = s + t

The result is r. There is one exception: d is half of r's last bit, so that r was rounded to even, and f has the sign of
d. Then the result is r + 2d. Where e is not 0, b and c are so much smaller than a that f decides nothing else.

The layout of a sum follows from what the census has measured of all rows (`measured`). It changes no result: another
layout has the same real sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from spark_jobs.replay.floats.array_sum import INFINITY, NAN, of_array

# Exponents of the grids for which the constant of a split is a normal double.
_LOWEST_GRID, _HIGHEST_GRID = -1_070, 960
_MANTISSA = 53
#: A sum of n doubles that are not negative is off by less than n * 2^-53 of it. This factor covers 2^43 rows.
MARGIN = 1 + 2.0**-10


class Layout(Enum):
    """How the values of a sum are split."""

    PLAIN = auto()
    SPLIT = auto()
    TRIPLE = auto()
    BINNED = auto()
    LISTED = auto()


@dataclass(frozen=True)
class Grids:
    """The layout of one sum, and the exponents of its grids; PLAIN and LISTED have none, SPLIT has no `lower` one.

    `are_finite`: no value is infinite or NaN. LISTED needs not know.
    """

    layout: Layout = Layout.LISTED
    upper: int = 0
    lower: int = 0
    are_finite: bool = True

    @classmethod
    def of(cls, magnitude: float, lowest_bit: int, rows: int, *, are_finite: bool) -> Grids:
        """Return the layout for values whose magnitudes have this sum, of which at most `rows` are in one group.

        `magnitude` leaves out values that are not finite; `are_finite` means that there are none. All finite values
        are multiples of 2^`lowest_bit`.
        """
        if not math.isfinite(magnitude):
            return cls()
        exponent = math.frexp(magnitude * MARGIN)[1]
        if magnitude == 0 or exponent <= _MANTISSA + lowest_bit:
            return cls(Layout.PLAIN, are_finite=are_finite)
        bits = max(2, rows.bit_length())
        upper = exponent - 51
        if not (_LOWEST_GRID < upper < _HIGHEST_GRID):
            return cls()
        if upper - 1 + bits <= _MANTISSA + lowest_bit:
            return cls(Layout.SPLIT, upper, are_finite=are_finite)
        lower = upper - 1 + bits - _MANTISSA
        if lower <= _LOWEST_GRID:
            return cls()
        is_exact = lower - 1 + bits <= _MANTISSA + lowest_bit
        return cls(Layout.TRIPLE if is_exact else Layout.BINNED, upper, lower, are_finite)


@dataclass(frozen=True)
class ExactSum:
    """An exact sum of doubles as SQL: aggregates of one argument, and the sum as a template over them.

    `parts` are (function, argument); `{0}`, `{1}` ... in `total` stand for them. A part without a function is the SQL
    of an aggregate. Sums and counts of several groups of rows can be merged.
    """

    parts: tuple[tuple[str, str], ...]
    total: str

    @property
    def can_be_merged(self) -> bool:
        """Whether all parts are sums and counts."""
        return all(function in ("sum", "count") for function, _ in self.parts)


def exact_sum(value: str, grids: Grids) -> ExactSum:
    """Return the exact sum of a DOUBLE value, given as SQL in brackets."""
    if grids.are_finite or grids.layout is Layout.LISTED:
        return _of_finite(value, grids)
    finite = _of_finite(f"(if(abs({value}) >= {INFINITY}, 0.0D, {value}))", grids)
    apart = f"{{{len(finite.parts)}}}"
    total = f"if({apart} = 0.0D, {finite.total}, if(isnan({apart}), {NAN}, {apart}))"
    return ExactSum((*finite.parts, ("sum", f"if(abs({value}) >= {INFINITY}, {value}, 0.0D)")), total)


def _of_finite(value: str, grids: Grids) -> ExactSum:
    match grids.layout:
        case Layout.PLAIN:
            return ExactSum((("sum", f"{value} + 0.0D"),), "{0}")
        case Layout.SPLIT:
            high = _rounded(value, grids.upper)
            return ExactSum((("sum", high), ("sum", f"{value} - {high}")), "({0} + {1})")
        case Layout.TRIPLE | Layout.BINNED:
            high = _rounded(value, grids.upper)
            rest = f"({value} - {high})"
            low = _rounded(rest, grids.lower)
            if grids.layout is Layout.TRIPLE:
                return ExactSum((("sum", high), ("sum", low), ("sum", f"{rest} - {low}")), TOTAL_OF_THREE)
            everything = of_array("concat({2}, array({0}, {1}))")
            total = f"if(size({{2}}) = 0, {{0}} + {{1}}, {everything})"
            return ExactSum((("sum", high), ("sum", low), ("collect_list", f"nullif({rest} - {low}, 0.0D)")), total)
        case Layout.LISTED:
            return ExactSum((("collect_list", value),), f"if(size({{0}}) = 0, null, {of_array('{0}')})")


def _two_sum(a: str, b: str) -> tuple[str, str]:
    """Return the rounded sum of two doubles, and its error."""
    total = f"({a} + {b})"
    return total, f"(({a} - ({total} - ({total} - {a}))) + ({b} - ({total} - {a})))"


def _of_three() -> str:
    """Return the sum of `{0}`, `{1}` and `{2}`, rounded once."""
    low = "({1} + {2})"
    is_exact = f"({low} - {{1}}) = {{2}} and ({low} - {{2}}) = {{1}}"
    s, e = _two_sum("{0}", "{1}")
    t, f = _two_sum(e, "{2}")
    r, d = _two_sum(s, t)
    goes_on = f"(({d} > 0.0D and {f} > 0.0D) or ({d} < 0.0D and {f} < 0.0D))"
    is_tie = f"(({r} + {d} * 2.0D) - {r}) = {d} * 2.0D"
    return f"if({is_exact}, {{0}} + {low}, if({goes_on} and {is_tie}, {r} + {d} * 2.0D, {r}))"


def _rounded(value: str, grid: int) -> str:
    """Return the nearest multiple of 2^grid."""
    constant = f"{math.ldexp(1.5, 52 + grid)!r}D"
    return f"(({value} + {constant}) - {constant})"


#: The sum of the three parts of TRIPLE, rounded once.
TOTAL_OF_THREE = _of_three()
