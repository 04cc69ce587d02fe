"""Windows by the clock of a zone, on columns: they start and end at wall-clock times, such as each midnight in Berlin.

Law (`semantics.windows.grid`): with U the instant at which the clock shows a time, and `number` counting windows,

    start(number) = U(offset + number * period)       end(number) = U(offset + number * period + size)

The number of an instant follows from the time that the clock shows. It may be one less or one more where a change of
the clock meets the start of a window (`clock_changes`). Lengths are whole days, and a clock changes by a day at most.
All values are milliseconds, on the clock or since 1970; null gives null.

Spark copies a column wherever it is used, so a value that is used twice is bound by `_let`. This costs an interpreted
function for each row, which most zones do not need.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Windows
from spark_jobs.replay.rows.clock_changes import meet_window_starts
from spark_jobs.semantics.spec.times import DAY_MS

# Before and after the times of all rows; in between, no time exceeds 64 bits in microseconds.
_LEAST_MS, _GREATEST_MS = -(2**52), 2**52


def start_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the newest window that starts at `ts_ms` or before."""
    return _start(_number(ts_ms, windows), windows)


def next_ms(window_ms: Column, windows: Windows) -> Column:
    """Start of the window after the one that starts at `window_ms`."""
    return _start(_number(window_ms, windows) + F.lit(1), windows)


def end_ms(window_ms: Column, windows: Windows) -> Column:
    """Return the end of the window that starts at `window_ms`, exclusive."""
    return _start(_number(window_ms, windows), windows, windows.size_ms)


def oldest_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the oldest window that ends after `ts_ms`."""
    return _start(_number(ts_ms, windows, windows.size_ms) + F.lit(1), windows)


def slice_ms(ts_ms: Column, windows: Windows) -> Column:
    """Start of the window slice that holds `ts_ms`."""
    rest = windows.size_ms % windows.period_ms
    if rest == 0:
        return start_ms(ts_ms, windows)

    def inside(number: Column) -> Column:
        changes = _start(number, windows, rest)
        return F.when(ts_ms >= changes, changes).otherwise(_start(number, windows))

    return _let(_number(ts_ms, windows), inside)


def starts_ms(oldest: Column, newest: Column, windows: Windows) -> Column:
    """Starts of the windows from `oldest` to `newest`, which is not before it: an array, oldest first."""
    numbers = F.sequence(_number(oldest, windows), _number(newest, windows))
    return F.array_distinct(F.transform(numbers, lambda number: _start(number, windows)))


def latest_with_last_ms(watermark_ms: Column, windows: Windows) -> Column:
    """Start of the latest window that ends at `watermark_ms + 1` or before."""
    number = _number(watermark_ms + F.lit(1), windows, windows.size_ms)
    if not _meets_changes(windows):
        return _start(number, windows)

    def unless_skipped(number: Column) -> Column:
        # A day that the clock skips has the start of the next day, but is no window.
        start, following = _start(number, windows), _start(number + F.lit(1), windows)
        return F.when(start == following, _start(number - F.lit(1), windows)).otherwise(start)

    return _let(number, unless_skipped)


def _number(ts_ms: Column, windows: Windows, shift_ms: int = 0) -> Column:
    """Return the greatest number whose window starts, and then shows `shift_ms` more, at `ts_ms` or before."""
    inside = F.when(ts_ms.isNotNull(), F.greatest(F.lit(_LEAST_MS), F.least(F.lit(_GREATEST_MS), ts_ms)))
    if not _meets_changes(windows):
        return _shown_number(inside, windows, shift_ms)

    def corrected(ts_ms: Column, number: Column) -> Column:
        return (
            F.when(_start(number, windows, shift_ms) > ts_ms, number - F.lit(1))
            .when(_start(number + F.lit(1), windows, shift_ms) <= ts_ms, number + F.lit(1))
            .otherwise(number)
        )

    return _let(
        inside, lambda ts_ms: _let(_shown_number(ts_ms, windows, shift_ms), lambda number: corrected(ts_ms, number))
    )


def _shown_number(ts_ms: Column, windows: Windows, shift_ms: int) -> Column:
    """Return the number of the window that starts last on the clock before the time that the clock shows."""
    time = F.unix_millis(F.from_utc_timestamp(F.timestamp_millis(ts_ms), windows.timezone))
    # The quotient is exact enough: both numbers are far below 2**53.
    return F.floor((time - F.lit(windows.offset_ms + shift_ms)) / F.lit(windows.period_ms))


def _start(number: Column, windows: Windows, shift_ms: int = 0) -> Column:
    """Return the instant at which the clock shows the start of a window, and `shift_ms` more."""
    time = number * F.lit(windows.period_ms) + F.lit(windows.offset_ms + shift_ms)
    return F.unix_millis(F.to_utc_timestamp(F.timestamp_millis(time), windows.timezone))


def _meets_changes(windows: Windows) -> bool:
    return meet_window_starts(windows.timezone, windows.offset_ms % DAY_MS)


def _let(value: Column, result: Callable[[Column], Column]) -> Column:
    """Return `result` of a column that is computed once."""
    return F.transform(F.array(value), result)[0]
