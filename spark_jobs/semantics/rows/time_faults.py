"""A time fault is why a value is no time; the reason of an invalid row is the name of the time and its fault.

    missing          null
    empty            text without a character, or with blanks alone
    without_offset   text that fits the pattern without its zone or offset
    unreadable       any other text that does not fit the pattern; a number that is no time in 64 bits

The reference and the Spark engine share these names and `without_zone`.
"""

from __future__ import annotations

import re

MISSING = "missing"
EMPTY = "empty"
WITHOUT_OFFSET = "without_offset"
UNREADABLE = "unreadable"
ALL = (MISSING, EMPTY, WITHOUT_OFFSET, UNREADABLE)

#: Text without a character that shows; the same characters in Python, with re.ASCII, and in Java.
BLANK = r"^\s*$"

EVENT_TIME, ARRIVAL_TIME = "event_time", "arrival_time"
TIMES = (EVENT_TIME, ARRIVAL_TIME)

# Quoted text, which is no pattern, or letters of a zone with the blanks before them.
_QUOTED_OR_ZONE = re.compile(r"(?P<quoted>'[^']*')|\s*[VzOXxZ]+")


def reason(time: str, fault: str) -> str:
    """Return the reason of a row whose `time` (EVENT_TIME or ARRIVAL_TIME) has the fault."""
    return f"{time}_{fault}"


def without_zone(pattern: str) -> str | None:
    """Return a datetime pattern without its zone or offset; None for a pattern that has neither."""
    shortened = _QUOTED_OR_ZONE.sub(lambda match: match["quoted"] or "", pattern)
    return None if shortened == pattern else shortened
