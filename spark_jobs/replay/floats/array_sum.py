"""The exact sum of an array of doubles, as SQL: for values that no grid of an `exact_sum` covers.

Law (`semantics.floats.exact`): the result is the real sum, rounded once. The array is added to an expansion: doubles of
rising magnitude whose real sum is the sum so far. Each step splits a sum of two doubles into the rounded sum and its
error, which is a double too. This is Knuth's TwoSum, and Shewchuk (1997) proves that expansions grow by it.

At the end, the expansion is added from its greatest part down to the first rounding error. A part below that error
decides a tie.

Sums on the way may be greater than the greatest double. So values are added as multiples of 2^64; what a division by
2^64 rounds off is added afterwards.
"""

from __future__ import annotations

_NONE = "cast(array() as array<double>)"
INFINITY = "double('Infinity')"
_NAN = "double('NaN')"
_UP, _DOWN = f"{2.0**64!r}D", f"{2.0**-64!r}D"
# From here on, the sum of a multiple of 2^64 may be infinite.
_HIGHEST = f"{2.0**960!r}D"

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
    canonical = let(special, "a", f"if(isnan(a), {_NAN}, a)")
    return let(array, "v", f"if(exists(v, x -> abs(x) >= {INFINITY}), {canonical}, {_finite('v')})")


def _finite(values: str) -> str:
    scaled = f"transform({values}, x -> x * {_DOWN})"
    rest = f"filter(transform({values}, x -> x - (x * {_DOWN}) * {_UP}), x -> x <> 0.0D)"
    split = f"named_struct('high', {_expansion(scaled, _NONE)}, 'rest', {rest})"
    is_high = f"abs(get(e.high, size(e.high) - 1)) >= {_HIGHEST}"
    together = _expansion("e.rest", f"transform(e.high, x -> x * {_UP})")
    return let(split, "e", f"if({is_high}, {_rounded('e.high')} * {_UP}, {_rounded(together)})")


def _expansion(values: str, beginning: str) -> str:
    return f"aggregate({values}, {beginning}, (ps, x) -> {_GROWN})"


def _rounded(expansion: str) -> str:
    """Return the sum of an expansion, rounded once."""
    return (
        f"aggregate(reverse({expansion}), named_struct('hi', 0.0D, 'lo', 0.0D, 'rest', 0.0D), "
        f"(r, y) -> if(r.lo = 0.0D, {_ADDED}, {_BELOW}), r -> if({_IS_TIE}, r.hi + r.lo * 2.0D, r.hi))"
    )
