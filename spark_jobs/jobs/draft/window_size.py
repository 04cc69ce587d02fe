"""The size of windows: the least usual size that the resolution of the event time and the rate of rows allow.

Law: a window is not shorter than the step of the event time. It has at least `ENOUGH` rows of a key on average, and
the rows span a few windows. A size of an hour is preferred.
"""

from __future__ import annotations

from dataclasses import dataclass

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_SIZES = (_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, _DAY, 7 * _DAY)
_STEP_MS = {"day": _DAY, "hour": _HOUR, "minute": _MINUTE}
ENOUGH = 5
_FEWEST = 4


@dataclass(frozen=True)
class WindowSize:
    """A size in milliseconds, and the numbers that support it."""

    ms: int
    why: str
    is_thin: bool = False


def window_size(rows: int, groups: int, span_ms: int, step: str) -> WindowSize:
    """Return the size of windows for `rows` rows of `groups` keys over `span_ms`, with times to the `step`."""
    fine = [size for size in _SIZES if size >= _STEP_MS.get(step, 0)]
    several = [size for size in fine if span_ms >= _FEWEST * size] or fine[:1]
    filled = [size for size in several if _rows_each(rows, groups, span_ms, size) >= ENOUGH]
    preferred = [size for size in filled if size >= _HOUR] or filled[-1:] or several[-1:]
    size = preferred[0]
    each = _rows_each(rows, groups, span_ms, size)
    resolution = f"times are to the {step}" if step != "finer" else "times are finer than a second"
    of_group = " of a key" if groups > 1 else ""
    return WindowSize(size, f"about {each:,.1f} rows a window{of_group}; {resolution}", is_thin=each < ENOUGH)


def _rows_each(rows: int, groups: int, span_ms: int, size_ms: int) -> float:
    return rows / max(1, groups) / max(1.0, span_ms / size_ms)
