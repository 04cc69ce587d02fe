"""The layout of an exact sum: every sum on the way is exact, as its law demands; checked in Python's doubles."""

from __future__ import annotations

import math
import random
import sqlite3
from fractions import Fraction

import pytest

from spark_jobs.replay.floats.exact_sum import TOTAL_OF_THREE, Grids, Layout, exact_sum
from spark_jobs.replay.floats.measured import Measured
from spark_jobs.semantics.floats.exact import exact_sum as by_rule
from tests.support.doubles import FAMILIES, bits


def measured(
    magnitude: float | None, fraction: float | None, inverse: float | None, rows: int, *, is_narrow: bool = False
) -> Grids:
    """Return the layout that follows from measures."""
    value = Measured(0, "(x)", is_narrow)
    return value.grids(dict(zip(value.names, (magnitude, fraction, inverse), strict=True)), rows, 1)


def grids_of(values: list[float]) -> Grids:
    """Return the layout as the census would find it."""
    finite = [abs(v) for v in values if math.isfinite(v)]
    constant = math.ldexp(1.5, 42)
    inverses = [math.inf if abs(v) < 1e-308 else 1 / abs(v) for v in values if v != 0 and not math.isnan(v)]
    return measured(
        sum(finite),
        sum(abs(v - ((v + constant) - constant)) for v in values),
        sum(inverses) if inverses else None,
        len(values),
    )


def split(value: float, grid: int) -> float:
    constant = math.ldexp(1.5, 52 + grid)
    return (value + constant) - constant


def is_exact(values: list[float]) -> bool:
    """Return whether no sum of doubles on the way is rounded, in this order."""
    total = 0.0
    for value in values:
        if Fraction(total) + Fraction(value) != Fraction(total + value):
            return False
        total += value
    return True


@pytest.mark.parametrize(
    ("family", "layout"),
    [
        ("quarters", Layout.PLAIN),
        ("prices", Layout.SPLIT),
        ("small", Layout.TRIPLE),
        ("mixed", Layout.BINNED),
        ("specials", Layout.SPLIT),
    ],
)
def test_the_layout_follows_from_the_bits(family: str, layout: Layout) -> None:
    draw = random.Random(family)
    values = [FAMILIES[family](draw) for _ in range(2_000)]
    grids = grids_of(values)
    assert (grids.layout, grids.are_finite) == (layout, family != "specials")


def test_values_of_all_magnitudes_are_listed() -> None:
    draw = random.Random(1)
    assert grids_of([FAMILIES["any bits"](draw) for _ in range(2_000)]).layout is Layout.LISTED
    assert grids_of([math.ldexp(1.0, 1023), math.ldexp(1.0, 1023)]).layout is Layout.LISTED


@pytest.mark.parametrize("seed", range(30))
def test_every_sum_of_a_layout_is_exact(seed: int) -> None:
    draw = random.Random(seed)
    family = FAMILIES[draw.choice(["quarters", "prices", "small", "mixed"])]
    scale = math.ldexp(1.0, draw.randrange(-200, 200))
    values = [family(draw) * scale for _ in range(draw.randrange(1, 3_000))]
    grids = grids_of(values)
    match grids.layout:
        case Layout.PLAIN:
            assert is_exact(values)
        case Layout.SPLIT:
            high = [split(value, grids.upper) for value in values]
            low = [value - part for value, part in zip(values, high, strict=True)]
            assert is_exact(high)
            assert is_exact(low)
            assert bits(sum(high) + sum(low) + 0.0) == bits(by_rule(values))
        case Layout.TRIPLE | Layout.BINNED:
            high = [split(value, grids.upper) for value in values]
            rest = [value - part for value, part in zip(values, high, strict=True)]
            low = [split(value, grids.lower) for value in rest]
            left = [value - part for value, part in zip(rest, low, strict=True)]
            assert is_exact(high)
            assert is_exact(low)
            assert grids.layout is Layout.BINNED or is_exact(left)
            assert bits(by_rule([sum(high), sum(low), *left])) == bits(by_rule(values))
        case Layout.LISTED:
            pytest.fail("values in a narrow range need no list")


def test_a_group_without_a_value_has_any_layout() -> None:
    assert measured(None, None, None, 0).layout is Layout.PLAIN
    assert measured(0.0, 0.0, None, 5).layout is Layout.PLAIN
    assert measured(None, math.nan, None, 5) == Grids(Layout.PLAIN, are_finite=False)
    assert measured(None, math.nan, 0.0, 5) == Grids(Layout.PLAIN, are_finite=False)
    assert measured(8.0, math.nan, math.inf, 5).layout is Layout.BINNED
    assert measured(math.inf, 0.0, 1.0, 5).layout is Layout.LISTED


@pytest.mark.parametrize("lowest_bit", [-1000, -70, -50, -20])
def test_a_measure_of_a_million_million_rows_leaves_a_margin(lowest_bit: int) -> None:
    """A sum of n doubles may be off by n * 2^-53 of it."""
    rows = 10**12
    measure = 2.0**40 * (1 - rows * 2.0**-54)
    exponent = math.frexp(measure * (1 + rows * 2.0**-53))[1]
    assert exponent == 41
    grids = Grids.of(measure, lowest_bit, rows, are_finite=True)
    if grids.layout is Layout.PLAIN:
        assert exponent <= 53 + lowest_bit
    else:
        assert grids.upper >= exponent - 51


def test_a_least_magnitude_leaves_a_margin_too() -> None:
    inverse = 2.0**30 * (1 - 10**12 * 2.0**-54)
    grids = measured(2.0**23, 0.5, inverse, 2)
    # The least magnitude may be just below 2^-30, so bits go down to 2^-83.
    assert grids == Grids.of(2.0**23, -83, 2, are_finite=True)


def test_floats_have_fewer_bits_than_doubles() -> None:
    narrow, wide = (measured(1e6, 0.7, 20.0, 1_000, is_narrow=is_narrow) for is_narrow in (True, False))
    assert (narrow.layout, wide.layout) == (Layout.PLAIN, Layout.SPLIT)


def test_three_doubles_are_rounded_once() -> None:
    """SQLite computes the template with the doubles of this machine."""
    draw, connection = random.Random(5), sqlite3.connect(":memory:")
    template = TOTAL_OF_THREE.replace("if(", "iif(").replace("0D", "0").format("?1", "?2", "?3")
    for _ in range(4_000):
        grid, bits_of_rows = draw.randrange(-40, 40), draw.randrange(2, 30)
        lower = grid - 54 + bits_of_rows
        a = float(draw.randrange(-(2**53), 2**53) >> draw.choice((0, 0, 20, 52))) * 2.0**grid
        b = float(draw.randrange(-(2**53), 2**53) >> draw.choice((0, 0, 30, 52))) * 2.0**lower
        c = float(draw.randrange(-(2 ** (bits_of_rows + 20)), 2 ** (bits_of_rows + 20))) * 2.0 ** (lower - 21)
        if draw.random() < 0.5:
            # The last bit of a decides a tie, and c goes beyond it or not.
            b = draw.choice((-1, 1)) * math.ulp(a) / 2
            c = draw.choice((-1, 0, 1)) * 2.0 ** (lower - draw.randrange(1, 60))
        (total,) = connection.execute(f"select {template}", (a, b, c)).fetchone()
        assert bits(total + 0.0) == bits(by_rule([a, b, c])), (a, b, c)


def test_only_sums_and_counts_are_merged() -> None:
    assert exact_sum("(x)", Grids(Layout.PLAIN)).can_be_merged
    assert exact_sum("(x)", Grids(Layout.SPLIT, -20)).can_be_merged
    assert exact_sum("(x)", Grids(Layout.TRIPLE, -20, -60)).can_be_merged
    assert exact_sum("(x)", Grids(Layout.TRIPLE, -20, -60, are_finite=False)).can_be_merged
    assert not exact_sum("(x)", Grids(Layout.BINNED, -20, -60)).can_be_merged
    assert not exact_sum("(x)", Grids()).can_be_merged
