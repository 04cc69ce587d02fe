"""The shapes: the windows, or the join, that every way computes over the same events.

    tumbling    windows of 10 minutes
    sliding     windows of 1 hour, one every 10 minutes: each event is in six
    session     windows that end when their key is silent for 5 minutes
    join        pairs of an event of p0 or p1 and one of p2 or p3 with its key, at most 1 minute later

Of windows every way counts the events, and gives sum, mean and greatest value. A pair is the ids of its two events.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Shape(StrEnum):
    """What the ways compute."""

    TUMBLING = "tumbling"
    SLIDING = "sliding"
    SESSION = "session"
    JOIN = "join"


SIZE_MS, LONG_SIZE_MS, SLIDE_MS, GAP_MS, WITHIN_MS = 600_000, 3_600_000, 600_000, 300_000, 60_000
BOUND_MS, LATENESS_MS, EMIT_MS = 60_000, 600_000, 60_000

#: The sources of the events that a join pairs with the others.
SECOND_SOURCES = ("p2", "p3")
SECOND_SQL = f"origin in {SECOND_SOURCES}"
_NAMES = "[first, second]"

#: What a shape changes in `bench.yaml`: dotted key -> YAML text.
OVERRIDES: Mapping[Shape, Mapping[str, str]] = MappingProxyType(
    {
        Shape.TUMBLING: {},
        Shape.SLIDING: {
            "windows.kind": "sliding",
            "windows.size": f"{LONG_SIZE_MS} ms",
            "windows.slide": f"{SLIDE_MS} ms",
        },
        Shape.SESSION: {"windows.kind": "session", "windows.size": "null", "windows.gap": f"{GAP_MS} ms"},
        Shape.JOIN: {
            "windows": "null",
            "join": f'{{key: [key], between: [0s, {WITHIN_MS} ms], second_when: "{SECOND_SQL}", names: {_NAMES}}}',
        },
    }
)
