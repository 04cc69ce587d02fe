"""A text form is a datetime pattern that fits a column's text, derived from sampled values.

Law: a value counts for a form if it has the parts of the pattern in their order. If day and month cannot be
distinguished, both orders are forms. A form without an offset needs a time zone from the user.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_VALUE = re.compile(
    r"(?:(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<mark2>[-/.])(?P<second>\d{1,2})(?P=mark2)\d{4}"
    r"|(?P<compact>(?:19|20|21)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])))"
    r"(?:(?P<gap>T|, ?| |)(?:(?P<hour>\d{1,2}):\d{2}|(?P<hours>[01]\d|2[0-3])[0-5]\d(?=$|[0-5]\d|[-+Z]))"
    r"(?P<seconds>:?[0-5]\d)?(?P<fraction>[.,]\d{1,9})?(?P<half> ?[AaPp][Mm])?)?"
    r"(?P<space> ?)(?:(?P<utc>Z)|(?P<offset>[+-]\d{2}(?::?\d{2})?)|(?P<region>UTC|GMT|[A-Z][a-z]+(?:/[A-Z]\w+)+))?"
)
_WEEK = re.compile(r"\d{4}-?W\d{2}.*")
_MONTH_NAME = re.compile(r".*\b\d{1,4}[ ./-]?[A-Za-z]{3,9}[ ,./-]+\d{2,4}\b.*|[A-Za-z]{3,9} \d{1,2},? \d{4}.*")
_OFFSETS = {3: "X", 5: "XX", 6: "XXX"}
#: The least share of a sample that a form has to fit.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class TextForm:
    """A datetime pattern, and the number of sampled values that it fits."""

    pattern: str
    has_zone: bool
    matches: int


@dataclass(frozen=True)
class _Shape:
    """The parts of a value without their digits. `zone` is a pattern letter, `Z` for a literal Z, or empty."""

    order: str
    mark: str
    gap: str
    clock: str
    comma: bool
    half: str
    space: str
    zone: str


def text_forms(values: Iterable[str]) -> list[TextForm]:
    """Return the forms of the most common shape of text, the likelier first; none if too few values have one."""
    texts = [value for value in values if value.strip()]
    by_shape: defaultdict[_Shape, list[re.Match[str]]] = defaultdict(list)
    for text in texts:
        match = _VALUE.fullmatch(text)
        if match is not None:
            by_shape[_shape(match)].append(match)
    if not by_shape:
        return []
    shape, matches = max(_joined(by_shape).items(), key=lambda item: len(item[1]))
    if len(matches) < LEAST_SHARE * len(texts):
        return []
    zone = "XXX" if shape.zone == "Z" else shape.zone
    return [
        TextForm(_pattern(order, shape, matches, zone), bool(zone), len(matches)) for order in _orders(shape, matches)
    ]


def unreadable(values: Sequence[str]) -> str | None:
    """Return why text that looks like a time has no form; None for other text."""
    for rule, reason in (
        (_WEEK, "looks like weeks of a year, which no pattern reads"),
        (_MONTH_NAME, "looks like a time with the name of a month: give {column, format, timezone}"),
    ):
        if values and sum(rule.fullmatch(value) is not None for value in values) > LEAST_SHARE * len(values):
            return reason
    return None


def _shape(match: re.Match[str]) -> _Shape:
    clock = ""
    if match["hour"] or match["hours"]:
        colon = ":" if match["hour"] else ""
        clock = f"H{colon}mm" + (f"{colon}ss" if match["seconds"] else "")
    zone = (
        "Z" if match["utc"] else _OFFSETS[len(match["offset"])] if match["offset"] else "VV" if match["region"] else ""
    )
    return _Shape(
        order="ymd" if match["year"] else "compact" if match["compact"] else "?",
        mark=match["mark"] or match["mark2"] or "",
        gap=match["gap"] or "",
        clock=clock,
        comma=(match["fraction"] or "").startswith(","),
        half=(match["half"] or "")[:-2] + "a" if match["half"] else "",
        space=match["space"] if zone else "",
        zone=zone,
    )


def _joined(by_shape: dict[_Shape, list[re.Match[str]]]) -> dict[_Shape, list[re.Match[str]]]:
    """Return shapes that one pattern reads as one: `Z` beside offsets, and a fraction that some values lack."""
    joined: defaultdict[_Shape, list[re.Match[str]]] = defaultdict(list)
    for shape, matches in by_shape.items():
        joined[_general(shape, by_shape)].extend(matches)
    return joined


def _general(shape: _Shape, shapes: Iterable[_Shape]) -> _Shape:
    zone = shape.zone
    if zone == "Z":
        near = (s.zone for s in shapes if s.zone.startswith("X") and (s.order, s.clock) == (shape.order, shape.clock))
        zone = next(near, zone)
    commas = any(s.comma for s in shapes if (s.order, s.clock) == (shape.order, shape.clock))
    return _Shape(shape.order, shape.mark, shape.gap, shape.clock, commas, shape.half, shape.space, zone)


def _orders(shape: _Shape, matches: Sequence[re.Match[str]]) -> list[str]:
    if shape.order != "?":
        return [shape.order]
    if any(int(match["second"]) > 12 for match in matches):
        return ["mdy"]
    if shape.mark == "." or any(int(match["first"]) > 12 for match in matches):
        return ["dmy"]
    return ["dmy", "mdy"]


def _pattern(order: str, shape: _Shape, matches: Sequence[re.Match[str]], zone: str) -> str:
    narrow = any(1 in (len(m["month"] or m["first"] or "00"), len(m["day"] or m["second"] or "00")) for m in matches)
    month, day = ("M", "d") if narrow else ("MM", "dd")
    parts = {"ymd": ("yyyy", month, day), "dmy": (day, month, "yyyy"), "mdy": (month, day, "yyyy")}
    date = "yyyyMMdd" if order == "compact" else shape.mark.join(parts[order])
    clock = shape.clock
    if clock:
        letter = "h" if shape.half else "H"
        narrow_hour = any(len(m["hour"] or "00") == 1 for m in matches)
        clock = clock.replace("H", letter if narrow_hour else letter * 2, 1)
    gap = "'T'" if shape.gap == "T" else shape.gap
    return f"{date}{gap}{clock}{_fraction(shape, matches)}{shape.half}{shape.space}{zone}"


def _fraction(shape: _Shape, matches: Sequence[re.Match[str]]) -> str:
    digits = [len(match["fraction"] or ".") - 1 for match in matches]
    if not any(digits):
        return ""
    part = ("," if shape.comma else ".") + "S" * max(digits)
    return part if all(digits) else f"[{part}]"
