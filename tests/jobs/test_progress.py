"""The progress of a step while it works."""

from __future__ import annotations

import pytest

from spark_jobs.jobs.progress import staged


@pytest.mark.parametrize(
    ("count", "of", "seconds", "text"),
    [
        (1, 1, 30.0, "slice 1 of 1 staged"),
        (1, 4, 30.2, "slice 1 of 4 staged, about 1 minute 31 seconds left"),
        (2, 4, 30.0, "slice 2 of 4 staged, about 30 seconds left"),
        (4, 4, 60.0, "slice 4 of 4 staged"),
        (3, 4, 0.3, "slice 3 of 4 staged"),
    ],
)
def test_slices_are_counted_with_the_time_that_is_left(count: int, of: int, seconds: float, text: str) -> None:
    assert staged(count, of, seconds) == text
