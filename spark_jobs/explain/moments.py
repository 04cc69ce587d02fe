"""Moments: emissions of the watermark, and instants as the times of explanations.

instant    an integer of milliseconds or microseconds since 1970
time       an aware datetime, UTC; None for no watermark, and for an instant that never comes
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from spark_jobs.semantics.rows.instants import END_OF_INPUT, micros, table_time, table_time_us

#: The last instant of a table (ms).
LAST_MS = micros(END_OF_INPUT) // 1000


@dataclass(frozen=True)
class Emission:
    """An emission: its clock in microseconds, and the watermark from then on; MAX at the end of the input."""

    clock_us: int | None
    watermark: int


def closing_time(cleanup_ms: int) -> datetime | None:
    """Return the watermark that ends a window's state; None if none does that."""
    return time_ms(cleanup_ms) if cleanup_ms < LAST_MS else None


def time_ms(ms: int | None) -> datetime | None:
    """Return an instant in milliseconds as a time; None for null and MIN."""
    return None if ms is None else table_time(ms)


def time_us(us: int | None) -> datetime | None:
    """Return an instant in microseconds as a time; None for null."""
    return None if us is None else table_time_us(us)
