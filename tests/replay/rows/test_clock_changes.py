"""Clock changes that meet the start of a window, and those that do not."""

from __future__ import annotations

import pytest

from spark_jobs.replay.rows.clock_changes import meet_window_starts

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("timezone", "offset_ms", "meets"),
    [
        ("Europe/Berlin", 0, False),
        ("Europe/Berlin", 2 * HOUR, False),
        ("Europe/Berlin", 2 * HOUR + 1, True),
        ("Europe/Berlin", 3 * HOUR - 1, True),
        ("Europe/Berlin", 3 * HOUR, False),
        ("America/Havana", 0, False),
        ("America/Goose_Bay", 0, True),
        ("America/Toronto", 0, True),
        ("Pacific/Apia", 0, True),
        ("+05:30", HOUR, False),
    ],
)
def test_changes_between_two_starts_are_met(timezone: str, offset_ms: int, meets: bool) -> None:
    assert meet_window_starts(timezone, offset_ms) == meets
