"""A happening is one entry of a drawing's last column: a pane that fires, a late row, a pair of a join.

    k [0, 5) fires with 0 2            the pane of key k holds rows 0 and 2; `fires late`, `fires early` likewise
    k [0, 5) retracts 0 2              the pane with rows 0 and 2 is withdrawn
    k [0, 5) groups 0 2 with 1         a window join pairs rows 0 and 2 of the left input with row 1 of the right one
    0 with 3 at 12                     an interval join pairs rows 0 and 3, at event time 12
    3 with version 0                   an as-of join emits row 3 with row 0, the version of its time
    3 without version                  an as-of join emits row 3, which has no version
    k [0, 5) holds 0 2 4, 1 missed     the complete result: all rows of the window, of which the panes lack one
    too late                           the row goes to the late output
    late                               the row of an as-of join is late; it counts as far as the state allows
    no window                          no window takes the row, and the late output does not take it either

Happenings of one step are sorted: late rows, withdrawn panes, then windows by start, end, key and number of the pane.
Times have the unit of the drawing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

#: The watermarks before the first one and behind the end of the input, as Flink numbers them.
MIN, MAX = -(2**63), 2**63 - 1

#: Milliseconds of a drawing's unit.
UNITS = {"ms": 1, "s": 1000}

_NUMBER = r"-?\d+(\.\d+)?"
_ROWS = r"(\d+( \d+)*|none)"
_WINDOW = rf"(\S+ )?\[({_NUMBER}|\?), {_NUMBER}\)"
_GRAMMAR = (
    r"too late",
    r"late",
    r"\d+ (with version \d+|without version)",
    r"no window",
    rf"{_WINDOW} fires( late| early)? with {_ROWS}",
    rf"{_WINDOW} retracts {_ROWS}",
    rf"{_WINDOW} groups {_ROWS} with {_ROWS}",
    rf"{_WINDOW} holds {_ROWS}, \d+ missed",
    rf"\d+ with \d+ at {_NUMBER}",
)


class Happening(NamedTuple):
    """An entry with its place among those of one step."""

    is_replacement: bool
    start: int
    end: int
    key: str
    pane: int
    text: str


TOO_LATE = Happening(False, MIN, MIN, "", 0, "too late")
NO_WINDOW = TOO_LATE._replace(text="no window")
LATE = TOO_LATE._replace(text="late")


class Window(NamedTuple):
    """A window of one key, in milliseconds, with the number of its pane; no start where the answer has none."""

    key: str
    start: int | None
    end: int
    pane: int = 0

    def happens(self, description: str, unit: str, *, is_replacement: bool = True) -> Happening:
        """Give the entry of the window for a text such as `fires with 0 2`."""
        first = "?" if self.start is None else instant_text(self.start, unit)
        text = f"{self.key} [{first}, {instant_text(self.end, unit)}) {description}".strip()
        return Happening(is_replacement, self.start or 0, self.end, self.key, self.pane, text)


def fires(timing: str, members: Iterable[int]) -> str:
    """Describe a pane of a timing: on_time, late or early."""
    return f"{'fires' if timing == 'on_time' else f'fires {timing}'} with {numbers(members)}"


def groups(left: Iterable[int], right: Iterable[int]) -> str:
    """Describe a group of a window join."""
    return f"groups {numbers(left)} with {numbers(right)}"


def pair(left: int, right: int, ts: int, unit: str) -> Happening:
    """Give the entry of a pair of an interval join."""
    return Happening(False, left, right, "", 0, f"{left} with {right} at {instant_text(ts, unit)}")


def versioned(left: int, right: int | None) -> Happening:
    """Give the entry of a row that an as-of join emits."""
    text = f"{left} without version" if right is None else f"{left} with version {right}"
    return Happening(False, left, left, "", 0, text)


def numbers(members: Iterable[int]) -> str:
    """List rows by their numbers."""
    return " ".join(str(number) for number in sorted(members)) or "none"


def is_happening(text: str) -> bool:
    """Return whether a text is an entry that a drawing can hold."""
    return any(re.fullmatch(form, text) for form in _GRAMMAR)


def instant_text(ms: int, unit: str) -> str:
    """Write an instant in a unit: `-` for no watermark, `max` for the end of the input."""
    if ms in (MIN, MAX):
        return "-" if ms == MIN else "max"
    whole = Decimal(ms) / UNITS[unit]
    return f"{whole.normalize():f}"


def read_time(text: str, unit: str) -> int:
    """Read an instant that `shown` wrote. Raises ValueError for text that is no whole number of milliseconds."""
    if text in ("-", "max"):
        return MIN if text == "-" else MAX
    if re.fullmatch(_NUMBER, text) is None:
        raise ValueError(f"'{text}' is no number; write the time in {unit}")
    ms = Decimal(text) * UNITS[unit]
    if ms != int(ms):
        raise ValueError(f"'{text}' {unit} is finer than a millisecond")
    return int(ms)
