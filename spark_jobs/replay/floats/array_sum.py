"""The exact sum of an array of doubles, as SQL: for values that no grid of an `exact_sum` covers.

Law (`semantics.floats.exact`): the result is the real sum, rounded once. The array is added to an expansion: doubles of
rising magnitude whose real sum is the sum so far. Each step splits a sum of two doubles into the rounded sum and its
error, which is a double too. This is Knuth's TwoSum, and Shewchuk (1997) proves that expansions grow by it.

At the end, the expansion is added from its greatest part down to the first rounding error. A part below that error
decides a tie.

Sums on the way may be greater than the greatest double. So great values are added apart, as multiples of 2^64; no sum
of the rest overflows. At the end, the great sum joins the rest. If it may be infinite, the rest joins it as multiples
of 2^64. Parts of the rest that are too small for that only decide a tie: a tiny value of their sign stands for them.
"""

from __future__ import annotations

_NONE = "cast(array() as array<double>)"
INFINITY = "double('Infinity')"
NAN = "double('NaN')"
_UP, _DOWN = f"{2.0**64!r}D", f"{2.0**-64!r}D"
# An array has less than 2^31 values, so values below the first bound have a sum below 2^931. If great values have a sum
# below 2^64 times the second bound, the sum of all is finite. From the third bound on, a division by 2^64 is exact.
_GREAT, _FINITE, _SMALL = f"{2.0**900!r}D", f"{2.0**880!r}D", f"{2.0**-900!r}D"
_TINY = f"{2.0**-1070!r}D"

# Rounded sum and error of `s.x` and `p`.
_RISEN = "(s.x + p)"
_ERROR = f"((s.x - ({_RISEN} - ({_RISEN} - s.x))) + (p - ({_RISEN} - s.x)))"
_STEP = f"named_struct('x', {_RISEN}, 'ps', if({_ERROR} = 0.0D, s.ps, concat(s.ps, array({_ERROR}))))"
_GROWN = (
    f"aggregate(ps, named_struct('x', x, 'ps', {_NONE}), (s, p) -> {_STEP}, "
    "s -> if(s.x = 0.0D, s.ps, concat(s.ps, array(s.x))))"
)

_ADDED = "named_struct('hi', r.hi + y, 'lo', y - ((r.hi + y) - r.hi), 'rest', 0.0D)"
_BELOW = "if(r.rest = 0.0D, named_struct('hi', r.hi, 'lo', r.lo, 'rest', y), r)"
_IS_TIE = (
    "((r.lo > 0.0D and r.rest > 0.0D) or (r.lo < 0.0D and r.rest < 0.0D)) "
    "and ((r.hi + r.lo * 2.0D) - r.hi) = r.lo * 2.0D"
)


def let(value: str, name: str, body: str) -> str:
    """Return `body` with `name` for a value that is computed once; all three are SQL."""
    return f"get(transform(array({value}), {name} -> {body}), 0)"


def of_array(array: str) -> str:
    """Return the exact sum of an array<double> without nulls, as SQL; 0.0 for an empty array."""
    special = f"aggregate(filter(v, x -> abs(x) >= {INFINITY}), 0.0D, (a, x) -> a + x)"
    canonical = let(special, "a", f"if(isnan(a), {NAN}, a)")
    return let(array, "v", f"if(exists(v, x -> abs(x) >= {INFINITY}), {canonical}, {_finite('v')})")


def _finite(values: str) -> str:
    great = f"transform(filter({values}, x -> abs(x) >= {_GREAT}), x -> x * {_DOWN})"
    rest = f"filter({values}, x -> abs(x) < {_GREAT})"
    split = f"named_struct('great', {_expansion(great, _NONE)}, 'rest', {_expansion(rest, _NONE)})"
    may_be_infinite = f"abs(get(e.great, size(e.great) - 1)) >= {_FINITE}"
    divided = f"transform(filter(e.rest, x -> abs(x) >= {_SMALL}), x -> x * {_DOWN})"
    # The last of the small parts is the greatest, so the sum of all of them has its sign.
    signs = f"transform(slice(filter(e.rest, x -> abs(x) < {_SMALL}), -1, 1), x -> if(x < 0.0D, -{_TINY}, {_TINY}))"
    upwards = _expansion(f"concat({signs}, {divided})", "e.great")
    downwards = _expansion(f"transform(e.great, x -> x * {_UP})", "e.rest")
    return let(split, "e", f"if({may_be_infinite}, {_rounded(upwards)} * {_UP}, {_rounded(downwards)})")


def _expansion(values: str, beginning: str) -> str:
    return f"aggregate({values}, {beginning}, (ps, x) -> {_GROWN})"


def _rounded(expansion: str) -> str:
    """Return the sum of an expansion, rounded once."""
    return (
        f"aggregate(reverse({expansion}), named_struct('hi', 0.0D, 'lo', 0.0D, 'rest', 0.0D), "
        f"(r, y) -> if(r.lo = 0.0D, {_ADDED}, {_BELOW}), r -> if({_IS_TIE}, r.hi + r.lo * 2.0D, r.hi))"
    )
