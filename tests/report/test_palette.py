"""Text and charts can be distinguished from the paper they are on."""

from __future__ import annotations

import pytest

from spark_jobs.report.palette import CHART_ROLES, PALETTE, PAPER, TEXT_ROLES, Colour


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
