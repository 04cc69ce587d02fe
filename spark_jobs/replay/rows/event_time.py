"""Times of a row: every accepted form of a time becomes microseconds since 1970-01-01T00:00:00Z.

Law: `ts_ms = floor(us / 1000)`, also for negative times (rule 1). A time that cannot be read is null, never an error.
A row without usable times is invalid and has a reason. Results do not depend on the session's or the machine's time
zone.
"""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Source, TimeField, TimeUnit
from spark_jobs.semantics.rows import event_time as rule
from spark_jobs.semantics.rows import time_faults

_UTC = "UTC"
_MICROS_PER_DAY = 86_400_000_000
_MICROS_PER_UNIT = {TimeUnit.SECONDS: 1_000_000, TimeUnit.MILLISECONDS: 1_000, TimeUnit.MICROSECONDS: 1}
_ZONE_IN_PATTERN = re.compile(r"[VzOXxZ]")


class TimeFieldError(ValueError):
    """A time field whose column has another type than its declaration can read."""

    code = ErrorCode.TIME_OF_OTHER_TYPE


def micros(events: DataFrame, field: TimeField) -> Column:
    """Microseconds since the epoch of `field` in `events`: a nullable long.

    Raises TimeFieldError when the expression's type does not fit the declaration.
    """
    value = F.expr(field.expression)
    kind = events.select(value.alias("value")).schema[0].dataType
    if field.unit is not None and isinstance(kind, T.IntegralType):
        return _integral_micros(value.cast("long"), field.unit)
    if field.unit is not None and isinstance(kind, T.FractionalType):
        return _fractional_micros(value, field.unit)
    if field.format is not None and isinstance(kind, T.StringType):
        return _text_micros(value, field)
    if field.unit is None and field.format is None:
        if isinstance(kind, T.TimestampType) and field.timezone == _UTC:
            return F.unix_micros(value)
        if isinstance(kind, T.TimestampNTZType) or (isinstance(kind, T.DateType) and field.timezone != _UTC):
            return _local_micros(value, field.timezone)
        if isinstance(kind, T.DateType):
            return F.unix_date(value).cast("long") * F.lit(_MICROS_PER_DAY)
    raise TimeFieldError(_misfit(field, kind))


def _local_micros(value: Column, timezone: str) -> Column:
    """Return the instant of a local time: the earlier one of an ambiguous time; a skipped time moves by the gap."""
    local = value.cast("timestamp_ntz")
    if timezone != _UTC:
        local = F.call_function("convert_timezone", F.lit(timezone), F.lit(_UTC), local)
    return F.timestamp_diff("MICROSECOND", F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'"), local)


def millis(us: Column) -> Column:
    """Microseconds floored to milliseconds (rule 1)."""
    return F.unix_millis(F.timestamp_micros(us))


def is_valid(event_us: Column, arrival_us: Column | None, source: Source) -> Column:
    """Return whether a row has usable times: `invalid_reason` is null. Costs less than to compute the reason."""
    if arrival_us is None:
        return event_us.isNotNull() & ~_out_of_range(event_us)
    unusable = event_us.isNull() | arrival_us.isNull() | _out_of_range(event_us) | _out_of_range(arrival_us)
    return F.when(unusable, F.lit(False)).otherwise(~_in_future(event_us, arrival_us, source))


def fault(events: DataFrame, field: TimeField) -> Column:
    """Return why a row of `events` has no time in `field`: a fault of `time_faults`, for rows without that time."""
    value = F.expr(field.expression)
    kind = events.select(value.alias("value")).schema[0].dataType
    missing = F.when(value.isNull(), time_faults.MISSING)
    if field.format is None or not isinstance(kind, T.StringType):
        return missing.otherwise(time_faults.UNREADABLE)
    read = missing.when(value.rlike(time_faults.BLANK), time_faults.EMPTY)
    without_zone = time_faults.without_zone(field.format)
    if without_zone is not None:
        lacks_offset = F.try_to_timestamp(value, F.lit(without_zone)).isNotNull()
        read = read.when(lacks_offset, time_faults.WITHOUT_OFFSET)
    return read.otherwise(time_faults.UNREADABLE)


def invalid_reason(
    event_us: Column,
    arrival_us: Column | None,
    source: Source,
    *,
    event_fault: Column | None = None,
    arrival_fault: Column | None = None,
) -> Column:
    """Return the reason why a row has no usable time: a reason of `semantics`, or null for a valid row.

    Same order of tests as `semantics.rows.event_time`, so that a row with two faults gets the same reason everywhere.
    The faults are those of `fault`; without them, a time that is null is missing.
    """
    missing = F.lit(time_faults.MISSING)
    reason = F.when(event_us.isNull(), _reason(time_faults.EVENT_TIME, missing if event_fault is None else event_fault))
    if arrival_us is not None:
        because = missing if arrival_fault is None else arrival_fault
        reason = reason.when(arrival_us.isNull(), _reason(time_faults.ARRIVAL_TIME, because))
    reason = reason.when(event_us < F.lit(rule.EARLIEST_US), rule.EVENT_TIME_BEFORE_RANGE)
    reason = reason.when(event_us > F.lit(rule.LATEST_US), rule.EVENT_TIME_AFTER_RANGE)
    if arrival_us is not None:
        reason = reason.when(arrival_us < F.lit(rule.EARLIEST_US), rule.ARRIVAL_TIME_BEFORE_RANGE)
        reason = reason.when(arrival_us > F.lit(rule.LATEST_US), rule.ARRIVAL_TIME_AFTER_RANGE)
        reason = reason.when(_in_future(event_us, arrival_us, source), rule.EVENT_TIME_IN_FUTURE)
    return reason.otherwise(F.lit(None).cast("string"))


def _reason(time: str, fault: Column) -> Column:
    return F.concat(F.lit(time_faults.reason(time, "")), fault)


def _out_of_range(event_us: Column) -> Column:
    return (event_us < F.lit(rule.EARLIEST_US)) | (event_us > F.lit(rule.LATEST_US))


def _in_future(event_us: Column, arrival_us: Column, source: Source) -> Column:
    if source.future_guard_ms is None:
        return F.lit(False)
    # Evaluated only for event times within the calendar's range, so the subtraction cannot overflow.
    later = event_us - F.lit(source.future_guard_ms * 1000) > arrival_us
    is_clock = arrival_us >= F.lit(rule.ARRIVAL_CLOCK_FLOOR_US)
    return is_clock & later if rule.may_count(source.arrival_time) else later


def _integral_micros(value: Column, unit: TimeUnit) -> Column:
    if unit is TimeUnit.NANOSECONDS:
        # Not `/`: a double has too few digits for nanoseconds of today. `div` rounds towards zero.
        below = F.when(value % F.lit(1000) < 0, F.lit(1)).otherwise(F.lit(0))
        return F.call_function("div", value, F.lit(1000)) - below
    return F.try_multiply(value, F.lit(_MICROS_PER_UNIT[unit]).cast("long"))


def _fractional_micros(value: Column, unit: TimeUnit) -> Column:
    # Through decimals: doubles would move times of today by whole microseconds; NaN and infinity become null.
    exact = value.try_cast("decimal(38,9)")
    if unit is TimeUnit.NANOSECONDS:
        return F.floor(exact / F.lit(1000)).try_cast("long")
    return F.floor(F.try_multiply(exact, F.lit(_MICROS_PER_UNIT[unit]))).try_cast("long")


def _text_micros(value: Column, field: TimeField) -> Column:
    pattern = str(field.format)
    if _ZONE_IN_PATTERN.search(re.sub(r"'[^']*'", "", pattern)):
        return F.unix_micros(F.try_to_timestamp(value, F.lit(pattern)))
    # The declared zone is parsed with the text: otherwise Spark would use the session's zone.
    zoned = F.concat(value, F.lit(" " + field.timezone))
    return F.unix_micros(F.try_to_timestamp(zoned, F.lit(pattern + " VV")))


def _misfit(field: TimeField, kind: T.DataType) -> str:
    type_name = kind.simpleString().upper()
    local = "no unit" if field.timezone == _UTC else f"timezone: {field.timezone}"
    declared = f"unit: {field.unit.value}" if field.unit else f"format: {field.format}" if field.format else local
    if isinstance(kind, T.NumericType):
        remedy = "a numeric time needs {column, unit: s|ms|us|ns}"
    elif isinstance(kind, T.StringType):
        remedy = "a text time needs {column, format, timezone}"
    elif isinstance(kind, (T.TimestampType, T.TimestampNTZType, T.DateType)):
        remedy = "a TIMESTAMP is an instant, given by its name alone; TIMESTAMP_NTZ and DATE may have a timezone"
    else:
        remedy = "a time is a TIMESTAMP, a DATE, a number with a unit or a text with a format"
    return f"'{field.expression}' is {type_name}, declared with {declared}: {remedy}"
