"""A duration is a whole number of milliseconds, written with its unit: `6 hours`, `1h 30m`, `-8 hours`, `PT6H`.

`parse_duration(format_duration(ms), negative=True) == ms` for every ms with |ms| <= LONGEST_MS. Three things are
no durations. A bare number has no unit. A month or a year has no fixed length. A value finer than a millisecond has no
place in event time (rule 1).
"""

from __future__ import annotations

import difflib
import re
from datetime import date
from fractions import Fraction

_UNITS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (604_800_000, ("w", "week", "weeks")),
    (86_400_000, ("d", "day", "days")),
    (3_600_000, ("h", "hr", "hrs", "hour", "hours")),
    (60_000, ("m", "min", "mins", "minute", "minutes")),
    (1_000, ("s", "sec", "secs", "second", "seconds")),
    (1, ("ms", "milli", "millis", "millisecond", "milliseconds")),
)
_MS_OF = {name: ms for ms, names in _UNITS for name in names}
_TOO_FINE = {"us", "µs", "micro", "micros", "microsecond", "microseconds"} | {
    "ns", "nano", "nanos", "nanosecond", "nanoseconds",
}  # fmt: skip
_NO_FIXED_LENGTH = {"M", "mo", "mon", "month", "months", "quarter", "quarters", "y", "Y", "yr", "yrs", "year", "years"}
_ALLOWED = "units: ms, s, min, h, days, weeks"

_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]*)")
_ISO = re.compile(
    r"P(?:(?P<years>[0-9.]+)Y)?(?:(?P<months>[0-9.]+)M)?(?:(?P<w>[0-9.]+)W)?(?:(?P<d>[0-9.]+)D)?"
    r"(?P<time>T(?:(?P<h>[0-9.]+)H)?(?:(?P<m>[0-9.]+)M)?(?:(?P<s>[0-9.]+)S)?)?"
)

#: No two times that a table can hold (years 1 to 9999) are further apart.
LONGEST_MS = date.max.toordinal() * 86_400_000


class DurationError(ValueError):
    """A text that is no duration; the message names the mistake and what is allowed."""


def parse_duration(text: str, *, negative: bool = False) -> int:
    """Read a duration as milliseconds.

    `text`: numbers with units from large to small, or an ISO 8601 duration; `negative` allows a leading minus.
    Raises DurationError.
    """
    body = text.strip()
    if len(body) > 100:
        raise DurationError("no duration; it is longer than 100 characters")
    minus = body.startswith("-")
    if minus and not negative:
        raise DurationError("a negative duration is not allowed here")
    body = body.removeprefix("-").lstrip()
    exact = _iso(body) if body.startswith("P") else _parts(body)
    if exact.denominator != 1:
        raise DurationError("finer than a millisecond, the smallest step of event time")
    if exact > LONGEST_MS:
        raise DurationError(f"longer than the {LONGEST_MS // 86_400_000} days that tables can hold")
    return -int(exact) if minus else int(exact)


def format_duration(ms: int) -> str:
    """Write milliseconds as people do: `1 day 6 hours`, `-8 hours`, `0s`."""
    if ms == 0:
        return "0s"
    words, rest = [], abs(ms)
    for unit_ms, names in _UNITS[1:]:
        count, rest = divmod(rest, unit_ms)
        if count:
            word = names[0] if unit_ms == 1 else names[-2] if count == 1 else names[-1]
            words.append(f"{count} {word}")
    return ("-" if ms < 0 else "") + " ".join(words)


def _parts(body: str) -> Fraction:
    total, last_ms, at = Fraction(0), None, 0
    while at < len(body):
        match = _PART.match(body, at)
        if match is None:
            raise DurationError(f"no duration; write a number and a unit, such as '6 hours' ({_ALLOWED})")
        number, unit = match.groups()
        unit_ms = _unit_ms(number, unit)
        if last_ms is not None and unit_ms >= last_ms:
            raise DurationError("units go from large to small, each once, as in '1h 30m'")
        total, last_ms, at = total + Fraction(number) * unit_ms, unit_ms, match.end()
    if last_ms is None:
        raise DurationError(f"no duration; write a number and a unit, such as '6 hours' ({_ALLOWED})")
    return total


def _unit_ms(number: str, unit: str) -> int:
    # One letter is taken as written, because M is a month to some and a minute to others.
    name = unit.lower() if len(unit) > 2 else unit
    if name in _MS_OF:
        return _MS_OF[name]
    if not name:
        raise DurationError(f"write the unit of {number}: '{number} hours', '{number} minutes', '{number} s'")
    if name in _TOO_FINE:
        raise DurationError("finer than a millisecond, the smallest step of event time")
    if name in _NO_FIXED_LENGTH:
        raise DurationError(f"'{unit}' has no fixed length; write days ('m' is minutes)")
    near = difflib.get_close_matches(name.lower(), _MS_OF, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise DurationError(f"unknown unit '{unit}'; {hint}{_ALLOWED}")


def _iso(body: str) -> Fraction:
    match = _ISO.fullmatch(body)
    if match is None or body.endswith(("P", "T")):
        raise DurationError("no ISO 8601 duration; these are: 'PT6H', 'PT1H30M', 'P1DT12H', 'PT0.5S'")
    if match["years"] or match["months"]:
        raise DurationError("months and years have no fixed length; write days ('P30D'); minutes follow a T ('PT5M')")
    try:
        return sum((Fraction(match[unit]) * _MS_OF[unit] for unit in "wdhms" if match[unit]), Fraction(0))
    except ValueError as wrong:
        raise DurationError("no ISO 8601 duration; these are: 'PT6H', 'PT1H30M', 'P1DT12H', 'PT0.5S'") from wrong
