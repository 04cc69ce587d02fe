"""An instant names the window that starts then, or the only one around it; else the starts are listed."""

from __future__ import annotations

import pytest

from spark_jobs.explain.window_starts import WindowStartError, named_start_ms
from spark_jobs.semantics.spec import WindowKind, Windows

MINUTE = 60_000
TUMBLING = Windows(size_ms=10 * MINUTE)
SLIDING = Windows(size_ms=10 * MINUTE, slide_ms=5 * MINUTE, kind=WindowKind.SLIDING)
WITH_GAPS = Windows(size_ms=5 * MINUTE, slide_ms=10 * MINUTE, kind=WindowKind.SLIDING)
SESSIONS = Windows(gap_ms=10 * MINUTE, kind=WindowKind.SESSION)


@pytest.mark.parametrize(
    ("windows", "instant_ms", "start_ms"),
    [
        (TUMBLING, 10 * MINUTE, 10 * MINUTE),
        (TUMBLING, 15 * MINUTE, 10 * MINUTE),
        (TUMBLING, -1, -10 * MINUTE),
        (SLIDING, 15 * MINUTE, 15 * MINUTE),
        (WITH_GAPS, 14 * MINUTE, 10 * MINUTE),
        (SESSIONS, 15 * MINUTE, 15 * MINUTE),
    ],
)
def test_an_instant_names_one_window(windows: Windows, instant_ms: int, start_ms: int) -> None:
    assert named_start_ms(windows, instant_ms) == start_ms


def test_an_instant_in_several_windows_lists_their_starts() -> None:
    with pytest.raises(WindowStartError, match=r"lies in 2 windows.*: 1970-01-01T00:10:00, 1970-01-01T00:15:00$"):
        named_start_ms(SLIDING, 17 * MINUTE)
    narrow = Windows(size_ms=MINUTE, slide_ms=1000, kind=WindowKind.SLIDING)
    with pytest.raises(WindowStartError, match=r"lies in 60 windows.*and 50 earlier ones$"):
        named_start_ms(narrow, 500)


def test_an_instant_between_two_windows_is_refused() -> None:
    with pytest.raises(WindowStartError, match="1970-01-01T00:06:00 lies between two windows"):
        named_start_ms(WITH_GAPS, 6 * MINUTE)
