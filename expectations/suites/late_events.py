"""Late events: one source row each, too late for its window, with the watermark that closed the window.

A row is too late for a window if the window's state was deleted before the row arrived (rules 51-54). If a row missed
several windows, `late_events` has the newest of them. A row between two windows has no window; its own event time is
compared instead (rule 53).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations import lateness, local_time, windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.pipeline.published_tables import LATE_EVENTS


def rows(staged: Staged) -> DataFrame:
    """Return the late events with `closes_at`, the time at which the calendar closes the missed window."""
    return staged.late_events.join(staged.calendar.select("window_start", "closes_at"), "window_start", "left")


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of late events."""
    always = (*of_rows(pipeline), _as_read())
    # Sessions have no calendar. In another order than by arrival, the arrival time does not decide when a row is read.
    if pipeline.replay.order is not Order.ARRIVAL or pipeline.windows.is_session:
        return always
    after = Invariant(
        "late_events_arrive_after_their_window_closed",
        "A late event arrives when the calendar has closed its window, not before.",
        f"NOT ({_assigned(pipeline)}) OR arrival_time >= closes_at",
    )
    return (*always, after)


def _as_read() -> Invariant:
    return Invariant(
        "late_events_are_as_their_columns_say",
        "The source columns of a late event give a valid row that satisfies `where`, with the same event time and "
        "arrival time.",
        "matches_source",
    )


def of_rows(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of late events that need only the row."""
    lateness_ms = pipeline.windows.lateness_ms
    assigned = _assigned(pipeline)
    return (
        *windows.invariants(pipeline, selected=assigned),
        _own_window(pipeline),
        Invariant(
            "no_row_is_too_late_for_an_open_window",
            f"The watermark before a late event was at least {lateness_ms:,} ms past its window's last millisecond.",
            f"CASE WHEN {assigned} THEN {lateness.is_closed(lateness_ms)} ELSE late_by_ms >= {lateness_ms} END",
        ),
        Invariant(
            "late_by_is_the_watermark_minus_the_event_time",
            "The late_by_ms of a late event is the watermark before it minus its event time, and not negative.",
            "late_by_ms >= 0 AND late_by_ms = unix_millis(watermark) - unix_millis(event_time)",
        ),
    )


def _assigned(pipeline: Pipeline) -> str:
    return "window_start IS NOT NULL" if pipeline.windows.have_gaps else "true"


def _own_window(pipeline: Pipeline) -> Invariant:
    if pipeline.windows.is_session:
        return Invariant(
            "late_events_missed_their_own_window",
            "A late event missed the session that it would have started alone, at its event time.",
            "unix_millis(event_time) = unix_millis(window_start)",
        )
    size, period, offset = pipeline.windows.size_ms, pipeline.windows.period_ms, pipeline.windows.offset_ms
    newest = f"event_time >= window_start AND unix_millis(event_time) - unix_millis(window_start) < {min(size, period)}"
    between_windows = f"pmod(unix_millis(event_time) - ({offset}), {period}) >= {size}"
    if pipeline.windows.are_local:
        until = local_time.moved("window_start", str(min(size, period)), pipeline.windows)
        newest = f"event_time >= window_start AND event_time < {until}"
        between_windows = f"event_time >= {local_time.moved('event_time', str(size), pipeline.windows)}"
    return Invariant(
        "late_events_missed_their_own_window",
        "The event time of a late event lies in the window that the event missed, and in no newer window. An event "
        "without a window lies between two windows.",
        f"CASE WHEN window_start IS NULL THEN {between_windows} ELSE {newest} END",
    )


SUITE = Suite(
    "late_events",
    LATE_EVENTS,
    rows,
    invariants,
    shows=("event_time", "arrival_time", "watermark", "late_by_ms", "window_start", "window_end"),
)
