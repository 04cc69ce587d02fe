"""Text and charts can be distinguished from the paper they are on."""

from __future__ import annotations

from itertools import combinations

import pytest

from spark_jobs.report.palette import CHART_ROLES, PALETTE, PAPER, PARTITION_ROLES, TEXT_ROLES, Colour


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other: str) -> float:
    bright, dark = sorted((luminance(colour), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("role", TEXT_ROLES)
@pytest.mark.parametrize("ground", [PAPER, "ground"])
def test_text_has_a_contrast_of_at_least_4_5(role: str, ground: str) -> None:
    for scheme in ("light", "dark"):
        assert contrast(getattr(PALETTE[role], scheme), getattr(PALETTE[ground], scheme)) >= 4.5


@pytest.mark.parametrize("role", CHART_ROLES)
def test_what_a_chart_draws_has_a_contrast_of_at_least_3_on_both_papers(role: str) -> None:
    colour = PALETTE[role]
    assert colour == Colour(colour.light, colour.light), "drawn once, for both"
    for paper in (PALETTE[PAPER].light, PALETTE[PAPER].dark):
        assert contrast(colour.light, paper) >= 3


# Linear RGB as people without red and without green cones see it: Machado, Oliveira and Fernandes, 2009.
SIGHT = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour: str, sight: str) -> list[float]:
    """Return the colour in CIE L*a*b*, in which a distance of 2 is just visible."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    perceived = [min(max(c, 0.0), 1.0) for c in times(SIGHT[sight], linear)]
    x, y, z = (
        v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
        for v in (c / white for c, white in zip(times(XYZ, perceived), (0.9505, 1.0, 1.089), strict=True))
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


@pytest.mark.parametrize("sight", SIGHT)
def test_source_partitions_can_be_distinguished_by_people_who_see_fewer_colours(sight: str) -> None:
    colours = [PALETTE[role].light for role in (*PARTITION_ROLES, "watermark")]
    for colour, other in combinations(colours, 2):
        pairs = zip(lab(colour, sight), lab(other, sight), strict=True)
        assert sum((a - b) ** 2 for a, b in pairs) ** 0.5 > 20, (colour, other)
