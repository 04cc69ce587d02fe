"""The bins of the lateness histogram: equally wide, of a common length, with the allowed lateness as an edge.

Law: bin i is `[allowed + i*width, allowed + (i+1)*width)`, and the first bin begins at 0. So no bin mixes accepted and
too late rows (rule 51). The bins cover 99 of 100 late rows; the last bin is open-ended if rows lie beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_MOST = 60
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_WIDTHS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 5, 10, 30, 100, 365, 1000, 3650, 10_000, 36_500, 100_000)),
)


@dataclass(frozen=True)
class Bins:
    """Bins `first` to `last`."""

    allowed_ms: int
    width_ms: int
    first: int
    last: int

    @property
    def numbers(self) -> range:
        """The numbers of the bins."""
        return range(self.first, self.last + 1)

    @property
    def edges_ms(self) -> tuple[int, ...]:
        """The edges, one more than bins."""
        return tuple(max(0, self.allowed_ms + i * self.width_ms) for i in range(self.first, self.last + 2))


def bins(rows_by_magnitude: Mapping[int, int], longest_ms: int, allowed_ms: int) -> Bins:
    """Choose the bins. `rows_by_magnitude` counts late rows by the smallest power of 2, in ms, above their lateness."""
    reach = min(_covered(rows_by_magnitude), longest_ms + 1)
    far = max(reach, allowed_ms + 1)
    width = next((w for w in _WIDTHS if far <= w * _MOST), _WIDTHS[-1])
    before, after = math.ceil(allowed_ms / width), math.ceil((far - allowed_ms) / width)
    return Bins(allowed_ms, width, -before, after - 1)


def _covered(rows_by_magnitude: Mapping[int, int]) -> int:
    """Return the smallest power of two that exceeds the lateness of 99 of 100 rows."""
    total, below = sum(rows_by_magnitude.values()), 0
    for magnitude in sorted(rows_by_magnitude):
        below += rows_by_magnitude[magnitude]
        if below * 100 >= total * 99:
            return 1 << magnitude
    return 1
