"""How a stretch of windows is cut: nothing outside of it is ever in one of its slices."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.jobs.stage.slices import slices_of
from spark_jobs.replay.windows.slice import Slice

NO_CENSUS: Any = None


@pytest.mark.parametrize(
    ("start", "end", "also", "edges"),
    [
        (None, None, [], [(None, None)]),
        (None, None, [50], [(None, 50), (50, None)]),
        (10, 90, [50], [(10, 50), (50, 90)]),
        (10, 90, [70, 50, 50], [(10, 50), (50, 70), (70, 90)]),
        (10, 90, [10, 90], [(10, 90)]),
        (10, 90, [9, 91], [(10, 90)]),
        (None, 90, [-5, 90], [(None, -5), (-5, 90)]),
        (10, None, [10, 11], [(10, 11), (11, None)]),
    ],
)
def test_cuts_are_inside_and_in_order(start: int, end: int, also: list[int], edges: list[tuple[int, int]]) -> None:
    slices = slices_of(NO_CENSUS, Slice("slice-0", start, end), 1, also)
    assert [(part.start_ms, part.end_ms) for part in slices] == edges
    assert len({part.name for part in slices}) == len(edges)
