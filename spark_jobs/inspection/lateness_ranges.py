"""Ranges of lateness, and the allowed lateness that a row needs, in the SQL of delta-rs.

A late row would have counted with an allowed lateness of

    needed = watermark - window_end + 2 ms      since its window, with last = window_end - 1, takes it iff
                                                last + lateness > watermark (rule 51)

Lateness is the column `late_by_ms`: the watermark less the event time, in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS

#: SQL: the allowed lateness that a row of `late_events` needs, in milliseconds.
NEEDED = 'CAST("watermark" AS BIGINT) / 1000 - CAST("window_end" AS BIGINT) / 1000 + 2'


@dataclass(frozen=True)
class LatenessRange:
    """The lateness from `start_ms` to `end_ms`, exclusive; None: without end."""

    label: str
    start_ms: int | None
    end_ms: int | None

    @property
    def condition(self) -> str:
        """SQL that is true for the rows of the range."""
        bounds = []
        if self.start_ms is not None:
            bounds.append(f"late_by_ms >= {self.start_ms}")
        if self.end_ms is not None:
            bounds.append(f"late_by_ms < {self.end_ms}")
        return " AND ".join(bounds)


#: All ranges, the shortest first.
RANGES = (
    LatenessRange("below 1 second", None, 1_000),
    LatenessRange("below 1 minute", 1_000, _MINUTE_MS),
    LatenessRange("below 10 minutes", _MINUTE_MS, 10 * _MINUTE_MS),
    LatenessRange("below 1 hour", 10 * _MINUTE_MS, 60 * _MINUTE_MS),
    LatenessRange("below 1 day", 60 * _MINUTE_MS, _DAY_MS),
    LatenessRange("1 day or more", _DAY_MS, None),
)


def label_sql() -> str:
    """Return SQL with the label of a row's range."""
    cases = " ".join(f"WHEN late_by_ms < {each.end_ms} THEN '{each.label}'" for each in RANGES if each.end_ms)
    return f"CASE {cases} ELSE '{RANGES[-1].label}' END"


def find(label: str) -> LatenessRange | None:
    """Return the range of a label; None for another text."""
    return next((each for each in RANGES if each.label == label), None)
