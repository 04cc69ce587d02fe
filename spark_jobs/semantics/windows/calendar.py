"""The window calendar records when each window fires and when its state goes: the emission and its watermark.

    fires    the first advance of the combined watermark with W >= last
    closes   the first advance with W >= cleanup = last + allowed lateness

Here it is looked up in the recorded advances; the Spark code computes it by first passage. Semantics B1, B4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.semantics.windows.lateness import is_closed, is_complete
from spark_jobs.semantics.windows.window_assigners import TimeWindow

#: The table `watermarks` lists the watermark of each source partition if at most so many exist.
LISTED_PARTITIONS = 100


@dataclass(frozen=True)
class Advance:
    """An emission that raised the combined watermark: its clock, and the watermark of every partition.

    At the end of the input no partition emits, and `partitions` is None.
    """

    clock_us: int
    watermark: int
    partitions: Mapping[str, int] | None


class WindowCalendar:
    """All advances of one replay, in order."""

    def __init__(self) -> None:
        self._advances: list[Advance] = []

    @property
    def advances(self) -> Sequence[Advance]:
        """Every advance so far."""
        return self._advances

    def record(self, advance: Advance) -> None:
        """Add the next advance."""
        self._advances.append(advance)

    def fires(self, window: TimeWindow) -> Advance | None:
        """Return the advance that fires a window; None if none has."""
        return self._first(lambda watermark: is_complete(window, watermark))

    def closes(self, window: TimeWindow, allowed_lateness_ms: int) -> Advance | None:
        """Return the advance that ends a window's state; None if none has."""
        return self._first(lambda watermark: is_closed(window, allowed_lateness_ms, watermark))

    def _first(self, holds: Callable[[int], bool]) -> Advance | None:
        # Watermarks rise, so what holds at one holds at all later ones.
        at = bisect_left(self._advances, True, key=lambda advance: holds(advance.watermark))
        return self._advances[at] if at < len(self._advances) else None
