"""The size of windows by resolution and rate."""

from __future__ import annotations

import pytest

from spark_jobs.jobs.draft.window_size import window_size

_HOUR, _DAY = 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("rows", "groups", "span_ms", "step", "size"),
    [
        (100_000, 3, 30 * _DAY, "second", _HOUR),
        (100_000, 3, 30 * _DAY, "day", _DAY),
        (3_000, 3, 60 * _DAY, "second", _DAY),
        (100_000, 1, _HOUR, "finer", 15 * 60_000),
        (5, 5, 365 * _DAY, "second", 7 * _DAY),
        (100, 1, 0, "day", _DAY),
    ],
    ids=["an hour", "a day by the resolution", "a day by the rate", "a short history", "few rows", "one day"],
)
def test_the_size_follows_from_resolution_rate_and_span(
    rows: int, groups: int, span_ms: int, step: str, size: int
) -> None:
    assert window_size(rows, groups, span_ms, step).ms == size


def test_a_size_with_few_rows_is_thin() -> None:
    assert window_size(5, 5, 365 * _DAY, "second").is_thin
    assert not window_size(100_000, 3, 30 * _DAY, "second").is_thin
