"""The results of the earthquakes by a loop over CSV: the rules in a few lines, without anything of the project.

The watermark is the newest time so far, less twelve hours and a millisecond. It moves at each full hour: a row at the
hour itself follows the emission. Explosions move it too.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).parents[2] / "docs" / "examples" / "earthquakes" / "earthquakes.csv"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
BOUND_MS, LATENESS_MS = 12 * HOUR_MS, DAY_MS


@dataclass
class Day:
    """What a region's day shows: the accepted earthquakes, its panes, and the earthquakes that were too late."""

    magnitudes: list[float] = field(default_factory=list)
    is_open: bool = False
    late: int = 0
    too_late: int = 0

    @property
    def panes(self) -> int:
        """Return one pane for the rows on time, and one for each late row."""
        return self.is_open + self.late


def results() -> tuple[Mapping[tuple[str, int], Day], Counter[str]]:
    """Return the days by region and start in milliseconds, and the number of rows by fate."""
    days: dict[tuple[str, int], Day] = {}
    counts: Counter[str] = Counter()
    newest = watermark = -(10**15)
    previous_ms = None
    for row in in_order():
        time_ms, updated_ms = int(row["time"]), int(row["updated"])
        if previous_ms is not None and updated_ms // HOUR_MS > previous_ms // HOUR_MS:
            watermark = newest - BOUND_MS - 1
        newest, previous_ms = max(newest, time_ms), updated_ms
        if row["kind"] != "earthquake":
            counts["filtered"] += 1
            continue
        start_ms = time_ms // DAY_MS * DAY_MS
        day = days.setdefault((row["region"], start_ms), Day())
        counts[take(day, watermark - (start_ms + DAY_MS - 1), float(row["mag"]))] += 1
    return days, counts


def take(day: Day, past_ms: int, magnitude: float) -> str:
    """Add an earthquake to its day and return its fate; `past_ms` is how far the watermark is past the day's end."""
    if past_ms >= LATENESS_MS:
        day.too_late += 1
        return "too late"
    day.magnitudes.append(magnitude)
    if past_ms >= 0:
        day.late += 1
        return "late"
    day.is_open = True
    return "on time"


def in_order() -> list[dict[str, str]]:
    """Return the rows by arrival; rows that arrived together by id."""
    with FILE.open(encoding="utf-8", newline="") as text:
        return sorted(csv.DictReader(text), key=lambda row: (int(row["updated"]), row["id"]))
