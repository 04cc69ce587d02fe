"""What the reason of an invalid row means, in one clause about the row, as on the page of late rows."""

from __future__ import annotations

from spark_jobs.semantics.rows import event_time, time_faults

_FAULTS = {
    time_faults.MISSING: "its {time} is null",
    time_faults.EMPTY: "its {time} is text without a character, or blanks alone",
    time_faults.WITHOUT_OFFSET: "its text fits `format` without the zone or offset, which the text lacks",
    time_faults.UNREADABLE: ("its text does not fit `format`, or its number is no time: NaN, infinite, beyond 64 bits"),
}
_OTHERS = {
    event_time.EVENT_TIME_BEFORE_RANGE: "its event time is before the year 2",
    event_time.EVENT_TIME_AFTER_RANGE: "its event time is after the year 9998",
    event_time.ARRIVAL_TIME_BEFORE_RANGE: "its arrival time is before the year 2",
    event_time.ARRIVAL_TIME_AFTER_RANGE: "its arrival time is after the year 9998",
    event_time.EVENT_TIME_IN_FUTURE: "its event time is later than its arrival by more than `source.future_guard`",
    event_time.OFFSET_MISSING: "the order is `offset`, and its offset is null",
}
_TEXTS = {
    **{
        time_faults.reason(time, fault): text.format(time=time.replace("_", " "))
        for time in time_faults.TIMES
        for fault, text in _FAULTS.items()
    },
    **_OTHERS,
}


def meaning(reason: str) -> str:
    """Return what a reason means; a reason that is no fault of a time is the name of a rule."""
    return _TEXTS.get(reason, "it breaks the rule of this name")
