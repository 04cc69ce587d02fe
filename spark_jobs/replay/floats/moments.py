"""Moments on columns: variance, correlation and their kin, with the same bits in every order of the rows.

Law (`semantics.floats.moments`): the values are sorted; distances from their centre are added in this order. The centre
is the mean, but at least the least value and at most the greatest. Pairs (x, y) without a null are sorted by x, then y.
With NaN or an infinity among the values, the distances and so all moments are NaN.

    m2, m3, m4     sums of the second, third and fourth powers of the distances
    sxx, syy, sxy  sums of the products of the distances of x and y

A moment of too few values is null, and so is a quotient whose divisor is 0. With values in arrival order, distances are
added in that order. All is computed from an array of the values of a pane.
"""

from __future__ import annotations

from spark_jobs.replay.floats.array_sum import let, of_array

_N = "cast(size(q.l) as double)"
_SAMPLE = "if(size(q.l) < 2, null, {m2} / ({n} - 1.0D))"

_SQUARES = "aggregate(q.l, 0.0D, (a, v) -> a + (v - q.c) * (v - q.c))"
_CUBES = "aggregate(q.l, 0.0D, (a, v) -> a + (v - q.c) * (v - q.c) * (v - q.c))"
_FOURTHS = "aggregate(q.l, 0.0D, (a, v) -> a + (v - q.c) * (v - q.c) * (v - q.c) * (v - q.c))"

_POPULATION = f"{_SQUARES} / {_N}"
_OF_SAMPLE = _SAMPLE.format(m2=_SQUARES, n=_N)

#: Moments of one argument, over `q`: the values `l` and their centre `c`.
OF_ONE = {
    "kurtosis": let(_SQUARES, "m", f"{_N} * {_FOURTHS} / nullif(m * m, 0.0D) - 3.0D"),
    "skewness": let(_SQUARES, "m", f"sqrt({_N}) * {_CUBES} / nullif(sqrt(m * m * m), 0.0D)"),
    **dict.fromkeys(("std", "stddev", "stddev_samp"), f"sqrt({_OF_SAMPLE})"),
    "stddev_pop": f"sqrt({_POPULATION})",
    **dict.fromkeys(("variance", "var_samp"), _OF_SAMPLE),
    "var_pop": _POPULATION,
}

_SXX = "aggregate(q.l, 0.0D, (a, v) -> a + (v.x - q.c) * (v.x - q.c))"
_SYY = "aggregate(q.l, 0.0D, (a, v) -> a + (v.y - q.d) * (v.y - q.d))"
_SXY = "aggregate(q.l, 0.0D, (a, v) -> a + (v.x - q.c) * (v.y - q.d))"
_SLOPE = f"{_SXY} / nullif({_SXX}, 0.0D)"

#: Moments of two arguments, over `q`: the pairs `l` with fields `x` and `y`, their means `mx` and `my`, and centres `c`
#: and `d`. The first argument is `y`, the independent one is `x`, as in regr_slope(y, x).
OF_TWO = {
    "corr": f"{_SXY} / nullif(sqrt({_SXX} * {_SYY}), 0.0D)",
    "covar_pop": f"{_SXY} / {_N}",
    "covar_samp": _SAMPLE.format(m2=_SXY, n=_N),
    "regr_avgx": "q.mx",
    "regr_avgy": "q.my",
    "regr_intercept": f"q.my - ({_SLOPE}) * q.mx",
    "regr_r2": let(
        _SXX, "m", f"if(m = 0.0D, null, if({_SYY} = 0.0D, 1.0D, {_SXY} * {_SXY} / m / nullif({_SYY}, 0.0D)))"
    ),
    "regr_slope": _SLOPE,
    "regr_sxx": _SXX,
    "regr_sxy": _SXY,
    "regr_syy": _SYY,
}


def of_one(name: str, values: str, mean: str) -> str:
    """Return a moment of OF_ONE of `values`, an array<double> of a pane with this `mean`, in the order of addition."""
    centred = "named_struct('l', p.l, 'c', least(greatest(p.m, array_min(p.l)), array_max(p.l)))"
    body = f"if(size(p.l) = 0, null, {let(centred, 'q', OF_ONE[name])})"
    return let(f"named_struct('l', {values}, 'm', {mean})", "p", body)


def of_two(name: str, pairs: str) -> str:
    """Return a moment of OF_TWO of `pairs`, an array of structs (x, y) in the order of addition."""
    size = "cast(size(p) as double)"
    means = ", ".join(f"'m{of}', {of_array(f'transform(p, z -> z.{of})')} / {size}" for of in "xy")
    centres = ", ".join(
        f"'{name}', least(greatest(m.m{of}, array_min(transform(m.l, z -> z.{of}))), "
        f"array_max(transform(m.l, z -> z.{of})))"
        for of, name in (("x", "c"), ("y", "d"))
    )
    centred = f"named_struct('l', m.l, 'mx', m.mx, 'my', m.my, {centres})"
    body = let(f"named_struct('l', p, {means})", "m", let(centred, "q", OF_TWO[name]))
    return let(pairs, "p", f"if(size(p) = 0, null, {body})")
