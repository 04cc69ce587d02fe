"""Late events: one source row each, too late for its window, with the watermark that it missed.

Too late is a statement about the window: its state was gone when the row came (rules 51-54).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations import lateness, windows
from expectations.law import Law, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Order, Pipeline


def rows(staged: Staged) -> DataFrame:
    """The late events, with the calendar's row for the window that each missed."""
    return staged.late_events.join(staged.calendar.select("window_start", "closes_at"), "window_start", "left")


def laws(pipeline: Pipeline) -> tuple[Law, ...]:
    """The laws of late events."""
    lateness_ms = pipeline.windows.allowed_lateness_ms
    always = (
        *windows.laws(pipeline),
        Law(
            "late_events_missed_their_own_window",
            "The event time of a late event lies in the window that it is said to have missed.",
            "event_time >= window_start AND event_time < window_end",
        ),
        Law(
            "no_row_is_too_late_for_an_open_window",
            f"The watermark before a late event was at least {lateness_ms:,} ms past its window's last millisecond.",
            lateness.is_closed(lateness_ms),
        ),
        Law(
            "late_by_is_the_watermark_minus_the_event_time",
            "The late_by_ms of a late event is the watermark before it minus its event time, and not negative.",
            "late_by_ms >= 0 AND late_by_ms = unix_millis(watermark) - unix_millis(event_time)",
        ),
    )
    # Sessions have no calendar. In event-time order a row's arrival time, where there is one, says nothing about its
    # place.
    if pipeline.replay.order is not Order.ARRIVAL or pipeline.windows.kind == windows.SESSION:
        return always
    after = Law(
        "late_events_arrive_after_their_window_closed",
        "A late event arrives when the calendar has closed its window, not before.",
        "arrival_time >= closes_at",
    )
    return (*always, after)


SUITE = Suite(
    "late_events",
    rows,
    laws,
    shows=("event_time", "arrival_time", "watermark", "late_by_ms", "window_start", "window_end"),
)
