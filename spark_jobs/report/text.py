"""Text of values on the page: numbers, shares, instants, durations, and texts from data.

Law: a text from data is escaped. Invisible characters, and characters that reorder or hide others, are written as code
points. A text that is too long is cut, with the number of characters that were cut.
"""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.semantics.rows.instants import EPOCH

# Control, format (direction marks among them), surrogate, private, unassigned; line and paragraph separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_UNITS = ((86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds"), (1, "ms"))

LONGEST = 160
NOTHING = "—"


def excerpt(value: object, limit: int = LONGEST) -> Markup:
    """Write a text from data, at most `limit` characters of it; None is a null."""
    if value is None:
        return Markup('<span class="null">null</span>')
    text = str(value)
    escaped = Markup("<bdi>{}</bdi>").format(visible(text[:limit]))
    if text == "":
        return Markup('<span class="null">empty text</span>')
    if len(text) <= limit:
        return escaped
    return escaped + Markup('<span class="cut">… cut, {} more characters</span>').format(number(len(text) - limit))


def visible(text: str) -> str:
    """Write invisible characters, and those that change the display of others, as code points."""
    return "".join(_code_point(c) if unicodedata.category(c) in _UNSEEN else c for c in text)


def number(value: float | None) -> str:
    """Write a number for people: `336,776`, `12.35`, `1.2e-07`; a missing one as a dash."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".") if 0.01 <= abs(value) < 1e12 else f"{value:.3g}"


def share(part: int, whole: int) -> str:
    """Write a part as per cent; never 0% of something and never 100% of less than all."""
    if whole <= 0:
        return NOTHING
    per_cent = 100 * part / whole
    if 0 < per_cent < 0.01:
        return "under 0.01%"
    if per_cent > 99.99 and part < whole:
        return "over 99.99%"
    return f"{per_cent:.2f}".rstrip("0").rstrip(".") + "%"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a number of things: `1 run`, `2 runs`. The plural is the noun with an s, unless `plural` is another."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def extent(least: str, most: str) -> str:
    """Write the range of texts of values: `from 1% to 3%`, or the one value if both are equal."""
    return f"from {least} to {most}" if least != most else most


def instant(ms: int) -> str:
    """Write an instant in UTC, as short as it allows: `2013-07-01 05:00`, with seconds and ms where there are any."""
    moment = EPOCH + timedelta(milliseconds=ms)
    exactness = "milliseconds" if ms % 1000 else "seconds" if ms % 60_000 else "minutes"
    return moment.replace(tzinfo=None).isoformat(" ", exactness)


def moment(at: datetime | None) -> str:
    """Write a datetime in UTC to the second; None as a dash."""
    return NOTHING if at is None else at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


def duration(ms: int) -> str:
    """Write a duration by its two largest units: `3 hours 12 minutes`."""
    rest, largest = abs(ms), 0
    while largest < len(_UNITS) - 1 and rest < _UNITS[largest][0]:
        largest += 1
    finest, _ = _UNITS[min(largest + 1, len(_UNITS) - 1)]
    return format_duration((-1 if ms < 0 else 1) * (rest - rest % finest))


def unit_for(longest_ms: int) -> tuple[int, str]:
    """Return the unit in which an axis up to `longest_ms` reads well: its milliseconds and its name."""
    return next(((ms, name) for ms, name in _UNITS if longest_ms >= 2 * ms), _UNITS[-1])


def _code_point(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
