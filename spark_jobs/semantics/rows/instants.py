"""An instant is a point in event time or on the arrival clock: a signed 64-bit integer of milliseconds since 1970, UTC.

    MIN = -2^63         no watermark yet
    MAX =  2^63 - 1     the end of the input
    ms  = floor(us / 1000), also for negative microseconds
    clamped_add(a, b) = min(a + b, MAX)

In tables MIN is null and MAX is the last instant that a Python datetime holds to the millisecond. Rules 1-5, 50.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MIN = -(2**63)
MAX = 2**63 - 1

END_OF_INPUT = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)

#: The instant 0.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class InstantOutOfTableError(ValueError):
    """An instant that lies outside the years 1 to 9999."""


def floor_to_ms(us: int) -> int:
    """Reduce microseconds to milliseconds with floor, so that -1 us lies in millisecond -1 (rule 1)."""
    return us // 1000


def clamped_add(instant: int, duration_ms: int) -> int:
    """Add a duration (>= 0) to an instant; a sum beyond MAX is MAX (rule 50)."""
    return min(instant + duration_ms, MAX)


def table_time(ms: int) -> datetime | None:
    """Return an instant as a table contains it: an aware datetime; None for MIN and `END_OF_INPUT` for MAX.

    Raises InstantOutOfTableError when the instant is neither MIN nor MAX and a datetime cannot hold it.
    """
    if ms == MIN:
        return None
    return END_OF_INPUT if ms == MAX else table_time_us(ms * 1000)


def table_time_us(us: int) -> datetime:
    """Return microseconds since 1970 as an aware datetime. Raises InstantOutOfTableError."""
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        raise InstantOutOfTableError(
            f"found {us} us since 1970, which is outside the years 1 to 9999 of a table's timestamps; "
            "check the unit of the event time and the size of windows and bounds"
        ) from None


def micros(moment: datetime) -> int:
    """Return a datetime as microseconds since 1970; a naive one is taken as UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MICROSECOND
