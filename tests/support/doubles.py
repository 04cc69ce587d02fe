"""Families of doubles for sums: of few bits, prices, small, of all magnitudes, with values that are not finite."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Mapping
from typing import Any

EDGES = (0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1)


def quarter(draw: random.Random) -> float:
    """Return a multiple of a quarter."""
    return draw.randrange(-4000, 4000) / 4


def price(draw: random.Random) -> float:
    """Return an amount with two decimal places, which no double holds exactly."""
    return round(draw.uniform(-1000, 1000), 2)


def small(draw: random.Random) -> float:
    """Return a price, or a millionth of one: more bits than two grids hold."""
    return price(draw) * draw.choice((1.0, 1.0, 1e-6))


def any_bits(draw: random.Random) -> float:
    """Return a finite double of any magnitude."""
    value = struct.unpack(">d", struct.pack(">Q", draw.getrandbits(64)))[0]
    return value if math.isfinite(value) else any_bits(draw)


def edge(draw: random.Random) -> float:
    """Return now and then a double at an edge of its type, else a price."""
    return draw.choice(EDGES) if draw.random() < 0.3 else price(draw)


def special(draw: random.Random) -> float:
    """Return now and then NaN or an infinity, else a price."""
    return draw.choice((math.nan, math.inf, -math.inf)) if draw.random() < 0.02 else price(draw)


def mixed(draw: random.Random) -> float:
    """Return a price, or a very small or great double: sums on the way are far from exact."""
    return draw.choice((price(draw), draw.uniform(-1, 1) * 1e-30, draw.uniform(-1, 1) * 1e25))


FAMILIES: Mapping[str, Callable[[random.Random], float]] = {
    "quarters": quarter,
    "prices": price,
    "small": small,
    "mixed": mixed,
    "edges": edge,
    "specials": special,
    "any bits": any_bits,
}


def bits(value: Any) -> Any:
    """Return a stand-in of a value that differs for doubles of different bits; NaN has one; lists item by item."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, (list, tuple)):
        return tuple(map(bits, value))
    return value
