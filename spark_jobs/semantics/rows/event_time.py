"""Event time is when a row happened, arrival time is when it became known, in microseconds since 1970, UTC.

A time is a datetime (naive: local time), a date (its midnight, local time), a number with a unit or a text with a
pattern. Local times are in the declared zone: an ambiguous one is the earlier instant, and a skipped one is moved
forward by the gap. Numbers are floored to microseconds. A value that cannot be read is None. A row is invalid, tested
in this order, if

    event_time_<fault>        event is None, for this fault of the value (`time_faults`)
    arrival_time_<fault>      arrival is declared and None, for this fault
    event_time_before_range   event < EARLIEST_US: a year inside what tables can hold
    event_time_after_range    event > LATEST_US, likewise
    arrival_time_before_range arrival is declared and < EARLIEST_US
    arrival_time_after_range  arrival is declared and > LATEST_US
    event_time_in_future      event > arrival + future guard, and arrival is a clock
    offset_missing            the order is by offset, and the row has none

A number with a unit that is before ARRIVAL_CLOCK_FLOOR_US is a counter, not a clock (`may_count`). An arrival of any
other type is a clock. Rules 1, 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from spark_jobs.semantics.rows import time_faults
from spark_jobs.semantics.rows.expressions import Expression
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.rows.text_times import parse, zone
from spark_jobs.semantics.spec import TimeField, TimeUnit

OFFSET_MISSING = "offset_missing"
EVENT_TIME_BEFORE_RANGE = "event_time_before_range"
EVENT_TIME_AFTER_RANGE = "event_time_after_range"
EVENT_TIME_IN_FUTURE = "event_time_in_future"
ARRIVAL_TIME_BEFORE_RANGE = "arrival_time_before_range"
ARRIVAL_TIME_AFTER_RANGE = "arrival_time_after_range"
#: Reasons of event times that are read and impossible. Most of them stand for a wrong unit.
IMPLAUSIBLE = (EVENT_TIME_BEFORE_RANGE, EVENT_TIME_AFTER_RANGE, EVENT_TIME_IN_FUTURE)
#: All reasons of invalid rows.
REASONS = frozenset(
    (
        *(time_faults.reason(time, fault) for time in time_faults.TIMES for fault in time_faults.ALL),
        *IMPLAUSIBLE,
        ARRIVAL_TIME_BEFORE_RANGE,
        ARRIVAL_TIME_AFTER_RANGE,
        OFFSET_MISSING,
    )
)

EARLIEST_US = micros(datetime(2, 1, 1, tzinfo=UTC))
LATEST_US = micros(datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
ARRIVAL_CLOCK_FLOOR_US = micros(datetime(2000, 1, 1, tzinfo=UTC))

_NANOSECONDS = {
    TimeUnit.SECONDS: 10**9,
    TimeUnit.MILLISECONDS: 10**6,
    TimeUnit.MICROSECONDS: 10**3,
    TimeUnit.NANOSECONDS: 1,
}
_LONGEST = 2**63
# Fractional times are read to nine digits, as Spark's DECIMAL(38, 9) holds them.
_SMALLEST_PART, _BEYOND, _WIDE = Decimal("1e-9"), Decimal("1e29"), Context(prec=60)


class TimeFieldError(ValueError):
    """A time whose type does not fit its declaration."""


class TimeReader:
    """Reads the declared time of rows."""

    def __init__(self, declared: TimeField) -> None:
        self._declared = declared
        self._expression = Expression(declared.expression)

    def micros(self, row: Mapping[str, Any]) -> int | None:
        """Return the row's time; None if it is null or cannot be read. Raises TimeFieldError for a misfit of types."""
        value, declared = self._expression.evaluate(row), self._declared
        if value is None:
            return None
        if declared.unit is not None and isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            return number_micros(value, declared.unit)
        if declared.format is not None and isinstance(value, str):
            return parse(value, declared.format, declared.timezone)
        if declared.unit is None and declared.format is None and isinstance(value, date):
            local = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
            if local.tzinfo is None:
                return micros(local.replace(tzinfo=zone(declared.timezone)))
            if declared.timezone == "UTC":
                return micros(local)
            raise TimeFieldError(f"'{declared.expression}' gave {value!r}: an instant has no timezone to be declared")
        expected = "expected a datetime or date, a number with a unit, or a text with a format"
        raise TimeFieldError(f"'{declared.expression}' gave {value!r}: {expected}")

    def fault(self, row: Mapping[str, Any]) -> str:
        """Return why the row has no time: a fault of `time_faults`. Only for a row whose time is None."""
        value, pattern = self._expression.evaluate(row), self._declared.format
        if value is None:
            return time_faults.MISSING
        if pattern is None or not isinstance(value, str):
            return time_faults.UNREADABLE
        if re.match(time_faults.BLANK, value, re.ASCII):
            return time_faults.EMPTY
        without_zone = time_faults.without_zone(pattern)
        lacks_offset = without_zone is not None and parse(value, without_zone, "UTC") is not None
        return time_faults.WITHOUT_OFFSET if lacks_offset else time_faults.UNREADABLE


def number_micros(value: float | Decimal, unit: TimeUnit) -> int | None:
    """Return a number of `unit` as microseconds, floored; None beyond 64 bits, for NaN and infinity."""
    # Through the shortest decimal that names a double: the double itself is off by parts of a microsecond.
    exact = Decimal(str(value))
    if not exact.is_finite() or abs(exact) >= _BEYOND:
        return None
    exact = exact.quantize(_SMALLEST_PART, ROUND_HALF_UP, _WIDE)
    us = math.floor(_WIDE.multiply(exact, Decimal(_NANOSECONDS[unit]) / 1000))
    return us if -_LONGEST <= us < _LONGEST else None


def may_count(arrival_time: TimeField | None) -> bool:
    """Return whether early arrivals are counters: the arrival time is a number with a unit. A commit's is a clock."""
    return arrival_time is not None and arrival_time.unit is not None


def invalid_reason(
    event_us: int | None,
    arrival_us: int | None,
    *,
    arrival_is_declared: bool,
    future_guard_ms: int | None,
    arrival_may_count: bool = False,
    event_fault: str = time_faults.MISSING,
    arrival_fault: str = time_faults.MISSING,
) -> str | None:
    """Return the reason why a row is invalid; None for a valid row. The faults are those of times that are None.

    `arrival_may_count` is `may_count` of the arrival time.
    """
    if event_us is None:
        return time_faults.reason(time_faults.EVENT_TIME, event_fault)
    if arrival_is_declared and arrival_us is None:
        return time_faults.reason(time_faults.ARRIVAL_TIME, arrival_fault)
    event_range = _out_of_range(event_us, EVENT_TIME_BEFORE_RANGE, EVENT_TIME_AFTER_RANGE)
    if event_range is not None or arrival_us is None:
        return event_range
    arrival_range = _out_of_range(arrival_us, ARRIVAL_TIME_BEFORE_RANGE, ARRIVAL_TIME_AFTER_RANGE)
    is_clock = not arrival_may_count or arrival_us >= ARRIVAL_CLOCK_FLOOR_US
    if arrival_range is not None or future_guard_ms is None or not is_clock:
        return arrival_range
    return EVENT_TIME_IN_FUTURE if event_us > arrival_us + future_guard_ms * 1000 else None


def _out_of_range(us: int, before: str, after: str) -> str | None:
    if EARLIEST_US <= us <= LATEST_US:
        return None
    return before if us < EARLIEST_US else after
