"""Firings in SQL: the invariants of panes that do not wait for the end of their window (rules 62, 69, 70).

    early     before the window's last instant, by the watermark or by a row
    on time   once at most, behind all early panes; a count never fires on time
    late      behind the window's last instant, behind all others

An early pane that one advance fires together with the end of its window shows a watermark behind that.
"""

from __future__ import annotations

from expectations import lateness
from expectations.invariant import Invariant
from spark_jobs.pipeline.model import Pipeline


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of timings, of the rows that panes hold, and of their moments; not of the default trigger."""
    return (*_of_timings(pipeline), *_of_cleanup(pipeline), _of_rows(pipeline), *_of_the_calendar(pipeline))


def _of_timings(pipeline: Pipeline) -> tuple[Invariant, ...]:
    by_count = pipeline.windows.trigger.counts_rows
    there = ("early", "late") if by_count else ("early", "on_time", "late")
    behind = f"coalesce({lateness.is_complete()}, false)"
    return (
        Invariant(
            "only_early_panes_fire_before_their_watermark",
            "A pane that is not early fires once the watermark has reached the last millisecond of its window"
            + (", an early one before." if by_count else "."),
            f"(timing = 'early') <> {behind}" if by_count else f"timing = 'early' OR {behind}",
        ),
        Invariant(
            "panes_have_a_timing_of_their_trigger",
            f"The timing of a pane is {' or '.join(there)}.",
            f"timing IN ({', '.join(repr(timing) for timing in there)})",
        ),
        Invariant(
            "early_panes_come_first_and_late_ones_last",
            "Before an early or an on-time pane of a key and window there are only early ones: one is on time at most.",
            "timing = 'late' OR place = 1 OR previous_timing = 'early'",
        ),
    )


def _of_cleanup(pipeline: Pipeline) -> tuple[Invariant, ...]:
    # A session revised behind the watermark runs through its intervals at the next advance, wherever that goes.
    if pipeline.windows.is_session and not pipeline.windows.trigger.counts_rows:
        return ()
    lateness_ms = pipeline.windows.lateness_ms
    return (
        Invariant(
            "no_late_pane_fires_after_cleanup",
            f"A late pane fires while the watermark is under {lateness_ms:,} ms past the window's last millisecond.",
            f"timing <> 'late' OR NOT ({lateness.is_closed(lateness_ms)})",
        ),
    )


def _of_rows(pipeline: Pipeline) -> Invariant:
    discards = pipeline.windows.discards
    sessions = pipeline.windows.is_session
    if pipeline.windows.trigger.counts_rows:
        n = pipeline.windows.trigger.n
        # The rows of merging sessions add up, and may be more than are needed.
        first = f"row_count {'>=' if sessions else '='} {n}"
        more = first if discards else f"row_count = previous_row_count + {n}"
        return Invariant(
            "panes_hold_the_rows_that_are_counted",
            f"A pane adds {n:,} rows to the pane before it" + (", or more where sessions merge." if sessions else "."),
            f"CASE WHEN place = 1 THEN {first} ELSE {more} END",
        )
    if discards:
        return Invariant(
            "late_panes_hold_their_own_row",
            "With discarding accumulation a late pane holds the one row that fired it.",
            "timing <> 'late' OR row_count = 1",
        )
    added = "row_count - coalesce(previous_row_count, 0)"
    late = f"{added} = 1"
    if sessions:
        late = f"place = 1 OR {added} IN (0, 1)"
    return Invariant(
        "panes_hold_the_rows_of_the_pane_before",
        "With accumulating panes no pane holds fewer rows than the pane before it, and a late row adds one.",
        f"CASE WHEN timing = 'late' THEN {late} ELSE {added} >= 0 END",
    )


def _of_the_calendar(pipeline: Pipeline) -> tuple[Invariant, ...]:
    if pipeline.windows.is_session:
        return ()
    early = "fires_at IS NULL OR (fired_at <= fires_at AND coalesce(watermark <= watermark_at_fire, true))"
    return (
        Invariant(
            "panes_fire_as_the_calendar_says",
            "An on-time pane fires at the moment and watermark that `watermarks` gives for its window, an early one no "
            "later, and a late one between the window's firing and its closing.",
            "CASE timing WHEN 'on_time' THEN fired_at = fires_at AND watermark = watermark_at_fire "
            f"WHEN 'early' THEN {early} ELSE "
            "fired_at >= fires_at AND watermark >= watermark_at_fire AND coalesce(fired_at <= closes_at, true) END",
        ),
    )
