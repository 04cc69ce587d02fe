"""A text time is an instant written by a pattern; patterns are Spark's datetime patterns, as far as they are numbers.

    yyyy year   M MM month   d dd day   H HH hour 0-23   h hh hour 1-12 with a   m mm minute   s ss second
    S..SSSSSS fraction, at most as many digits   VV zone   X XX XXX offset or Z   Z offset   'text' and marks as such

One letter reads one or two digits, two letters exactly two. What the pattern leaves out is 1970-01-01 00:00:00. A text
without a zone is local time in the declared zone. If the clock showed that time twice, the earlier instant is meant. If
the clock skipped it, it is moved forward by the gap. A text that does not fit is None.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.semantics.rows.instants import micros

_OFFSET = r"(?P<zone>Z|[+-]\d{2}%s)"
_LETTERS = {
    "yyyy": r"(?P<year>\d{4})",
    "a": r"(?P<half>[AaPp][Mm])",
    "VV": r"(?P<zone>[A-Za-z][\w/+\-]*|[+-]\d{2}:\d{2})",
    "X": _OFFSET % r"(?:\d{2})?",
    "XX": _OFFSET % r"\d{2}",
    "XXX": _OFFSET % r":\d{2}",
    "Z": r"(?P<zone>[+-]\d{4})",
} | {
    letters: rf"(?P<{name}>\d{{{len(letters)},2}})"
    for name, letter in (("month", "M"), ("day", "d"), ("hour", "H"), ("hour12", "h"), ("minute", "m"), ("second", "s"))
    for letters in (letter, letter * 2)
}
_PART = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])")


class UnreadablePatternError(ValueError):
    """A datetime pattern with a letter that the reference does not read."""


def parse(text: str, pattern: str, timezone_name: str) -> int | None:
    """Return the microseconds since 1970 of a text; None if it does not fit the pattern or is no valid time."""
    match = _compiled(pattern).fullmatch(text)
    if match is None:
        return None
    parts = {name: value for name, value in match.groupdict().items() if value is not None}
    try:
        local = datetime(
            int(parts.get("year", 1970)),
            int(parts.get("month", 1)),
            int(parts.get("day", 1)),
            _hour(parts),
            int(parts.get("minute", 0)),
            int(parts.get("second", 0)),
            int(parts.get("fraction", "0").ljust(6, "0")),
            tzinfo=zone(parts.get("zone", timezone_name)),
        )
        return micros(local)
    except (ValueError, ZoneInfoNotFoundError):
        return None


def _hour(parts: dict[str, str]) -> int:
    if "hour12" not in parts:
        return int(parts.get("hour", 0))
    hour = int(parts["hour12"])
    if not 1 <= hour <= 12:
        raise ValueError
    return hour % 12 + (12 if parts.get("half", "am").lower() == "pm" else 0)


def zone(name: str) -> tzinfo:
    """Return the zone of a name or an offset. Raises ZoneInfoNotFoundError."""
    offset = re.fullmatch(r"([+-])(\d{2}):?(\d{2})?", name)
    if offset is None:
        return UTC if name == "Z" else ZoneInfo(name)
    shift = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(-shift if offset[1] == "-" else shift)


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    expression, at = "", 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            raise UnreadablePatternError(f"found the datetime pattern '{pattern}', in which a quote has no end")
        expression += _expression(part, pattern)
        at = part.end()
    return re.compile(expression, re.ASCII)


def _expression(part: re.Match[str], pattern: str) -> str:
    letters = part["letters"]
    if letters is None:
        quoted = part["quoted"]
        return re.escape(part["other"] if quoted is None else quoted.replace("''", "'") or "'")
    if set(letters) == {"S"} and len(letters) <= 6:
        return rf"(?P<fraction>\d{{1,{len(letters)}}})"
    if letters not in _LETTERS:
        raise UnreadablePatternError(
            f"found '{letters}' in the datetime pattern '{pattern}', the reference reads "
            f"{', '.join(_LETTERS)} and S to SSSSSS"
        )
    return _LETTERS[letters]
